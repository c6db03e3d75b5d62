// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <map>

#include "calibration/imports/sweep_row.hpp"
#include "calibration/records/measured_data.hpp"
#include "import_test_logs.hpp"
#include "tests/calibration/nccl_tests_text.hpp"

using namespace foretrain;
using Catch::Matchers::Contains;

namespace {

const ImportOptions azure{.gpu = "NVIDIA A100-SXM4-80GB",
                          .nodes = 2,
                          .gpus_per_node = 8,
                          .collective = "",
                          .network = "InfiniBand HDR",
                          .host = "",
                          .fabric = ""};

std::vector<SweepRecord> shipped_sweeps() {
  const std::string text = repository_file("calibration/measured/nccl_sweeps.csv");
  Diagnostics diagnostics;
  auto records = read_sweep_records(text, "nccl_sweeps.csv", diagnostics);
  REQUIRE(diagnostics.empty());
  return records;
}

}  // namespace

TEST_CASE("nccl-tests: a published log of 2 x 4 GH200 gives its 50 results",
          "[calibration][import]") {
  const Imported got = imported(fixture("nccl_tests_gh200_cxi.txt"), {}, "gh200.txt");
  CHECK(got.errors.empty());
  CHECK(flags(got.log).empty());
  CHECK(got.log.format == LogFormat::nccl_tests);
  REQUIRE(got.log.sweeps.size() == 50);
  CHECK(got.log.facts.gpu == "NVIDIA GH200 120GB");
  const SweepRecord& last = got.log.sweeps.back();
  CHECK(last.collective == "all_reduce");
  CHECK(last.nodes == 2);
  CHECK(last.gpus_per_node == 4);
  CHECK(last.size_bytes == 134217728.0);
  CHECK(last.time_us == 1779.6);
  CHECK(last.busbw_gbs == 131.99);
  CHECK(last.in_place);
}

TEST_CASE("nccl-tests: an excerpt without its header needs to be told the machine",
          "[calibration][import]") {
  const std::string text = fixture("nccl_tests_azure_ndv4.txt");
  CHECK_THAT(imported(text).errors, Contains("x.log:4:1: the log does not say which GPU"));
  const Imported got = imported(text, azure);
  CHECK(got.errors.empty());
  CHECK(got.log.sweeps.size() == 32);
  CHECK(got.log.sweeps.front().collective == "all_reduce");
  CHECK(got.log.sweeps.front().gpu == "a100-sxm4-80gb");
}

TEST_CASE("nccl-tests: the ranks it is told must be those of the bandwidths",
          "[calibration][import]") {
  ImportOptions wrong = azure;
  wrong.nodes = 1;
  wrong.gpus_per_node = 4;
  wrong.collective = "all_reduce";
  const Imported got = imported(fixture("nccl_tests_azure_ndv4.txt"), wrong);
  // Bandwidths below the printed digits say nothing; every row that says something is refused.
  CHECK(got.log.sweeps.size() < 16);
  CHECK_THAT(flags(got.log), Contains("another operation, or another number of ranks"));
}

TEST_CASE("nccl-tests: a row cut in the middle is flagged with its line", "[calibration][import]") {
  const std::string whole = fixture("nccl_tests_gh200_cxi.txt");
  const std::string cut = whole.substr(0, whole.find("  131.99"));
  const Imported got = imported(cut);
  CHECK(got.errors.empty());
  CHECK_THAT(flags(got.log), Contains("40 left out: 11 columns instead of 13"));
  CHECK_THAT(flags(got.log), Contains("40 kept: the log ends here without the average"));
  CHECK(got.log.sweeps.size() == 48);
}

TEST_CASE("nccl-tests: rows that are missing or changed are seen in the average",
          "[calibration][import]") {
  const std::string whole = fixture("nccl_tests_gh200_cxi.txt");
  const auto from = whole.find("    67108864");
  const auto to = whole.find('\n', from) + 1;
  const std::string text = whole.substr(0, from) + whole.substr(to);
  CHECK_THAT(flags(imported(text).log), Contains("rows are missing or changed"));
}

TEST_CASE("nccl-tests: a time in milliseconds contradicts its bandwidth", "[calibration][import]") {
  const Imported got =
      imported(with(fixture("nccl_tests_gh200_cxi.txt"), "   1014.8   66.13", "    1.015   66.13"));
  CHECK_THAT(flags(got.log), Contains("39 left out: out of place: 67108864 bytes in 1.015 us"));
  CHECK_THAT(flags(got.log), Contains("units are mixed or the row is damaged"));
  CHECK(got.log.sweeps.size() == 49);
}

TEST_CASE("nccl-tests: other units in the header refuse the log", "[calibration][import]") {
  const Imported got = imported(with(fixture("nccl_tests_gh200_cxi.txt"), "(us)", "(ms)"));
  CHECK_THAT(got.errors, Contains("x.log:15:1: unit '(ms)' is not one of nccl-tests'"));
  CHECK(got.log.sweeps.empty());
}

TEST_CASE("nccl-tests: NaN and wrong elements leave the result out", "[calibration][import]") {
  const std::string whole = fixture("nccl_tests_gh200_cxi.txt");
  const Imported nan = imported(with(whole, "1773.7   75.67", "   nan   75.67"));
  CHECK_THAT(flags(nan.log), Contains("40 left out: out of place: 'nan'"));
  CHECK(nan.log.sweeps.size() == 49);
  const Imported wrong = imported(with(whole, "  132.43      0", "  132.43     17"));
  CHECK_THAT(flags(wrong.log), Contains("elements came out wrong"));
  CHECK(wrong.log.sweeps.size() == 49);
}

