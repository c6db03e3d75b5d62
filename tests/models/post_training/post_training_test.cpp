// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/base/percentile.hpp"
#include "models/layers/parameters.hpp"
#include "models/post_training/post_training_plan.hpp"
#include "models/post_training/post_training_step.hpp"
#include "models/post_training/rollout.hpp"
#include "models/serving/forward_step.hpp"
#include "models/step/step_costs.hpp"
#include "tests/models/example_job.hpp"
#include "tests/models/llama_8b.hpp"

namespace foretrain {
namespace {

using test::llama_8b;

/// 16 H100 that train data parallel and generate, a replica each.
PostTrainingSetup grpo_setup() {
  PostTrainingSetup setup;
  Job& job = setup.policy;
  job = test::llama2_70b_job();
  job.model = llama_8b();
  job.cluster.hosts = 2;
  job.parallel = {};
  job.parallel.data = 16;
  job.parallel.zero = 1;
  job.training.global_batch = 512;
  job.training.samples.layout = SampleLayout::packed;
  job.memory.recompute.kind = RecomputeKind::full;
  job.cluster.host.pcie.bandwidth = 64.0 * GBps;
  Deployment& rollout = setup.rollout;
  rollout.model = job.model;
  rollout.cluster = job.cluster;
  rollout.kernels = job.device_profile;
  rollout.site = job.site;
  rollout.layout.replicas = 16;
  rollout.engine.times.step = 1.0 * ms;
  rollout.engine.times.kernel = 2.0 * us;
  rollout.engine.rules.runtime = 3.0 * GiB;
  setup.plan.prompts = 64;
  setup.plan.answers = 32;
  setup.plan.prompt = {.mean = 128.0};
  setup.plan.answer = {.mean = 1000.0, .variation = 0.7, .most = 3968};
  return setup;
}

TEST_CASE("lengths: a log-normal law that is cut keeps its mean", "[models][post-training]") {
  for (const int most : {0, 1500, 4096}) {
    const TokenLengths lengths{{.mean = 1000.0, .variation = 0.7, .most = most}};
    const std::vector<double> middles = lengths.middles(4000);
    const double mean = std::accumulate(middles.begin(), middles.end(), 0.0) / 4000.0;
    CHECK(mean == Approx(1000.0).epsilon(0.005));
    CHECK(std::is_sorted(middles.begin(), middles.end()));
    if (most > 0) CHECK(middles.back() <= most);
  }
}

TEST_CASE("lengths: without a spread all answers are alike", "[models][post-training]") {
  const TokenLengths lengths{{.mean = 500.0}};
  CHECK(lengths.quantile(0.01) == 500.0);
  CHECK(lengths.longest(10000.0) == 500.0);
  CHECK(lengths.deviation() == 0.0);
}

TEST_CASE("lengths: the longest of many lies where Blom says", "[models][post-training]") {
  // Of 999 draws at (999 - 0.375) / (999 + 0.25) of the distribution.
  const TokenLengths lengths{{.mean = 1000.0, .variation = 0.5}};
  const double spread = std::sqrt(std::log(1.25));
  const double middle = std::log(1000.0) - spread * spread / 2.0;
  const double share = 998.625 / 999.25;
  CHECK(lengths.longest(999.0) == Approx(std::exp(middle + spread * normal_quantile(share))));
}

TEST_CASE("rollout: answers of one length take their steps one after the other",
          "[models][post-training]") {
  PostTrainingSetup setup = grpo_setup();
  setup.plan.answer = {.mean = 400.0};
  const RolloutForecast rollout = rollout_forecast(setup.rollout, setup.plan);
  // 128 answers per replica, from 128 tokens in the cache each to 528: the mean step is that of
  // 328.
  const ForwardPass pass{setup.rollout};
  const Seconds step =
      pass.step({.decode_sequences = 128.0, .cached_tokens = 128.0 * 328.0}).total();
  CHECK((rollout.time - rollout.prefill).value() ==
        Approx((400.0 * step + setup.rollout.engine.times.per_request).value()).epsilon(0.002));
  CHECK(rollout.first_running == 128.0);
  CHECK(rollout.longest == 400.0);
  CHECK(rollout.restarted == 0.0);
}

TEST_CASE("rollout: the longest answer decides, and runs nearly alone", "[models][post-training]") {
  const PostTrainingSetup setup = grpo_setup();
  const RolloutForecast rollout = rollout_forecast(setup.rollout, setup.plan);
  CHECK(rollout.half < 0.5 * rollout.time);
  CHECK(rollout.most < 0.75 * rollout.time);
  CHECK(rollout.longest == 3968.0);
  CHECK(rollout.running < 0.5 * rollout.first_running);
  CHECK(rollout.tokens / rollout.time.value() < rollout.steady_tokens_per_s);
}

TEST_CASE("rollout: a cache that is full gives up the last to start", "[models][post-training]") {
  PostTrainingSetup setup = grpo_setup();
  setup.plan.answer = {.mean = 8000.0};
  setup.plan.prompts = 256;
  const RolloutForecast rollout = rollout_forecast(setup.rollout, setup.plan);
  CHECK(rollout.first_running == 512.0);
  CHECK(rollout.running < 256.0);
  CHECK(rollout.restarted > 0.0);
  CHECK(rollout.steady_tokens_per_s > 0.0);
}

TEST_CASE("rollout: more answers, longer ones and tools never take less",
          "[models][post-training][property]") {
  PostTrainingSetup setup = grpo_setup();
  Seconds before = rollout_forecast(setup.rollout, setup.plan).time;
  const auto grows = [&] {
    const Seconds now = rollout_forecast(setup.rollout, setup.plan).time;
    CHECK(now >= before);
    before = now;
  };
  setup.plan.answers = 64;
  grows();
  setup.plan.answer.mean = 1500.0;
  grows();
  setup.plan.turns = 5;
  setup.plan.tool_wait = Seconds{2.0};
  grows();
}

TEST_CASE("policy: packed rows hold the answers of an update", "[models][post-training]") {
  PostTrainingSetup setup = grpo_setup();
  setup.plan.answer = {.mean = 896.0};
  // 1,024 tokens a sample: four fill a row of 4,096, so that 512 answers are 128 rows.
  const Job job = policy_job(setup.policy, setup.plan);
  CHECK(job.training.global_batch == 128);
  CHECK(job.fine_tuning.objective == Objective::policy);
  CHECK(policy_updates(setup.policy, setup.plan) == 4);
  setup.plan.epochs = 2;
  CHECK(policy_updates(setup.policy, setup.plan) == 8);
}

TEST_CASE("policy: prediction modules are not trained", "[models][post-training]") {
  PostTrainingSetup setup = grpo_setup();
  setup.policy.model.mtp_layers = 1;
  CHECK(policy_job(setup.policy, setup.plan).model.mtp_layers == 0);
}

TEST_CASE("policy: scoring is the forward passes of all micro-batches", "[models][post-training]") {
  const PostTrainingSetup setup = grpo_setup();
  const Job job = policy_job(setup.policy, setup.plan);
  const StepCosts costs = step_costs(job, stage_layout(job.model, job.parallel));
  const Seconds forward = costs.at({0, 0}).forward.total();
  const double stretch = (1.0 + costs.jitter) * costs.release;
  CHECK(scoring_time(job, 4).value() ==
        Approx((4.0 * job.microbatches() * stretch * forward).value()));
}

TEST_CASE("sync: bytes and tensors of the model", "[models][post-training]") {
  // 2 ends and 32 layers of four projections, two norms and three matrices of the MLP.
  CHECK(checkpoint_tensors(llama_8b()) == 2.0 + 32.0 * 9.0);
  PostTrainingSetup setup = grpo_setup();
  // Handed over in place: 16 GB at 26 GB/s, and what starting it takes.
  const double bytes = 2.0 * static_cast<double>(parameters(llama_8b()));
  CHECK(weight_sync_time(setup.plan, setup.rollout).value() == Approx(0.3 + bytes / 26e9));
  setup.plan.placement = RolloutPlacement::separate;
  const Seconds buckets = weight_sync_time(setup.plan, setup.rollout);
  setup.plan.sync = SyncPath::per_tensor;
  CHECK(weight_sync_time(setup.plan, setup.rollout) > buckets);
  setup.plan.sync = SyncPath::checkpoint_engine;
  CHECK(weight_sync_time(setup.plan, setup.rollout) < buckets);
}

TEST_CASE("step: parts add up where generation and training take turns",
          "[models][post-training]") {
  const PostTrainingForecast forecast = post_training_step(grpo_setup());
  REQUIRE(forecast.reasons.empty());
  Seconds sum;
  for (const PostTrainingRow& row : post_training_rows) sum += forecast.parts.*row.time;
  CHECK(forecast.step.time.value() == Approx(sum.value()));
  CHECK(forecast.step.low < forecast.step.time);
  CHECK(forecast.step.high > forecast.step.time);
  CHECK(forecast.gpus == 16.0);
  CHECK(forecast.samples_per_s == Approx(2048.0 / forecast.step.time.value()));
  CHECK(forecast.sleeping > Bytes{});
}

TEST_CASE("step: one step off policy the longer of both sides decides", "[models][post-training]") {
  PostTrainingSetup setup = grpo_setup();
  setup.plan.placement = RolloutPlacement::separate;
  setup.policy.cluster.hosts = 1;
  setup.policy.parallel.data = 8;
  setup.rollout.layout.replicas = 8;
  const PostTrainingForecast turns = post_training_step(setup);
  REQUIRE(turns.reasons.empty());
  setup.plan.staleness = 1.0;
  const PostTrainingForecast beside = post_training_step(setup);
  const Seconds shorter = min(beside.parts.generation, beside.learning());
  CHECK((turns.step.time - beside.step.time).value() == Approx(shorter.value()));
  CHECK(beside.parts.turn == Seconds{});
  CHECK(beside.gpus == 16.0);
}

TEST_CASE("step: partial rollouts do not wait for the longest answer", "[models][post-training]") {
  PostTrainingSetup setup = grpo_setup();
  const Seconds waits = post_training_step(setup).parts.generation;
  setup.plan.partial_rollouts = true;
  const PostTrainingForecast forecast = post_training_step(setup);
  CHECK(forecast.parts.generation < waits);
  CHECK(forecast.parts.generation.value() ==
        Approx(forecast.rollout.tokens / forecast.rollout.steady_tokens_per_s));
}

TEST_CASE("step: a critic is scored and trained as the policy is", "[models][post-training]") {
  PostTrainingSetup setup = grpo_setup();
  setup.plan.algorithm = PolicyAlgorithm::ppo;
  const PostTrainingParts parts = post_training_step(setup).parts;
  CHECK(parts.critic == parts.training);
  CHECK(parts.values == parts.log_probs);
  setup.plan.algorithm = PolicyAlgorithm::dapo;
  CHECK(post_training_step(setup).parts.reference == Seconds{});
}

TEST_CASE("step: an answer that the cache cannot hold is refused by name",
          "[models][post-training]") {
  PostTrainingSetup setup = grpo_setup();
  setup.plan.answer = {.mean = 2e6};
  setup.policy.training.sequence = 4096;
  const PostTrainingForecast forecast = post_training_step(setup);
  REQUIRE_FALSE(forecast.reasons.empty());
  CHECK(forecast.reasons.back().rule == "out-of-memory");
  CHECK(forecast.reasons.back().message.find("The longest answer") != std::string::npos);
}

TEST_CASE("step: rows hold whole answers, and updates no more than a step has",
          "[models][post-training]") {
  PostTrainingSetup setup = grpo_setup();
  setup.policy.training.sequence = 2048;
  REQUIRE_FALSE(post_training_step(setup).reasons.empty());
  CHECK(post_training_step(setup).reasons.front().key == "training.sequence");
  setup = grpo_setup();
  setup.policy.training.global_batch = 4096;
  REQUIRE_FALSE(post_training_step(setup).reasons.empty());
  CHECK(post_training_step(setup).reasons.front().key == "training.global_batch");
}

TEST_CASE("step: a last update that is short takes its share", "[models][post-training]") {
  PostTrainingSetup setup = grpo_setup();
  setup.plan.prompts = 56;  // 1,792 answers: three updates and a half
  const PostTrainingForecast forecast = post_training_step(setup);
  CHECK(forecast.updates == 4);
  CHECK(forecast.parts.training.value() == Approx(3.5 * forecast.policy.step->time.value()));
}

}  // namespace
}  // namespace foretrain
