// SPDX-License-Identifier: Apache-2.0
#include "models/forecast/closed_form.hpp"

#include <catch2/catch.hpp>

#include "models/rules/plan_rules.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

TEST_CASE("closed form: a feasible job gets every part of the answer", "[models][closed-form]") {
  const Prediction p = closed_form(test::llama2_70b_job());
  REQUIRE(p.feasible());
  REQUIRE(p.memory);
  REQUIRE(p.step);
  REQUIRE(p.flops);
  REQUIRE(p.efficiency);
  CHECK(p.memory->stages.size() == 8);
  CHECK(p.step->low < p.step->time);
  CHECK(p.step->high > p.step->time);
  CHECK(p.run.ideal->in(days) > 20.0);
  CHECK(p.run.ideal->in(days) < 35.0);
  CHECK(p.cost.gpu_hours == Approx(1024.0 * p.run.ideal->in(hours)));
}

TEST_CASE("closed form: MFU is model FLOPs over what the GPUs could do", "[models][closed-form]") {
  const Prediction p = closed_form(test::llama2_70b_job());
  const double peak = 1024.0 * 989.4e12 * p.step->time.value();
  CHECK(p.efficiency->mfu == Approx(p.flops->model_per_step.value() / peak));
  CHECK(p.efficiency->hfu == Approx(p.flops->hardware_per_step.value() / peak));
  CHECK(p.efficiency->tokens_per_s == Approx(1024.0 * 4096.0 / p.step->time.value()));
  // 6 N plus the scores, 2 T tokens: at this MFU the run takes as long as the step says
  CHECK(p.efficiency->mfu > 0.30);
  CHECK(p.efficiency->mfu < 0.55);
}

TEST_CASE("closed form: causal counting moves MFU, not time", "[models][closed-form]") {
  const Prediction full = closed_form(test::llama2_70b_job(), AttentionFlops::full);
  const Prediction causal = closed_form(test::llama2_70b_job(), AttentionFlops::causal);
  CHECK(causal.step->time == full.step->time);
  CHECK(causal.efficiency->mfu < full.efficiency->mfu);
  CHECK(causal.flops->convention != full.flops->convention);
}

TEST_CASE("closed form: out of memory names the stage and the missing bytes, and no time",
          "[models][closed-form]") {
  Job job = test::llama2_70b_job();
  job.parallel.tensor = 2;
  job.parallel.pipeline = 2;
  job.parallel.data = 256;
  const Prediction p = closed_form(job);
  REQUIRE(p.reasons.size() == 1);
  CHECK(p.reasons[0].rule == "out-of-memory");
  CHECK(p.reasons[0].message.find("stage " + std::to_string(p.memory->peak_stage)) == 0);
  CHECK(p.memory->peak > p.memory->usable);
  CHECK_FALSE(p.step);
  CHECK_FALSE(p.run.ideal);
}

TEST_CASE("closed form: an illegal plan gets reasons and nothing else", "[models][closed-form]") {
  Job job = test::llama2_70b_job();
  job.training.global_batch = 1000;
  const Prediction p = closed_form(job);
  CHECK_FALSE(p.feasible());
  CHECK_FALSE(p.memory);
  CHECK_FALSE(p.step);
}

TEST_CASE("closed form: what has no step time still has memory and FLOPs",
          "[models][closed-form]") {
  Job job = test::llama2_70b_job();
  job.memory.offload = OffloadKind::optimizer_and_parameters;
  const Prediction p = closed_form(job);
  REQUIRE(p.reasons.size() == 1);
  CHECK(p.reasons[0].rule == not_modelled_rule);
  CHECK(p.memory);
  CHECK(p.flops);
  CHECK_FALSE(p.step);
}

TEST_CASE("closed form: the same FLOPs for every layout of the same GPUs",
          "[models][closed-form][property]") {
  Job job = test::llama2_70b_job();
  const auto [tensor, pipeline] = GENERATE(table<int, int>({{8, 8}, {4, 16}, {8, 4}, {8, 16}}));
  job.parallel.tensor = tensor;
  job.parallel.pipeline = pipeline;
  job.parallel.data = 1024 / tensor / pipeline;
  const Prediction p = closed_form(job);
  REQUIRE(p.flops);
  CHECK(p.flops->model_per_step == closed_form(test::llama2_70b_job()).flops->model_per_step);
}
