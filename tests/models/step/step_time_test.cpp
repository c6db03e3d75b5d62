// SPDX-License-Identifier: Apache-2.0
#include "models/step/step_time.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "models/data/data_parallel.hpp"
#include "models/layers/parameters.hpp"
#include "models/memory/memory.hpp"
#include "models/schedules/registry.hpp"
#include "models/step/step_bounds.hpp"
#include "tests/models/example_job.hpp"
#include "tests/models/random_plans.hpp"

using namespace foretrain;

namespace {

StepForecast step_of(const Job& job) {
  return step_time(job, stage_layout(job.model, job.parallel));
}

/// The bubble without the waiting for the stage with the most work: what filling and draining cost.
Seconds fill_and_drain(const Job& job) {
  const StepCosts costs = step_costs(job, stage_layout(job.model, job.parallel));
  return step_time(costs).breakdown.bubble - costs.release * stage_work(costs).imbalance();
}

Job with_microbatches(int microbatches) {
  Job job = test::llama2_70b_job();
  job.training.global_batch = 16 * microbatches;
  return job;
}

}  // namespace

TEST_CASE("step: the parts sum to the step", "[models][step][property]") {
  Job job = with_microbatches(GENERATE(8, 64, 512));
  job.parallel.zero = GENERATE(0, 1);
  job.memory.recompute.kind =
      GENERATE(RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full);
  const StepForecast step = step_of(job);
  CHECK(step.breakdown.total().value() == Approx(step.time.value()).epsilon(1e-12));
  CHECK(is_finite(step.time));
}

TEST_CASE("step: 1F1B bubble is (p-1)/m of the work for equal stages", "[models][step]") {
  // SC21 section 2.2: bubble over ideal time = (p-1)/m
  const int microbatches = GENERATE(8, 32, 256);
  Job job = with_microbatches(microbatches);
  job.model.vocabulary = 128;  // the ends weigh nothing
  const TimeBreakdown parts = step_of(job).breakdown;
  const Seconds work = parts.compute + parts.recompute + parts.tensor;
  CHECK(fill_and_drain(job) / work == Approx(7.0 / microbatches).epsilon(0.02));
}

TEST_CASE("step: interleaving divides the bubble by the virtual stages", "[models][step]") {
  Job job = with_microbatches(64);
  const Seconds plain = fill_and_drain(job);
  job.parallel.schedule = ScheduleKind::interleaved;
  job.parallel.virtual_stages = 5;
  CHECK(fill_and_drain(job) / plain == Approx(1.0 / 5.0).epsilon(0.05));
}

TEST_CASE("step: Llama-2-70B at 44 against 1024 micro-batches keeps 0.871 of the speed",
          "[models][step]") {
  // Measured 791.4 and 908.3 tokens/s/GPU with TP4 PP8 on 32 GPUs (runs.yaml, flagperf);
  // m/(m+p-1) says 0.869.
  Job few = test::llama2_70b_job();
  few.cluster.hosts = 4;
  few.parallel.tensor = 4;
  few.parallel.data = 1;
  few.training.global_batch = 44;
  Job many = few;
  many.training.global_batch = 1024;
  const double speed_few = 44.0 / step_of(few).time.value();
  const double speed_many = 1024.0 / step_of(many).time.value();
  CHECK(speed_few / speed_many == Approx(0.871).margin(0.01));
}

TEST_CASE("step: the bound of a search is never above the step, and tight for 1F1B",
          "[models][step][property]") {
  test::RandomPlans plans{7};
  double tightest = 0.0;
  for (int i = 0; i < 2000; ++i) {
    const Job job = plans.next();
    const StageLayout layout = stage_layout(job.model, job.parallel);
    const StepCosts costs = step_costs(job, layout);
    const double share = least_step_seconds(costs) / step_seconds(costs);
    CAPTURE(i, name_of(job.parallel.schedule), job.parallel.pipeline, job.microbatches());
    CHECK(share <= 1.0);
    CHECK(share > 0.0);
    StepBounds bounds;
    CHECK(bounds.least(job, layout) <= least_step_seconds(costs) * (1.0 + 1e-12));
    tightest = std::max(tightest, share);
  }
  CHECK(tightest > 0.9999);
}

TEST_CASE("step: more of anything is never slower", "[models][step][property]") {
  const Job job = with_microbatches(GENERATE(8, 64));
  const Seconds before = step_of(job).time;
  Job faster = job;
  SECTION("peak") { faster.cluster.host.device.peak[Precision::bf16] *= 1.5; }
  SECTION("memory bandwidth") { faster.cluster.host.device.memory_bandwidth *= 1.5; }
  SECTION("NVLink") { faster.cluster.host.gpu_link.bandwidth *= 1.5; }
  SECTION("NIC") { faster.cluster.network.nic_link.bandwidth *= 1.5; }
  CHECK(step_of(faster).time < before);
}

TEST_CASE("step: never below the roofline", "[models][step][property]") {
  Job job = with_microbatches(GENERATE(8, 64, 1024));
  job.training.micro_batch = GENERATE(1, 4);
  job.training.global_batch *= job.training.micro_batch;
  const double tokens = static_cast<double>(job.training.global_batch) * job.training.sequence;
  const double model_flop = 6.0 * static_cast<double>(parameters(job.model)) * tokens;
  CHECK(step_of(job).time.value() > 0.95 * model_flop / (1024.0 * 989.4e12));
}