TEST_CASE("nccl-tests: rows out of order are told and keep their sizes", "[calibration][import]") {
  const std::string whole = fixture("nccl_tests_gh200_cxi.txt");
  const auto first = whole.find("    33554432");
  const auto second = whole.find("    67108864");
  const auto end = whole.find('\n', second) + 1;
  const std::string text = whole.substr(0, first) + whole.substr(second, end - second) +
                           whole.substr(first, second - first) + whole.substr(end);
  const Imported got = imported(text);
  CHECK_THAT(flags(got.log), Contains("39 kept: 33554432 bytes after 67108864"));
  CHECK(got.log.sweeps.size() == 50);
}

TEST_CASE("nccl-tests: GPUs of two products are refused", "[calibration][import]") {
  const Imported got =
      imported(with(fixture("nccl_tests_gh200_cxi.txt"), "[0039:01:00] NVIDIA GH200 120GB",
                    "[0039:01:00] NVIDIA H100 80GB HBM3"));
  CHECK_THAT(got.errors, Contains("x.log:11:1: ranks run on different GPUs"));
}

TEST_CASE("nccl-tests: all-gather and all-to-all look the same and must be told apart",
          "[calibration][import]") {
  std::vector<SweepRecord> sweep;
  SweepRecord record;
  record.collective = "all_gather";
  record.gpu = "a100-sxm4-80gb";
  record.nodes = 1;
  record.gpus_per_node = 8;
  record.size_bytes = 1 << 20;
  record.time_us = 30.0;
  sweep.push_back(record);
  std::string text = nccl_tests_text(sweep);
  CHECK(imported(text).log.sweeps.at(0).collective == "all_gather");
  text = with(text, "# Collective test starting: all_gather_perf\n", "");
  CHECK_THAT(imported(text).errors, Contains("name it (--collective)"));
  ImportOptions told;
  told.collective = "alltoall";
  CHECK(imported(text, told).log.sweeps.at(0).collective == "alltoall");
}

TEST_CASE("nccl-tests: every shipped sweep comes back from the tool's own text",
          "[calibration][import]") {
  std::map<std::string, std::vector<SweepRecord>> sweeps;
  for (SweepRecord& record : shipped_sweeps()) {
    const bool stated = record.time_us.value_or(0.0) > 0.0 || record.busbw_gbs.value_or(0.0) > 0.0;
    if (stated) sweeps[record.sweep].push_back(std::move(record));
  }
  CHECK(sweeps.size() == 139);
  for (const auto& [name, sweep] : sweeps) {
    CAPTURE(name);
    const Imported got = imported(nccl_tests_text(sweep), {}, name + ".txt");
    CHECK(got.errors.empty());
    CHECK(flags(got.log).empty());
    REQUIRE(got.log.sweeps.size() == sweep.size());
    const double ranks = static_cast<double>(sweep[0].nodes) * sweep[0].gpus_per_node;
    for (const SweepRecord& back : got.log.sweeps) {
      const auto same = [&](const SweepRecord& one) {
        return one.size_bytes == back.size_bytes && one.in_place == back.in_place;
      };
      const auto origin = std::find_if(sweep.begin(), sweep.end(), same);
      REQUIRE(origin != sweep.end());
      CHECK(back.collective == origin->collective);
      CHECK(back.nodes == origin->nodes);
      CHECK(back.gpus_per_node == origin->gpus_per_node);
      const double factor = *nccl_bus_factor(origin->collective, ranks);
      const double time = origin->time_us.value_or(0.0) > 0.0
                              ? *origin->time_us
                              : factor * origin->size_bytes * 1e-3 / *origin->busbw_gbs;
      // Two decimals below 1000 us, whole microseconds from 10 ms.
      CHECK(back.time_us.value() == Approx(time).epsilon(1e-4).margin(0.006));
    }
  }
}

TEST_CASE("nccl-tests JSON: the same machine, rates and checks as the text",
          "[calibration][import]") {
  const std::string text = fixture("nccl_tests_form.json");
  const Imported got = imported(text, {}, "ar.json");
  CHECK(got.errors.empty());
  CHECK(flags(got.log).empty());
  REQUIRE(got.log.sweeps.size() == 3);
  CHECK(got.log.facts.library == "NCCL 2.27.3");
  CHECK(got.log.facts.date == "2026-02-03");
  CHECK(got.log.facts.device == "a100-sxm4-80gb");
  CHECK(got.log.sweeps[1].in_place);
  CHECK(got.log.sweeps[2].time_us == 25.0);
  CHECK_THAT(flags(imported(with(text, "25.000000", "\"nan\"")).log), Contains("7 left out"));
  CHECK_THAT(flags(imported(with(text, "25.000000", "0.025000")).log), Contains("units are mixed"));
  CHECK_THAT(imported(with(text, "25.000000", "NaN")).errors,
             Contains("x.log:7:1: this is not JSON"));
  CHECK_THAT(imported(text.substr(0, text.size() / 2)).errors, Contains("this is not JSON"));
  CHECK_THAT(
      flags(imported(with(text, ",\n{\"size\":2097152", "],\"left\":[{\"size\":2097152")).log),
      Contains("rows are missing or changed"));
}
