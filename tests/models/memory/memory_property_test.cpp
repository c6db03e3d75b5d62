// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/grid/process_grid.hpp"
#include "models/layers/parameters.hpp"
#include "models/memory/memory.hpp"
#include "models/schedules/in_flight.hpp"
#include "tests/models/memory/memory_jobs.hpp"
#include "tests/models/random_plans.hpp"

namespace foretrain {
namespace {

Bytes peak_of(const Job& job) { return peak_memory(job, stage_layout(job.model, job.parallel)); }

/// A mixture of experts that all parallel sizes of these tests divide.
Job moe_job() {
  Job job = testing::llama3_70b_cut();
  job.model.layers = 16;
  job.model.hidden = 2048;
  job.model.heads = 16;
  job.model.ffn_hidden = 8192;
  job.model.moe = MoeShape{};
  job.model.moe->experts = 16;
  job.model.moe->top_k = 4;
  job.model.moe->expert_ffn_hidden = 1024;
  job.model.moe->shared_ffn_hidden = 2048;
  job.model.moe->first_dense_layers = 1;
  job.training.global_batch = 64;
  return job;
}

}  // namespace

TEST_CASE("memory: the stages that a search leaves out never need most",
          "[models][memory][property]") {
  test::RandomPlans plans{11};
  for (int i = 0; i < 1000; ++i) {
    const Job job = plans.next();
    const auto layout = stage_layout(job.model, job.parallel);
    const MemoryNeed need = memory_need(job, layout);
    const MemoryForecast all = forecast_memory(job, layout);
    CAPTURE(i, name_of(job.parallel.schedule), job.parallel.pipeline);
    CHECK(need.peak == all.peak);
    CHECK(need.high == all.high);
  }
}

TEST_CASE("memory never falls with the micro-batch", "[models][memory][property]") {
  Job job = GENERATE(testing::llama3_70b_cut(), moe_job());
  job.memory.recompute.kind =
      GENERATE(RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full);
  job.parallel.schedule = GENERATE(ScheduleKind::one_f_one_b, ScheduleKind::gpipe,
                                   ScheduleKind::zb_2p, ScheduleKind::naive);
  job.training.global_batch = 256;
  Bytes previous;
  for (const int micro_batch : {1, 2, 4, 8}) {
    job.training.micro_batch = micro_batch;
    // The same number of micro-batches, so that only their size changes.
    job.training.global_batch = 32 * micro_batch * job.parallel.data;
    const Bytes peak = peak_of(job);
    CAPTURE(micro_batch);
    CHECK(peak >= previous);
    previous = peak;
  }
}

TEST_CASE("memory is never below the weights, and full recomputation needs least",
          "[models][memory][property]") {
  Job job = GENERATE(testing::llama3_70b_cut(), moe_job());
  job.parallel.tensor = GENERATE(1, 2, 4);
  job.parallel.sequence = job.parallel.tensor > 1;
  const StageLayout layout = stage_layout(job.model, job.parallel);
  for (int stage = 0; stage < job.parallel.pipeline; ++stage) {
    const double weights = 2.0 * rank_parameters(job, layout, stage).total();
    CHECK(account_stage(job, layout, activation_model(job), stage).allocated > weights);
  }
  const Bytes none = peak_of(job);
  job.memory.recompute.kind = RecomputeKind::selective;
  const Bytes selective = peak_of(job);
  job.memory.recompute.kind = RecomputeKind::full;
  const Bytes full = peak_of(job);
  CHECK(selective <= none);
  CHECK(full < selective);
}

TEST_CASE("each ZeRO stage needs no more than the one before", "[models][memory][property]") {
  Job job = GENERATE(testing::llama3_70b_cut(), moe_job());
  job.parallel.pipeline = 1;
  job.parallel.data = 64;
  job.training.global_batch = 512;
  Bytes previous{1e18};
  for (int zero = 0; zero <= 3; ++zero) {
    job.parallel.zero = zero;
    const StageLayout layout = stage_layout(job.model, job.parallel);
    const Bytes resident{account_stage(job, layout, activation_model(job), 0).resident};
    CAPTURE(zero);
    CHECK(resident <= previous);
    previous = resident;
  }
}

TEST_CASE("tensor, pipeline and expert shards of all ranks sum to the model's parameters",
          "[models][memory][property]") {
  const Job whole = moe_job();
  const double experts_of_layer =
      static_cast<double>(layer_parameters(whole.model, LayerKind::moe).routed_experts);
  const int tensor = GENERATE(1, 2, 4);
  const int pipeline = GENERATE(1, 2, 4, 8);
  const int expert = GENERATE(1, 2, 4);
  Job job = whole;
  job.parallel.tensor = tensor;
  job.parallel.pipeline = pipeline;
  job.parallel.expert = expert;
  job.parallel.data = 8;
  const StageLayout layout = stage_layout(job.model, job.parallel);
  double experts = 0.0;
  double matrices = 0.0;
  int layers = 0;
  for (int stage = 0; stage < pipeline; ++stage) {
    const RankParameters rank = rank_parameters(job, layout, stage);
    experts += rank.experts * tensor * expert;
    matrices += rank.layer_matrices * tensor;
    layers += layout.layers(stage);
  }
  CHECK(layers == job.model.layers);
  CHECK(experts == Approx(experts_of_layer * job.model.moe_layers()));
  const LayerParameters dense = layer_parameters(job.model, LayerKind::dense);
  const LayerParameters moe = layer_parameters(job.model, LayerKind::moe);
  const double expected =
      static_cast<double>(dense.attention + dense.dense_mlp) +
      static_cast<double>(job.model.moe_layers() * (moe.attention + moe.dense_mlp));
  CHECK(matrices == Approx(expected));
}

TEST_CASE("optimizer shards of all data-parallel ranks sum to the unsharded states",
          "[models][memory][property]") {
  Job job = moe_job();
  job.parallel.expert = GENERATE(1, 2, 4);
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const ActivationModel activations = activation_model(job);
  for (int stage = 0; stage < job.parallel.pipeline; ++stage) {
    job.parallel.zero = 0;
    const StageAccount replicated = account_stage(job, layout, activations, stage);
    job.parallel.zero = 1;
    const StageAccount sharded = account_stage(job, layout, activations, stage);
    const auto row = [](const StageAccount& account, MemoryItem item) {
      return account.at(MemoryPhase::between_steps)[item];
    };
    CHECK(row(sharded, MemoryItem::dense_optimizer) * job.parallel.data ==
          Approx(row(replicated, MemoryItem::dense_optimizer)));
    const int experts = ProcessGrid{job.parallel}.group(GroupKind::expert_data).ranks();
    CHECK(row(sharded, MemoryItem::expert_optimizer) * experts ==
          Approx(row(replicated, MemoryItem::expert_optimizer)));
  }
}

TEST_CASE("1F1B holds p - i micro-batches on stage i, clipped by what there is",
          "[models][memory]") {
  // Megatron-LM 2 (SC21), arXiv 2104.04473 section 2.2.1.
  const ScheduleShape shape{ScheduleKind::one_f_one_b, 4, 1, 3, 4};
  CHECK(live_passes(shape, 0, 0).whole == 3);
  CHECK(live_passes(shape, 1, 0).whole == 3);
  CHECK(live_passes(shape, 2, 0).whole == 2);
  CHECK(live_passes(shape, 3, 0).whole == 1);
}

TEST_CASE("interleaving: the first stage holds 1 + (p-1)/(p v) of a 1F1B stage's activations",
          "[models][memory]") {
  // Korthikanti et al., arXiv 2205.05198 section 4.2.3.
  const int stages = GENERATE(2, 4, 8);
  const int chunks = GENERATE(2, 3);
  const ScheduleShape shape{ScheduleKind::interleaved, stages, chunks, 64, stages};
  int passes = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) passes += live_passes(shape, 0, chunk).whole;
  const double relative = static_cast<double>(passes) / (chunks * stages);
  CHECK(relative == Approx(1.0 + static_cast<double>(stages - 1) / (stages * chunks)));
}

TEST_CASE("ZB-2p holds about twice the micro-batches of 1F1B, alike on every stage",
          "[models][memory]") {
  // Qi et al., arXiv 2401.10241 section 3.
  const ScheduleShape shape{ScheduleKind::zb_2p, 8, 1, 64, 8};
  for (int stage = 0; stage < 8; ++stage) CHECK(live_passes(shape, stage, 0).held() == 15);
}

}  // namespace foretrain
