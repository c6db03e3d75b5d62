// SPDX-License-Identifier: Apache-2.0
// Step times against every family that can be priced. Fails when an error grows; the figures are in
// calibration/README.md.
#include "calibration/step_validation.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>

#include "calibration/run_job.hpp"
#include "calibration/vtrain_records.hpp"
#include "models/memory.hpp"
#include "models/stage_layout.hpp"
#include "tests/calibration/measured_records.hpp"

namespace foretrain {
namespace {

const std::vector<RecordCheck>& checks() {
  static const std::vector<RecordCheck> all = [] {
    std::vector<RunRecord> records = shipped_runs();
    Diagnostics diagnostics;
    for (const char* table : {"vtrain_single.csv", "vtrain_multi.csv"})
      for (RunRecord& record : read_vtrain_records(measured_file(table), table, diagnostics))
        records.push_back(std::move(record));
    REQUIRE(diagnostics.empty());
    return check_run_steps(records, shipped_catalog());
  }();
  return all;
}

CheckSummary summary(const std::string& source, const std::string& group) {
  for (const CheckSummary& line : summarize(checks()))
    if (line.source == source && line.group == group) return line;
  FAIL("no summary for " << source << " " << group);
  return {};
}

std::string why(RunRecord record) {
  const auto made = check_run_steps({std::move(record)}, shipped_catalog());
  REQUIRE(made.size() == 1);
  return made.front().why;
}

}  // namespace

namespace {

/// Errors that a family's runs must keep below.
struct FamilyBound {
  const char* source;
  int count;  ///< runs that are at least priced
  double median, mape;
};

void check_bound(const FamilyBound& bound, const char* group) {
  const CheckSummary found = summary(bound.source, group);
  CAPTURE(bound.source, found.count, found.bias, found.median, found.mape, found.worst_id);
  CHECK(found.count >= bound.count);
  CHECK(found.median <= bound.median);
  CHECK(found.mape <= bound.mape);
}

}  // namespace

TEST_CASE("step times: dense 16-bit runs, per family no further off than recorded",
          "[calibration][validation]") {
  check_bound(
      GENERATE(FamilyBound{"sc21", 71, 0.03, 0.045}, FamilyBound{"kort", 6, 0.045, 0.045},
               FamilyBound{"launcher2401", 6, 0.025, 0.025}, FamilyBound{"dgxc", 45, 0.03, 0.03},
               FamilyBound{"zb", 24, 0.045, 0.05}, FamilyBound{"zerobubble", 9, 0.055, 0.05},
               FamilyBound{"mosaic", 139, 0.03, 0.045}, FamilyBound{"aa", 228, 0.045, 0.055},
               FamilyBound{"bs", 137, 0.035, 0.06}, FamilyBound{"internevo", 54, 0.02, 0.025},
               FamilyBound{"nanotron", 26, 0.08, 0.13}, FamilyBound{"tt", 61, 0.08, 0.10},
               FamilyBound{"flagperf", 36, 0.05, 0.075}, FamilyBound{"simumax", 31, 0.08, 0.18},
               FamilyBound{"vtrain_single", 948, 0.045, 0.065},
               FamilyBound{"vtrain_multi", 76, 0.07, 0.085}, FamilyBound{"all", 1950, 0.045, 0.07}),
      dense_half_group);
}

TEST_CASE("step times: dense fp8 runs, per family no further off than recorded",
          "[calibration][validation]") {
  check_bound(
      GENERATE(FamilyBound{"dgxc", 55, 0.035, 0.07}, FamilyBound{"mlperf", 10, 0.08, 0.07},
               FamilyBound{"launcher2401", 7, 0.035, 0.05},
               FamilyBound{"launcher2405", 10, 0.05, 0.065}, FamilyBound{"mbridge", 7, 0.045, 0.05},
               FamilyBound{"nemo2403", 9, 0.07, 0.065}, FamilyBound{"all", 100, 0.055, 0.075}),
      dense_fp8_group);
}

TEST_CASE("step times: mixtures of experts, per family no further off than recorded",
          "[calibration][validation]") {
  check_bound(GENERATE(FamilyBound{"dgxc", 18, 0.12, 0.11}, FamilyBound{"mbridge", 7, 0.03, 0.095},
                       FamilyBound{"simumax", 12, 0.16, 0.17}, FamilyBound{"all", 50, 0.14, 0.22}),
              moe_group);
}

TEST_CASE("step times: over all dense 16-bit runs better than any constant utilisation",
          "[calibration][validation]") {
  const CheckSummary all = summary("all", dense_half_group);
  CAPTURE(all.count, all.median, all.mape, all.tau, all.pairs);
  CHECK(all.count >= 1600);
  CHECK(all.median <= 0.10);
  CHECK(all.mape <= 0.12);
  CHECK(all.half_peak_mape > 3.0 * all.mape);
  CHECK(all.tau >= 0.65);
  CHECK(all.covered >= 0.75);  // the band is from the 10th to the 90th percentile
}

TEST_CASE("step times: SC21 and Korthikanti runs of one model are in the right order",
          "[calibration][validation]") {
  CHECK(summary("sc21", dense_half_group).tau >= 0.94);
  CHECK(summary("kort", dense_half_group).tau == 1.0);
}

TEST_CASE("step times: every check is made or says why, within its band",
          "[calibration][validation]") {
  REQUIRE(checks().size() > 2400);
  for (const RecordCheck& check : checks()) {
    CAPTURE(check.id, check.why);
    CHECK(check.skipped == !check.why.empty());
    CHECK((check.group == dense_half_group || check.group == dense_fp8_group ||
           check.group == moe_group));
    if (check.skipped) continue;
    CHECK(check.measured > 0.0);
    CHECK(check.low <= check.predicted);
    CHECK(check.predicted <= check.high);
    CHECK(check.at_half_peak > 0.0);
    // Nobody runs above the peak, and no forecast may.
    CHECK(check.predicted > 0.5 * check.at_half_peak);
  }
}

TEST_CASE("step times: runs that do not fit the forecast's memory are still priced",
          "[calibration][step]") {
  RunRecord crowded = shipped_run("aa-13b-2k-64g-all-r070");
  crowded.micro_batch = 16;  // its activations alone take several times the card
  const RunJob mapped = run_job(crowded, shipped_catalog());
  REQUIRE(mapped.job.has_value());
  CHECK_FALSE(
      forecast_memory(*mapped.job, stage_layout(mapped.job->model, mapped.job->parallel)).fits());
  CHECK(why(crowded).empty());
}

TEST_CASE("step times: the reasons for skipping", "[calibration][step]") {
  RunRecord record = shipped_run("sc21-t1-1.7b");
  CHECK(why(record).empty());
  const auto changed = [&](auto change) {
    RunRecord copy = record;
    change(copy);
    return why(copy);
  };
  CHECK(changed([](RunRecord& r) { r.task = "lora"; }).find("fine-tuning") == 0);
  CHECK(changed([](RunRecord& r) { r.global_batch.reset(); }) == "the global batch is not stated");
  CHECK(changed([](RunRecord& r) { r.micro_batch.reset(); }) == "the micro-batch is not stated");
  CHECK(changed([](RunRecord& r) { r.gpus = 64; }) ==
        "the layout multiplies to 32 GPUs, the run had 64");
  CHECK(changed([](RunRecord& r) { r.flops_convention = "x"; }) ==
        "how the source counts FLOPs is not known: x");
  CHECK(changed([](RunRecord& r) { r.moe = RunMoe{}; }) ==
        "the expert-parallel degree is not stated");
  CHECK(changed([](RunRecord& r) { r.sliding_window = true; }) ==
        "sliding-window attention is not modelled");
  CHECK(changed([](RunRecord& r) { r.iteration_s = 0.0; }) ==
        "the measured speed is no positive number");
  CHECK(changed([](RunRecord& r) { r.tokens_per_s = std::nan(""); }) ==
        "the measured speed is no positive number");
  CHECK(changed([](RunRecord& r) { r.gpu = "TPU"; }) == "no device TPU");
  CHECK(changed([](RunRecord& r) { r.tensor = 32, r.data = 1; }).find("attention heads") == 0);
}

TEST_CASE("step times: a record that tells no speed is no check", "[calibration][step]") {
  RunRecord record = shipped_run("sc21-t1-1.7b");
  record.tflops_per_gpu.reset();
  record.mfu_pct.reset();
  CHECK(check_run_steps({record}, shipped_catalog()).empty());
}

TEST_CASE("step times: twice the network is never slower, twice the batch never faster",
          "[calibration][step]") {
  for (const char* id : {"sc21-t1-1.7b", "bs-jz-607-181B-tp8pp12dp4-mb1", "zb-1.5b-1f1b-m24",
                         "internevo-tgs-tp2-z4-64g", "aa-13b-2k-64g-all-r070"}) {
    const RunJob mapped = run_job(shipped_run(id), shipped_catalog());
    REQUIRE(mapped.job.has_value());
    const Seconds base = predict_step(*mapped.job).time;
    Job faster = *mapped.job;
    faster.cluster.network.nic_link.bandwidth = 2.0 * faster.cluster.network.nic_link.bandwidth;
    Job longer = *mapped.job;
    longer.training.global_batch *= 2;
    CAPTURE(id);
    CHECK(predict_step(faster).time <= base);
    CHECK(predict_step(longer).time > base);
  }
}

TEST_CASE("step times: zero-bubble runs gain over 1F1B what was measured, within 5 points",
          "[calibration][validation]") {
  std::map<std::string, const RecordCheck*> by_id;
  for (const RecordCheck& check : checks())
    if (!check.skipped) by_id[check.id] = &check;
  int compared = 0;
  for (const auto& [id, check] : by_id) {
    for (const std::string schedule : {"-zb-1p-", "-zb-2p-", "-zb-v-"}) {
      const std::size_t at = id.find(schedule);
      if (at == std::string::npos) continue;
      const RecordCheck& plain =
          *by_id.at(id.substr(0, at) + "-1f1b-" + id.substr(at + schedule.size()));
      const double measured = plain.measured / check->measured - 1.0;
      const double predicted = plain.predicted / check->predicted - 1.0;
      CAPTURE(id, measured, predicted);
      CHECK(measured * predicted > 0.0);
      CHECK(std::abs(predicted - measured) < 0.05);
      ++compared;
    }
  }
  CHECK(compared == 18);
}

}  // namespace foretrain
