// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/sharded_pipeline.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

#include "models/data/data_parallel.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

/// Llama-2-70B in eight stages of eight ranks, its states sharded over 16 replicas.
Job sharded(int zero, double gathered_bytes) {
  Job job = test::llama2_70b_job();
  job.parallel.zero = zero;
  job.stack.memory.weight_bytes = gathered_bytes > 0.0 ? 4.0 : 2.0;
  job.stack.memory.compute_weight_bytes = gathered_bytes;
  return job;
}

Job fsdp(int zero) { return sharded(zero, 2.0); }

Seconds sharded_step(const Job& job) {
  return step_time(job, stage_layout(job.model, job.parallel)).time;
}

MemoryForecast memory_of(const Job& job) {
  return forecast_memory(job, stage_layout(job.model, job.parallel));
}

const Infeasible* rule_of(const std::vector<Infeasible>& reasons, const std::string& rule) {
  const auto found = std::find_if(reasons.begin(), reasons.end(),
                                  [&](const Infeasible& reason) { return reason.rule == rule; });
  return found == reasons.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("sharded pipelines: refused by name where the framework cannot run them",
          "[models][rules]") {
  for (const int zero : {2, 3}) {
    Job job = sharded(zero, 0.0);
    job.stack.name = "megatron-core";
    const auto reasons = broken_rules(job);
    const Infeasible* const reason = rule_of(reasons, "sharded-pipeline");
    REQUIRE(reason != nullptr);
    CHECK(reason->key == "parallel.zero");
    CHECK(reason->remedy == "parallel.zero: 1");
    CHECK(reason->message.starts_with("stack megatron-core shards gradients"));
    job.parallel.pipeline = 1;
    job.parallel.data = 128;
    CHECK(rule_of(broken_rules(job), "sharded-pipeline") == nullptr);
  }
  CHECK(rule_of(broken_rules(sharded(1, 0.0)), "sharded-pipeline") == nullptr);
  Job jax = fsdp(3);
  jax.stack.name = "jax";
  CHECK(rule_of(broken_rules(jax), "sharded-pipeline") != nullptr);
  CHECK(rule_of(broken_rules(fsdp(3)), "sharded-pipeline") == nullptr);
  Job other = fsdp(3);
  other.parallel.schedule = ScheduleKind::zb_2p;
  REQUIRE(rule_of(broken_rules(other), "sharded-pipeline") != nullptr);
  CHECK(rule_of(broken_rules(other), "sharded-pipeline")->message.find("zb-2p") !=
        std::string::npos);
}

TEST_CASE("sharded pipelines: FSDP scatters gradients once per step, after the last backward pass",
          "[models][data]") {
  const Job job = fsdp(2);
  RankParameters parameters;
  parameters.layers = 1e9;
  const Seconds once = gradient_time(job, parameters);
  CHECK_FALSE(sync_overlap(job).gradients);
  CHECK(once > Seconds{});
  Job twice = job;
  twice.training.global_batch *= 2;
  CHECK(gradient_time(twice, parameters) == once);
  PieceTimes piece;
  piece.forward.compute = piece.input_gradient.compute = piece.weight_gradient.compute = 1.0 * us;
  add_shard_traffic(job, {1e8, 0.0, 1e8, 0.0}, piece);
  CHECK(piece.backward().data == Seconds{});
  // Without a pipeline every backward pass scatters, and nothing is left for the end.
  Job flat = job;
  flat.parallel.pipeline = 1;
  flat.parallel.data = 128;
  CHECK(gradient_time(flat, parameters) == Seconds{});
  add_shard_traffic(flat, {1e8, 0.0, 1e8, 0.0}, piece);
  CHECK(piece.backward().data > Seconds{});
}

TEST_CASE("sharded pipelines: a 70B in eight stages takes little longer than with ZeRO-1",
          "[models][data]") {
  Job zero1 = fsdp(1);
  const Seconds base = sharded_step(zero1);
  const Seconds kept = sharded_step(fsdp(2));      // weights stay gathered
  const Seconds gathered = sharded_step(fsdp(3));  // and are gathered again for every micro-batch
  CHECK(kept > base);
  CHECK(kept < 1.1 * base);
  CHECK(gathered > kept);
}

TEST_CASE("sharded pipelines: forward passes find the weights that a backward pass gathered",
          "[models][data]") {
  Job job = fsdp(3);  // 64 micro-batches on 8 stages
  CHECK(job.microbatches() == 64);
  CHECK(gathering_forwards(job) == Approx(8.0 / 64.0));
  job.training.global_batch = 64;  // 4 of them
  CHECK(gathering_forwards(job) == 1.0);
  job.parallel.pipeline = 1;
  CHECK(gathering_forwards(job) == 1.0);
}

TEST_CASE("sharded pipelines: whole gradients and gathered weights stay for the step",
          "[models][memory]") {
  const MemoryForecast replicated = memory_of(fsdp(1));
  const MemoryForecast zero2 = memory_of(fsdp(2));
  const MemoryForecast zero3 = memory_of(fsdp(3));
  for (std::size_t stage = 0; stage < 8; ++stage) {
    CHECK(zero2.stages[stage].gradients >= replicated.stages[stage].gradients);
    CHECK(zero3.stages[stage].gradients == zero2.stages[stage].gradients);
    CHECK(zero3.stages[stage].weights == zero2.stages[stage].weights);
  }
}
