// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include "calibration/harness/common/flag_reader.hpp"
#include "calibration/harness/common/gpubench_options.hpp"
#include "calibration/harness/common/json_line.hpp"
#include "calibration/harness/common/ncclbench_options.hpp"

namespace foretrain::harness {
namespace {

std::string gpubench_error(const std::vector<std::string>& arguments) {
  return std::get<std::string>(parse_gpubench(arguments));
}

std::string ncclbench_error(const std::vector<std::string>& arguments) {
  return std::get<std::string>(parse_ncclbench(arguments));
}

}  // namespace

TEST_CASE("sizes are read as nccl-tests reads them", "[harness]") {
  CHECK(parse_size("8") == 8);
  CHECK(parse_size("8B") == 8);
  CHECK(parse_size("64K") == 65536);
  CHECK(parse_size("1.5MiB") == 1572864);
  CHECK(parse_size("16G") == 17179869184LL);
  for (const char* wrong : {"", "x", "-1", "8Q", "8KX", "1e40", "nan", "inf"})
    CHECK_FALSE(parse_size(wrong).has_value());
}

TEST_CASE("a ladder of sizes ends at its end", "[harness]") {
  CHECK(size_ladder(8, 64, 2) == std::vector<std::int64_t>{8, 16, 32, 64});
  CHECK(size_ladder(8, 50, 4) == std::vector<std::int64_t>{8, 32, 50});
  CHECK(size_ladder(8, 8, 2) == std::vector<std::int64_t>{8});
  const auto long_one = size_ladder(8, (1LL << 62U), 1024);
  CHECK(long_one.back() == (1LL << 62U));
}

TEST_CASE("durations have units", "[harness]") {
  CHECK(parse_duration("90") == 90.0);
  CHECK(parse_duration("90s") == 90.0);
  CHECK(parse_duration("5min") == 300.0);
  CHECK_FALSE(parse_duration("0").has_value());
  CHECK_FALSE(parse_duration("5 parsecs").has_value());
}

TEST_CASE("gpubench takes its options in both forms", "[harness]") {
  const auto options = std::get<GpubenchOptions>(
      parse_gpubench({"--device=1", "--budget", "5min", "--types=bf16,fp8", "--out", "a.jsonl"}));
  CHECK(options.device == 1);
  CHECK(options.budget_s == 300.0);
  CHECK(options.types == std::vector{NumberType::bf16, NumberType::fp8});
  CHECK(options.out_file == "a.jsonl");
}

TEST_CASE("a wrong option is named with what would be right", "[harness]") {
  CHECK(gpubench_error({"--devise", "1"}) == "unknown option '--devise'");
  CHECK(gpubench_error({"--device"}) == "--device needs a value");
  CHECK(gpubench_error({"--device=x"}) == "--device: 'x' is not a whole number from 0 to 1023");
  CHECK(gpubench_error({"--help=1"}) == "--help takes no value");
  CHECK(gpubench_error({"--types=bf16,"}) ==
        "--types: '' is not a type: fp32, tf32, fp16, bf16, fp8");
  CHECK(ncclbench_error({"--sizes", "1M:8"}) ==
        "--sizes: '1M:8' is not a range of sizes from 4 bytes up, e.g. 8:8GiB");
  CHECK(ncclbench_error({"--op", "allreduce"}) ==
        "--op: 'allreduce' is not an operation: all_reduce, all_gather, reduce_scatter, "
        "broadcast, reduce, all_to_all, send_receive");
}

TEST_CASE("process groups are those of tensor, data and pipeline ranks", "[harness]") {
  // Sixteen ranks, groups of four with stride two: 0 2 4 6, 1 3 5 7, 8 10 12 14, 9 11 13 15.
  CHECK(group_place(6, 4, 2).group == 0);
  CHECK(group_place(6, 4, 2).rank == 3);
  CHECK(group_place(7, 4, 2).group == 1);
  CHECK(group_place(8, 4, 2).group == 2);
  CHECK(group_place(15, 4, 2).group == 3);
  CHECK(group_place(15, 4, 2).rank == 3);
}

TEST_CASE("percentiles are values at the nearest rank", "[harness]") {
  const Sample sample = summarize({5.0, 1.0, 3.0, 2.0, 4.0, 10.0, 6.0, 7.0, 8.0, 9.0});
  CHECK(sample.count == 10);
  CHECK(sample.minimum == 1.0);
  CHECK(sample.median == 5.0);
  CHECK(sample.p90 == 9.0);
  CHECK(sample.maximum == 10.0);
  CHECK(sample.spread() == Approx(8.0 / 5.0));
}

}  // namespace foretrain::harness