TEST_CASE("step: recomputation costs a forward pass, selective only the attention",
          "[models][step]") {
  Job job = with_microbatches(64);
  job.memory.recompute.kind = RecomputeKind::none;
  const TimeBreakdown none = step_of(job).breakdown;
  CHECK(none.recompute == Seconds{});
  job.memory.recompute.kind = RecomputeKind::full;
  const TimeBreakdown full = step_of(job).breakdown;
  CHECK(full.recompute / none.compute == Approx(1.0 / 3.0).epsilon(0.1));
  job.memory.recompute.kind = RecomputeKind::selective;
  const TimeBreakdown selective = step_of(job).breakdown;
  CHECK(selective.recompute < 0.2 * full.recompute);
  CHECK(selective.recompute > Seconds{});
}

TEST_CASE("step: block recomputation runs only its layers twice", "[models][step]") {
  Job job = with_microbatches(64);
  job.memory.recompute = {RecomputeKind::full, RecomputeMethod::uniform, 1};
  const Seconds all = step_of(job).breakdown.recompute;
  job.memory.recompute = {RecomputeKind::full, RecomputeMethod::block, 3};
  CHECK(step_of(job).breakdown.recompute / all == Approx(0.3));
}

TEST_CASE("data parallel: what is not overlapped is paid in full", "[models][step]") {
  Job job = with_microbatches(64);
  job.communication.overlap.gradients = false;
  job.communication.overlap.parameters = false;
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const RankParameters held = rank_parameters(job, layout, 3);
  // 10 layers / 8 ranks of 855,654,400 parameters: 15/16 of 4 bytes and of 2 bytes over one NIC
  const double wire = 15.0 / 16.0 * 6.0 * held.total() / (50e9 * 0.98 * 0.86);
  CHECK((gradient_time(job, held) + weight_time(job, held)).value() == Approx(wire).epsilon(0.01));
  const Seconds paid = step_of(job).breakdown.data;
  CHECK(paid.value() > wire);  // of the slowest stage
  job.communication.overlap.gradients = true;
  CHECK(step_of(job).breakdown.data < 0.9 * paid);
}

TEST_CASE("data parallel: stages hold the parameters of the model between them", "[models][step]") {
  const Job job = test::llama2_70b_job();
  const StageLayout layout = stage_layout(job.model, job.parallel);
  double sum = 0.0;
  for (int stage = 0; stage < 8; ++stage) sum += rank_parameters(job, layout, stage).total();
  // norms are replicated over tensor ranks; the vocabulary is padded from 32000 to 32768
  CHECK(8.0 * sum == Approx(68976648192.0).epsilon(0.001));
}

TEST_CASE("band: an uncalibrated device widens it and says so", "[models][step]") {
  Job job = test::llama2_70b_job();
  StepForecast measured = step_of(job);
  std::vector<Warning> warnings;
  add_band(job, measured, warnings);
  CHECK(warnings.empty());
  CHECK(measured.low < measured.time);
  CHECK(measured.high / measured.time == Approx(1.12));
  job.device_profile.provenance.trust = Trust::datasheet;
  StepForecast guessed = step_of(job);
  add_band(job, guessed, warnings);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].id == "outside-calibration");
  CHECK(guessed.low < measured.low);
  CHECK(guessed.high > measured.high);
}

TEST_CASE("band: on a full GPU the slow side is wider and the forecast says so", "[models][step]") {
  Job job = test::llama2_70b_job();
  const double peak = peak_memory(job, stage_layout(job.model, job.parallel)).value();
  Bytes& usable = job.cluster.host.device.usable_memory;
  const auto banded = [&](double load, std::vector<Warning>& warnings) {
    usable = Bytes{peak / load};
    StepForecast step = step_of(job);
    add_band(job, step, warnings);
    return step;
  };
  std::vector<Warning> none;
  std::vector<Warning> warned;
  const StepForecast roomy = banded(0.94, none);
  const StepForecast tight = banded(0.96, warned);
  CHECK(none.empty());
  REQUIRE(warned.size() == 1);
  CHECK(warned[0].id == "memory-tight");
  CHECK_THAT(warned[0].message, Catch::StartsWith("96 %"));
  CHECK(tight.time == roomy.time);
  CHECK(tight.low == roomy.low);
  CHECK(tight.high / tight.time == Approx(1.0 + std::hypot(0.12, 0.15)));
  banded(1.5, none);  // does not fit: told elsewhere
  CHECK(none.empty());
}

TEST_CASE("band: on a cluster that nobody measured it holds networks of half the rate",
          "[models][step]") {
  Job job = test::llama2_70b_job();
  job.parallel.zero = GENERATE(1, 3);
  StepForecast known = step_of(job);
  std::vector<Warning> warnings;
  add_band(job, known, warnings);
  job.site.provenance.trust = Trust::interpolated;
  StepForecast guessed = step_of(job);
  add_band(job, guessed, warnings);
  CHECK(guessed.low < known.low);
  CHECK(guessed.high / guessed.time >= 1.0 + std::hypot(0.12, 0.10));
  job.site.across.share *= 0.5;
  job.site.lone_share *= 0.5;
  job.site.send_share *= 0.5;
  CHECK(guessed.high > step_of(job).time);
}
