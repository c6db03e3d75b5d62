// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/grid/process_grid.hpp"
#include "models/layers/parameters.hpp"
#include "models/memory/memory.hpp"
#include "tests/models/memory/memory_jobs.hpp"

namespace foretrain {
namespace {

using testing::account;
using testing::row;

double parameters(const Job& job, int stage = 0) {
  return rank_parameters(job, stage_layout(job.model, job.parallel), stage).total();
}

}  // namespace

TEST_CASE("what leaves the device arrives in host memory, whatever the share",
          "[models][memory][property]") {
  Job job = testing::llama3_70b_cut();
  const StageAccount all = account(job);
  job.memory.offload = OffloadKind::optimizer;
  double previous = all.allocated;
  for (const double share : {0.0, 0.25, 0.5, 1.0}) {
    job.memory.offload_share = share;
    const StageAccount stage = account(job);
    CAPTURE(share);
    CHECK(stage.resident + stage.host == Approx(all.resident));
    CHECK(stage.host ==
          Approx(share * row(all, MemoryPhase::optimizer, MemoryItem::dense_optimizer)));
    CHECK(stage.allocated <= previous);
    previous = stage.allocated;
  }
}

TEST_CASE("an offloaded optimizer gets gradients and returns weights once per step",
          "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  CHECK(account(job).to_host == 0.0);
  job.memory.offload = OffloadKind::optimizer;
  // 4 data-parallel ranks share the states: fp32 gradients down, 16-bit weights up.
  CHECK(account(job).to_host == Approx(4.0 * parameters(job) / 4.0));
  CHECK(account(job).to_device == Approx(2.0 * parameters(job) / 4.0));
  job.memory.offload_share = 0.5;
  CHECK(account(job).to_host == Approx(2.0 * parameters(job) / 4.0));
}

TEST_CASE("weights that rest in host memory come up for every pass", "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.parallel.zero = 3;
  job.memory.offload = OffloadKind::optimizer_and_parameters;
  const StageAccount stage = account(job);
  CHECK(row(stage, MemoryPhase::between_steps, MemoryItem::dense_weights) == 0.0);
  CHECK(stage.to_device == Approx(2.0 * job.microbatches() * 2.0 * parameters(job) / 4.0));
}

// FSDP2's CPUOffloadPolicy and DeepSpeed's ZeRO-3 copy a shard of gradients to the host as soon as
// it is summed up; Megatron-Core's optimizer offload keeps its buffer in the GPU.
TEST_CASE("shards of gradients go to the host with the weights", "[models][memory]") {
  const auto gradients = [](int zero, OffloadKind offload) {
    Job job = testing::llama3_70b_cut();
    job.parallel.pipeline = 1;
    job.parallel.zero = zero;
    job.memory.offload = offload;
    const StageAccount stage = account(job);
    return row(stage, MemoryPhase::backward_layer, MemoryItem::dense_gradients) +
           row(stage, MemoryPhase::optimizer, MemoryItem::main_gradients);
  };
  CHECK(gradients(3, OffloadKind::none) > 0.0);
  CHECK(gradients(3, OffloadKind::optimizer_and_parameters) == 0.0);
  CHECK(gradients(3, OffloadKind::optimizer) == gradients(3, OffloadKind::none));
  CHECK(gradients(1, OffloadKind::optimizer) == gradients(1, OffloadKind::none));
  Job job = testing::llama3_70b_cut();
  job.parallel.pipeline = 1;
  job.parallel.zero = 3;
  job.memory.offload = OffloadKind::optimizer_and_parameters;
  const StageAccount stage = account(job);
  // Weights, master weights and moments, and gradients of every parameter's one owner.
  const StageAccount whole = [&] {
    job.memory.offload = OffloadKind::none;
    return account(job);
  }();
  double states = 0.0;
  for (const MemoryItem item :
       {MemoryItem::dense_weights, MemoryItem::embedding_weights, MemoryItem::output_weights,
        MemoryItem::dense_gradients, MemoryItem::dense_optimizer})
    states += row(whole, MemoryPhase::backward_layer, item);
  CHECK(stage.host == Approx(states));
}

TEST_CASE("paged states fill what the GPU has left, and the rest pages", "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.training.optimizer = OptimizerKind::adam8bit;
  const StageAccount held = account(job);
  job.memory.offload = OffloadKind::paged;
  const double states =
      row(held, MemoryPhase::optimizer, MemoryItem::dense_optimizer) -
      row(account(job), MemoryPhase::optimizer, MemoryItem::dense_optimizer);  // the moments
  CHECK(states > 0.0);
  const auto with_room = [&](double bytes) {
    job.cluster.host.device.usable_memory = Bytes{bytes};
    const MemoryNeed need = memory_need(job, stage_layout(job.model, job.parallel));
    double most = 0.0;
    double high = 0.0;
    for (int stage = 0; stage < job.parallel.pipeline; ++stage) {
      most = std::max(most, account(job, stage).device);
      high = std::max(high, account(job, stage).high);
    }
    CHECK(need.peak.value() == Approx(most));  // what searches ask for is what reports say
    CHECK(need.high.value() == Approx(high));
    return account(job);
  };
  const StageAccount wide = with_room(1e12);
  CHECK(wide.host == 0.0);
  CHECK(wide.to_host == 0.0);
  const double least = wide.device - states;
  const double room = least + 0.25 * states;
  const StageAccount tight = with_room(room);
  CHECK(tight.device == Approx(room));
  CHECK(tight.host == Approx(0.75 * states));
  CHECK(tight.to_host == Approx(0.75 * states));
  CHECK(tight.to_device == Approx(0.75 * states));
  // Without room for a page all of them are in the host, and what else is held does not fit.
  const StageAccount none = with_room(0.5 * least);
  CHECK(none.host == Approx(states));
  CHECK(none.device > 0.5 * least);
}

// DeepSpeed keeps 16-bit weights in the GPU, and masters, moments and partitions of gradients in
// host memory. A 3B model, fully fine-tuned by LLaMA-Factory with ZeRO-2 and the optimizer on the
// host, ran in 24 GB (llmq, benchmarks/4090x1.md); a forecast that kept its gradients needed 39
// GiB.
TEST_CASE("an optimizer that DeepSpeed offloads takes masters and gradients along",
          "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.parallel.pipeline = 1;
  job.parallel.data = 16;
  job.parallel.zero = 3;
  job.stack.memory.weight_bytes = 4.0;  // shards of FSDP
  job.stack.memory.compute_weight_bytes = 2.0;
  job.stack.memory.optimizer_bytes = 8.0;
  job.memory.offload = OffloadKind::optimizer;
  const StageAccount kept = account(job);
  job.stack.memory.offloads_gradients = true;
  const StageAccount moved = account(job);
  const auto phase = MemoryPhase::backward_layer;
  CHECK(row(kept, phase, MemoryItem::dense_gradients) > 0.0);
  CHECK(row(moved, phase, MemoryItem::dense_gradients) == 0.0);
  CHECK(row(moved, phase, MemoryItem::dense_weights) ==
        Approx(0.5 * row(kept, phase, MemoryItem::dense_weights)));
  // Of a parameter: 8 bytes of moments; with 4 of its master and 4 of its gradient.
  CHECK(moved.host / kept.host == Approx(16.0 / 8.0));
  // Half an optimizer stays with its masters (DeepSpeed's twin-flow is not this).
  job.memory.offload_share = 0.5;
  CHECK(row(account(job), phase, MemoryItem::dense_gradients) > 0.0);
}

TEST_CASE("layers whose saved tensors are offloaded keep a window of two layers",
          "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.parallel.pipeline = 1;
  job.parallel.data = 8;
  const StageAccount all = account(job);
  const double layer = activation_model(job).of({}).kept.total();
  job.memory.offloaded_layers = 5;
  const StageAccount stage = account(job);
  const auto phase = MemoryPhase::backward_layer;
  CHECK(row(stage, phase, MemoryItem::mlp) ==
        Approx(row(all, phase, MemoryItem::mlp) * 7.0 / 12.0));
  CHECK(row(stage, phase, MemoryItem::offload_window) == Approx(2.0 * layer));
  CHECK(stage.host == Approx(5.0 * layer));
  CHECK(stage.to_host == Approx(5.0 * layer * job.microbatches()));
  CHECK(stage.to_device == stage.to_host);
}

TEST_CASE("offloaded inputs of layers that are made again leave a window of two",
          "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.parallel.pipeline = 1;
  job.parallel.data = 8;
  job.memory.recompute.kind = RecomputeKind::full;
  const StageAccount none = account(job);
  const double input = activation_model(job).layer_input;
  const auto phase = MemoryPhase::backward_layer;
  job.memory.offloaded_layers = job.model.layers;
  const StageAccount all = account(job);
  CHECK(row(all, phase, MemoryItem::layer_inputs) == 0.0);
  CHECK(row(all, phase, MemoryItem::offload_window) == Approx(2.0 * input));
  CHECK(all.host == Approx(12.0 * input));
  CHECK(all.to_host == Approx(12.0 * input * job.microbatches()));
  CHECK(all.allocated < none.allocated);
  job.memory.offloaded_layers = 5;
  CHECK(row(account(job), phase, MemoryItem::layer_inputs) == Approx(7.0 * input));
  // Of groups of three layers the first two begin inside of five.
  job.memory.recompute.layers = 3;
  CHECK(row(account(job), phase, MemoryItem::layer_inputs) == Approx(2.0 * input));
  CHECK(account(job).host == Approx(2.0 * input));
  // Blocks: three layers made again, two more kept whole, all five away.
  job.memory.recompute.method = RecomputeMethod::block;
  const double layer = activation_model(job).of({}).kept.total();
  CHECK(account(job).host == Approx(3.0 * input + 2.0 * layer));
}

TEST_CASE("more offloaded layers never take more memory", "[models][memory][property]") {
  Job job = testing::llama3_70b_cut();
  job.parallel.pipeline = 1;
  job.parallel.data = 8;
  job.memory.recompute.kind = GENERATE(RecomputeKind::none, RecomputeKind::full);
  job.memory.recompute.method = GENERATE(RecomputeMethod::uniform, RecomputeMethod::block);
  job.memory.recompute.layers = GENERATE(1, 4);
  double previous = 1e300;
  for (const int layers : {4, 6, 8, 12}) {
    job.memory.offloaded_layers = layers;
    CAPTURE(layers);
    CHECK(account(job).allocated <= previous * (1.0 + 1e-12));
    previous = account(job).allocated;
  }
}

TEST_CASE("deferred gradients of the output layer wait on the last stage only",
          "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  const double tokens = 4096.0;
  const double one = 2.0 * tokens * 128256.0 + 2.0 * tokens * 8192.0;
  job.memory.deferred_outputs = 3;
  const auto waiting = [&](int stage, MemoryPhase phase) {
    return row(account(job, stage), phase, MemoryItem::postponed_gradients);
  };
  CHECK(waiting(0, MemoryPhase::backward_layer) == 0.0);
  CHECK(waiting(1, MemoryPhase::backward_layer) == Approx(3.0 * one));
  CHECK(waiting(1, MemoryPhase::forward_loss) == Approx(2.0 * one));
  job.memory.deferred_outputs = 1000;  // never more than there are
  CHECK(waiting(1, MemoryPhase::backward_layer) == Approx(job.microbatches() * one));
}

TEST_CASE("decoupled gradients need no fp32 copy in the step", "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.communication.gradient_dtype = Precision::bf16;
  CHECK(row(account(job), MemoryPhase::optimizer, MemoryItem::main_gradients) > 0.0);
  job.training.decoupled_gradients = true;
  CHECK(row(account(job), MemoryPhase::optimizer, MemoryItem::main_gradients) == 0.0);
}

TEST_CASE("inputs of the activation function in 8 bits take half", "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  const double wide = activation_model(job).of({}).kept.mlp_input;
  job.memory.fp8_activation_inputs = true;
  CHECK(activation_model(job).of({}).kept.mlp_input == Approx(wide / 2.0));
}

TEST_CASE("a capacity bounds what the busiest expert rank keeps, and never adds",
          "[models][memory][property]") {
  Job job = testing::llama3_70b_cut();
  job.model.moe = MoeShape{};
  job.model.moe->experts = 16;
  job.model.moe->top_k = 4;
  job.model.moe->expert_ffn_hidden = 1024;
  job.parallel.expert = 4;
  const double free = activation_model(job).of({LayerKind::moe}).kept.expert_tokens;
  double previous = 0.0;
  for (const double capacity : {0.5, 1.0, 1.05, 4.0}) {
    job.training.moe_capacity = capacity;
    const double kept = activation_model(job).of({LayerKind::moe}).kept.expert_tokens;
    CAPTURE(capacity);
    CHECK(kept >= previous);
    CHECK(kept <= free);
    previous = kept;
  }
  CHECK(previous == free);
}

TEST_CASE("freed score tensors stay in the cache with unfused attention only", "[models][memory]") {
  Job job = testing::megatron_ci_job();
  const double before = account(job).outside[MemoryItem::fragmentation];
  job.stack.memory.score_cache_bytes = 20.0;
  // 4 sequences x 8 heads x 1024 x 1024 scores
  CHECK(account(job).outside[MemoryItem::fragmentation] - before ==
        Approx(20.0 * 4.0 * 8.0 * 1024.0 * 1024.0));
  job.memory.attention = AttentionKind::flash;
  const StageAccount flash = account(job);
  CHECK(flash.outside[MemoryItem::fragmentation] == Approx(0.04 * flash.allocated));
}

TEST_CASE("every rank has its own place, and stages are equally large",
          "[models][memory][property]") {
  Parallel plan;
  plan.tensor = GENERATE(1, 2, 4);
  plan.context = GENERATE(1, 2);
  plan.pipeline = GENERATE(1, 3);
  plan.data = 4;
  plan.expert = GENERATE(1, 4);
  plan.expert_tensor = 1;
  std::vector<int> per_stage(static_cast<std::size_t>(plan.pipeline), 0);
  const ProcessGrid grid{plan};
  for (int rank = 0; rank < plan.gpus(); ++rank) {
    const RankPlace place = grid.place(rank);
    CAPTURE(rank);
    CHECK(((place.stage * plan.data + place.data) * plan.context + place.context) * plan.tensor +
              place.tensor ==
          rank);
    CHECK(place.expert < plan.expert);
    ++per_stage[static_cast<std::size_t>(place.stage)];
  }
  for (const int ranks : per_stage) CHECK(ranks == plan.gpus() / plan.pipeline);
}

}  // namespace foretrain
