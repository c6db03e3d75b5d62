// SPDX-License-Identifier: Apache-2.0
#include "models/memory/memory.hpp"

#include <catch2/catch.hpp>

#include "models/layers/parameters.hpp"
#include "tests/models/memory/memory_jobs.hpp"

namespace foretrain {
namespace {

StageAccount account_of(const Job& job, int stage) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  return account_stage(job, layout, activation_model(job), stage);
}

double gib(double bytes_count) { return bytes_count / GiB.value(); }

}  // namespace

TEST_CASE("Megatron-Core CI, TP1 with distributed optimizer: resident bytes of an A100 to 4 KiB",
          "[models][memory]") {
  // Megatron-LM d98e8a64dd, gpt3_mcore_te_tp1_pp1_dist_optimizer_no_mmap_bin_files, A100:
  // allocated 552,128,512 bytes between steps.
  Job job = testing::megatron_ci_job();
  job.parallel.zero = 1;
  const RankParameters parameters = rank_parameters(job, stage_layout(job.model, job.parallel), 0);
  CHECK(parameters.total() == 64109568.0);
  const StageAccount stage = account_of(job, 0);
  const MemoryBytes& rows = stage.at(MemoryPhase::between_steps);
  CHECK(rows[MemoryItem::dense_weights] + rows[MemoryItem::embedding_weights] +
            rows[MemoryItem::output_weights] ==
        128219136.0);
  CHECK(rows[MemoryItem::dense_gradients] == 256438272.0);
  CHECK(rows[MemoryItem::dense_optimizer] == 96164352.0);
  CHECK(rows[MemoryItem::cublas_workspaces] + rows[MemoryItem::te_workspaces] == 71303168.0);
  CHECK(stage.resident == 552124928.0);
}

TEST_CASE("Megatron-Core CI, TP1: peak of an A100 with unfused attention", "[models][memory]") {
  // Same case: 3930.04 MiB above resident; the loss row alone is 1179 MiB.
  Job job = testing::megatron_ci_job();
  job.parallel.zero = 1;
  const StageAccount stage = account_of(job, 0);
  CHECK(stage.peak_phase == MemoryPhase::forward_loss);
  CHECK(stage.at(MemoryPhase::forward_loss)[MemoryItem::loss] / MiB.value() == 1179.0);
  CHECK((stage.allocated - stage.resident) / MiB.value() == Approx(3930.04).epsilon(0.0005));
}

TEST_CASE("flash attention on an A100 keeps its output and the log-sum-exp instead of scores",
          "[models][memory]") {
  // Notes on the CI cases: 160 MiB of scores become 4.125 MiB per layer.
  Job job = testing::megatron_ci_job();
  CHECK(activation_model(job).of({}).kept.scores / MiB.value() == 160.0);
  job.memory.attention = AttentionKind::flash;
  CHECK(activation_model(job).of({}).kept.scores / MiB.value() == 4.125);
  job.cluster.host.device.architecture = Architecture::hopper;
  CHECK(activation_model(job).of({}).kept.scores / MiB.value() == 0.125);
}

TEST_CASE("Megatron fp16 without Transformer Engine keeps 20 bytes per parameter after the step",
          "[models][memory]") {
  // Megatron-LM d98e8a64dd, gpt3_mcore_tp4_pp1_resume_torch, A100: 397.2 MiB between steps.
  Job job = testing::megatron_ci_job();
  job.stack.memory = testing::megatron_local_rules();
  job.training.precision = Precision::fp16;
  job.parallel.tensor = 4;
  job.parallel.data = 2;
  const StageAccount stage = account_of(job, 0);
  const double parameters = rank_parameters(job, stage_layout(job.model, job.parallel), 0).total();
  CHECK(parameters == 16498176.0);
  const MemoryBytes& rows = stage.at(MemoryPhase::between_steps);
  CHECK(rows[MemoryItem::main_gradients] == 4.0 * parameters);
  CHECK(stage.resident / MiB.value() == Approx(397.2).epsilon(0.01));
  CHECK(stage.at(MemoryPhase::forward_loss)[MemoryItem::main_gradients] == 0.0);
}

