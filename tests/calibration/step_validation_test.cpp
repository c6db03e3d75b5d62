// SPDX-License-Identifier: Apache-2.0
// Step times against every family that can be priced. Fails when an error grows; the figures are in
// calibration/docs/step-time.md.
#include "calibration/cases/step_case.hpp"
#include "calibration/validate/validations.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "calibration/records/csv_table.hpp"
#include "calibration/records/run_job.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/step/step_costs.hpp"
#include "tests/calibration/measured_records.hpp"

namespace foretrain {
namespace {

const std::vector<RecordCheck>& checks() {
  static const std::vector<RecordCheck> all =
      check_run_steps(all_shipped_runs(), shipped_catalog());
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

/// A line of step_errors.csv: what a source's runs were off by when it was written.
struct RecordedError {
  std::string source, group;
  int count = 0;
  double median = 0.0;  ///< percent
  double mape = 0.0;
};

std::string errors_path() {
  return std::string(FORETRAIN_SOURCE_DIR) + "/tests/calibration/step_errors.csv";
}

std::vector<RecordedError> recorded_errors() {
  std::ifstream stream(errors_path());
  REQUIRE(stream.good());
  std::string line;
  std::getline(stream, line);  // column names
  std::vector<RecordedError> errors;
  while (std::getline(stream, line)) {
    std::istringstream cells(line);
    RecordedError error;
    std::string count, median, mape;
    for (std::string* cell : {&error.source, &error.group, &count, &median, &mape})
      std::getline(cells, *cell, ',');
    error.count = std::stoi(count);
    error.median = std::stod(median);
    error.mape = std::stod(mape);
    errors.push_back(std::move(error));
  }
  return errors;
}

void write_errors() {
  std::ofstream stream(errors_path());
  stream << "source,group,runs,median,mape\n" << std::fixed << std::setprecision(2);
  for (const CheckSummary& line : summarize(checks()))
    if (line.count > 0)
      stream << line.source << ',' << line.group << ',' << line.count << ',' << 100.0 * line.median
             << ',' << 100.0 * line.mape << '\n';
  REQUIRE(stream.good());
}

}  // namespace

// FORETRAIN_UPDATE_GOLDEN=1 records the errors as they are; the difference is for review.
TEST_CASE("step times: no source is further off than recorded", "[calibration][validation]") {
  constexpr double slack = 0.1;  // percent: below what any source tells apart
  if (std::getenv("FORETRAIN_UPDATE_GOLDEN") != nullptr) write_errors();
  const std::vector<RecordedError> recorded = recorded_errors();
  CHECK(recorded.size() >= 40);
  for (const RecordedError& error : recorded) {
    const CheckSummary found = summary(error.source, error.group);
    CAPTURE(error.source, error.group, found.bias, found.worst_id);
    CHECK(found.count >= error.count);
    CHECK(100.0 * found.median <= error.median + slack);
    CHECK(100.0 * found.mape <= error.mape + slack);
  }
}

TEST_CASE("step times: over all dense 16-bit runs better than any constant utilisation",
          "[calibration][validation]") {
  const CheckSummary all = summary("all", dense_half_group);
  CAPTURE(all.count, all.median, all.mape, all.tau, all.pairs);
  CHECK(all.count >= 1600);
  CHECK(all.median <= 0.05);
  CHECK(all.mape <= 0.08);
  CHECK(all.half_peak_mape > 3.0 * all.mape);
  CHECK(all.tau >= 0.65);
  CHECK(all.covered >= 0.75);  // the band is from the 10th to the 90th percentile
}

TEST_CASE("step times: SC21 and Korthikanti runs of one model are in the right order",
          "[calibration][validation]") {
  // Of figures 13 and 15 (runs_released.yaml) those with two and four ranks of a group per host are
  // out of order: nothing says how slow their sums of gradients are.
  CHECK(summary("sc21", dense_half_group).tau >= 0.90);
  std::vector<RecordCheck> tables;
  for (const RecordCheck& check : checks())
    if (check.id.find("-f13-") == std::string::npos && check.id.find("-f15-") == std::string::npos)
      tables.push_back(check);
  for (const CheckSummary& of : summarize(tables))
    if (of.source == "sc21" && of.group == dense_half_group) CHECK(of.tau >= 0.94);
  CHECK(summary("kort", dense_half_group).tau == 1.0);
}

TEST_CASE("step times: every check is made or says why, within its band",
          "[calibration][validation]") {
  REQUIRE(checks().size() > 2400);
  for (const RecordCheck& check : checks()) {
    CAPTURE(check.id, check.why);
    CHECK(check.skipped == !check.why.empty());
    CHECK((check.group == dense_half_group || check.group == dense_fp8_group ||
           check.group == moe_group || check.group == hybrid_group || check.group == kin_group));
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
  CHECK_FALSE(changed([](RunRecord& r) { r.task = "lora"; }).empty());  // beside what is not stated
  CHECK(changed([](RunRecord& r) { r.global_batch.reset(); }) == "the global batch is not stated");
  CHECK(changed([](RunRecord& r) { r.micro_batch.reset(); }) ==
        "the micro-batch is not stated: micro_batch");
  CHECK(changed([](RunRecord& r) { r.gpus = 64; }) ==
        "the layout multiplies to 32 GPUs, the run had 64");
  CHECK(changed([](RunRecord& r) { r.flops_convention = "x"; }) ==
        "how the source counts FLOPs is not known: x");
  CHECK(changed([](RunRecord& r) { r.moe = RunMoe{}; }) ==
        "the expert-parallel degree is not stated: parallel.ep");
  CHECK(changed([](RunRecord& r) { r.sliding_window = true; }) ==
        "the window of its attention is not stated: model.swa.window");
  CHECK(changed([](RunRecord& r) { r.iteration_s = 0.0; }) ==
        "the measured speed is not a positive number");
  CHECK(changed([](RunRecord& r) { r.tokens_per_s = std::nan(""); }) ==
        "the measured speed is not a positive number");
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

// Korthikanti et al., arXiv 2205.05198 table 4: one layer of the 22B model, tensor parallel 8,
// micro-batches of 4 sequences. Without what hides behind the products of weight gradients, the
// backward pass would be a sixth too long; the forward pass still comes out a tenth too long.
TEST_CASE("step times: a layer's passes take what Korthikanti et al. measured",
          "[calibration][validation]") {
  struct Passes {
    const char* id;
    PieceKind layer;
    double forward_ms, backward_ms;
  };
  for (const Passes& measured : {Passes{"kort-t5-22b-full", PieceKind::layer, 7.7, 11.9},
                                 Passes{"kort-t5-22b-full", PieceKind::recomputed_layer, 7.7, 19.5},
                                 Passes{"kort-t5-22b-sp-selective", PieceKind::layer, 7.2, 13.1}}) {
    const RunJob mapped = run_job(shipped_run(measured.id), shipped_catalog());
    REQUIRE(mapped.job.has_value());
    const StepCosts costs =
        step_costs(*mapped.job, stage_layout(mapped.job->model, mapped.job->parallel));
    const PieceTimes& layer = costs.pieces[static_cast<std::size_t>(measured.layer)];
    CAPTURE(measured.id, measured.backward_ms);
    CHECK(1e3 * layer.forward.total().value() == Approx(measured.forward_ms).epsilon(0.13));
    CHECK(1e3 * layer.backward().total().value() == Approx(measured.backward_ms).epsilon(0.06));
  }
}

TEST_CASE("step times: schedules gain over 1F1B what was measured, most within 3 points",
          "[calibration][validation]") {
  std::map<std::string, const RecordCheck*> by_id;
  for (const RecordCheck& check : checks())
    if (!check.skipped) by_id[check.id] = &check;
  std::vector<double> apart;
  for (const auto& [id, check] : by_id) {
    for (const std::string schedule : {"-zb-1p-", "-zb-2p-", "-zb-v-", "-1f1b-i-"}) {
      const std::size_t at = id.find(schedule);
      if (at == std::string::npos || !id.starts_with("z")) continue;
      const RecordCheck& plain =
          *by_id.at(id.substr(0, at) + "-1f1b-" + id.substr(at + schedule.size()));
      const double measured = plain.measured / check->measured - 1.0;
      const double predicted = plain.predicted / check->predicted - 1.0;
      CAPTURE(id, measured, predicted);
      CHECK(measured * predicted > 0.0);
      CHECK(std::abs(predicted - measured) < 0.065);
      apart.push_back(std::abs(predicted - measured));
    }
  }
  REQUIRE(apart.size() == 24);
  std::sort(apart.begin(), apart.end());
  CHECK(apart[14] < 0.03);
}

// Host work runs ahead of the GPUs: a constant of a loop that is longer than a whole step of the
// same loop stands for something else.
TEST_CASE("launches: no loop adds to a step, or launches in it, more than a published step lasts",
          "[calibration][validation]") {
  std::vector<RunRecord> records = all_shipped_runs();
  for (const char* const file : {"runs_tuning.yaml", "public_runs.yaml"})
    for (RunRecord& record : runs_in(file)) records.push_back(std::move(record));
  std::map<std::string, std::pair<double, std::string>> shortest;  // by stack, with its run
  std::map<std::string, double> fitted;
  for (const StepRun& run : step_runs(records, shipped_catalog())) {
    if (!run.job) continue;
    const Job& job = *run.job;
    CAPTURE(run.check.id, job.stack.name);
    CHECK(predict_step(job).breakdown.launch.value() < run.check.measured);
    if (job.training.cuda_graphs.has(GraphPart::full_iteration)) continue;
    const std::pair<double, std::string> step{run.check.measured, run.check.id};
    const auto [known, is_new] = shortest.emplace(job.stack.name, step);
    if (!is_new) known->second = std::min(known->second, step);
    if (run.fitted != FitScope::all) continue;
    const auto [least, first] = fitted.emplace(job.stack.name, run.check.measured);
    if (!first) least->second = std::min(least->second, run.check.measured);
  }
  CHECK(shortest.size() > 20);
  for (const auto& [stack, step] : shortest) {
    CAPTURE(stack, step.second);
    const StackTimes& times = shipped_catalog().stacks.at(stack).times;
    CHECK(times.step_constant.value() * times.release < step.first);
    // A constant is a share of steps shorter than those that it was fitted to, of no others.
    if (fitted.contains(stack)) CHECK(times.constant_from.value() < 1.01 * fitted.at(stack));
  }
}

}  // namespace foretrain