TEST_CASE("Llama-3 70B layer cut on two stages: per-stage peak within 0.5 % of the measurement",
          "[models][memory]") {
  // SimuMax docs, B200, llama3_70b_l12_tp1_pp2_dp4: 66.55 and 62.97 GiB allocated.
  const Job job = testing::llama3_70b_cut();
  const StageAccount first = account_of(job, 0);
  CHECK(gib(first.at(MemoryPhase::backward_layer)[MemoryItem::dummy_gradients]) ==
        Approx(1.59).epsilon(0.005));
  CHECK(gib(first.allocated) == Approx(66.55).epsilon(0.005));
  CHECK(gib(account_of(job, 1).allocated) == Approx(62.97).epsilon(0.005));
}

TEST_CASE("ZeRO paper: 7.5B parameters on 64 ranks need 120, 31.4, 16.6 and 1.9 GB",
          "[models][memory]") {
  // Rajbhandari et al., arXiv 1910.02054, figure 1: fp16 weights and gradients, K = 12.
  Job job;
  job.model.layers = 1;
  job.model.hidden = 25000;  // 12 h^2 = 7.5e9
  job.model.heads = job.model.kv_heads = 1;
  job.model.head_dim = 25000;
  job.model.ffn_hidden = 100000;
  job.model.vocabulary = 1;
  job.model.tied_embeddings = true;
  job.training.vocabulary_multiple = 1;
  job.training.precision = Precision::fp16;
  job.training.sequence = 1;
  job.training.global_batch = 64;
  job.parallel.data = 64;
  job.stack.memory.step_gradient_bytes_fp16 = 0.0;
  const auto states = [&](int zero) {
    job.parallel.zero = zero;
    const StageLayout layout = stage_layout(job.model, job.parallel);
    const StageAccount stage = account_stage(job, layout, activation_model(job), 0);
    double sum = 0.0;
    for (std::size_t i = 0; i < memory_items; ++i) {
      const auto item = static_cast<MemoryItem>(i);
      if (memory_item_info(item).category <= MemoryCategory::optimizer)
        sum += stage.at(MemoryPhase::between_steps)[item];
    }
    return sum / 1e9;
  };
  CHECK(states(0) == Approx(120.0).epsilon(0.002));
  CHECK(states(1) == Approx(31.4).epsilon(0.002));
  CHECK(states(2) == Approx(16.6).epsilon(0.005));
  CHECK(states(3) == Approx(1.9).epsilon(0.015));
}

TEST_CASE("every byte stands in a named row, and rows add up to categories and peak",
          "[models][memory][property]") {
  const Job job = testing::llama3_70b_cut();
  const MemoryForecast forecast = forecast_memory(job, stage_layout(job.model, job.parallel));
  REQUIRE(forecast.stages.size() == 2);
  for (const StageMemory& stage : forecast.stages) {
    Bytes rows;
    for (const MemoryRow& row : stage.rows) rows += row.size;
    const Bytes categories = stage.weights + stage.gradients + stage.optimizer + stage.activations +
                             stage.buffers + stage.communication + stage.context +
                             stage.fragmentation;
    CHECK(rows.value() == Approx(stage.peak.value()).epsilon(1e-12));
    CHECK(categories.value() == Approx(stage.peak.value()).epsilon(1e-12));
    CHECK(stage.resident <= stage.allocated);
    CHECK(stage.allocated <= stage.reserved);
    CHECK(stage.reserved <= stage.peak);
  }
  CHECK(forecast.peak == forecast.stages[0].peak);
  CHECK(peak_memory(job, stage_layout(job.model, job.parallel)).value() ==
        Approx(forecast.peak.value()).epsilon(1e-12));
}

}  // namespace foretrain
