// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/layers/parameters.hpp"
#include "models/memory/memory.hpp"
#include "tests/models/memory/memory_jobs.hpp"

namespace foretrain {
using testing::account;
using testing::row;

TEST_CASE("uniform recomputation keeps one input per group and makes one group again",
          "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.memory.recompute.kind = RecomputeKind::full;
  job.memory.recompute.layers = 3;
  const ActivationModel model = activation_model(job);
  const StageAccount stage = account(job);
  // Stage 0 of 2 holds 6 layers of 2 live micro-batches: 2 groups of 3.
  const auto phase = MemoryPhase::backward_layer;
  CHECK(row(stage, phase, MemoryItem::layer_inputs) == 2.0 * 2.0 * model.layer_input);
  CHECK(row(stage, phase, MemoryItem::recomputed_layer) == 3.0 * model.of({}).whole.total());
  CHECK(row(stage, phase, MemoryItem::mlp) == 0.0);
}

TEST_CASE("block recomputation keeps the layers after the block whole", "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.memory.recompute.kind = RecomputeKind::full;
  job.memory.recompute.method = RecomputeMethod::block;
  job.memory.recompute.layers = 2;
  const ActivationModel model = activation_model(job);
  const StageAccount stage = account(job);
  const auto phase = MemoryPhase::backward_layer;
  CHECK(row(stage, phase, MemoryItem::layer_inputs) == 2.0 * 2.0 * model.layer_input);
  CHECK(row(stage, phase, MemoryItem::mlp) ==
        2.0 * 4.0 * (model.of({}).kept.mlp_input + model.of({}).kept.mlp_output));
  CHECK(row(stage, phase, MemoryItem::recomputed_layer) == 0.0);
}

TEST_CASE("saved inputs are split over tensor ranks only where sequence parallelism has not",
          "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.parallel.tensor = 4;
  job.memory.recompute.kind = RecomputeKind::full;
  const double whole = activation_model(job).layer_input;
  job.memory.recompute.distribute_saved = true;
  CHECK(activation_model(job).layer_input == whole / 4.0);
  job.parallel.sequence = true;
  CHECK(activation_model(job).layer_input == whole / 4.0);
}

TEST_CASE("selective recomputation of modules drops their tensors", "[models][memory]") {
  Job job = testing::megatron_ci_job();
  const LayerActivations whole = activation_model(job).of({}).kept;
  job.memory.recompute.kind = RecomputeKind::selective;
  const LayerActivations core = activation_model(job).of({}).kept;
  CHECK(core.scores == 0.0);
  CHECK(core.total() == whole.total() - whole.scores);
  job.memory.recompute.modules = LayerModules{.attention_norm = true, .mlp_norm = true};
  const LayerActivations norms = activation_model(job).of({}).kept;
  CHECK(norms.scores == whole.scores);
  CHECK(whole.total() - norms.total() == whole.attention_norm_output + whole.mlp_norm_output);
}

// Keys and values of all ranks: in Qwen3-0.6B 4.3 GB per million tokens of the sequence, whatever
// the ranks (huggingface/accelerate pull 4175: 20.8 GB at a million with inputs on the host, where
// a forecast without them had 12.2).
TEST_CASE("context ranks that gather hold the keys and values of the whole sequence",
          "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.parallel.pipeline = 1;
  job.parallel.context = 4;
  job.parallel.data = 2;
  const auto transient = [&](ContextExchange exchange) {
    job.communication.context_exchange = exchange;
    return activation_model(job).of({}).transient;
  };
  const double whole = 2.0 * 4096.0 * 2.0 * 8.0 * 128.0;  // bytes x tokens x keys and values
  const double ring = transient(ContextExchange::ring);
  // Transformer Engine sums gradients of as many.
  CHECK(transient(ContextExchange::all_gather) - ring == Approx(2.0 * whole));
  job.stack.eager_torch = true;
  CHECK(transient(ContextExchange::all_gather) - ring == Approx(whole));
  CHECK(transient(ContextExchange::all_to_all) == Approx(ring));
  job.parallel.context = 1;
  CHECK(transient(ContextExchange::all_gather) == transient(ContextExchange::ring));
}

TEST_CASE("a GPT layer keeps what Korthikanti's formula says, plus the norms' statistics",
          "[models][memory]") {
  // arXiv 2205.05198 table 2, tensor and sequence parallel: s b h (34/t + 5 a s / (h t)).
  Job job = testing::megatron_ci_job();
  job.parallel.tensor = 4;
  job.parallel.data = 2;
  job.parallel.sequence = true;
  const double sbh = 1024.0 * 4.0 * 512.0;
  const double formula = sbh * (34.0 / 4.0 + 5.0 * 8.0 * 1024.0 / (512.0 * 4.0));
  const double statistics = 16.0 * 4096.0 / 4.0;
  CHECK(activation_model(job).of({}).kept.total() == formula + statistics);
}

TEST_CASE("the loss row depends on the kernel", "[models][memory]") {
  Job job = testing::megatron_ci_job();
  const double logits = 4096.0 * 50304.0;
  CHECK(activation_model(job).output.loss == 6.0 * logits);
  job.memory.fused_loss = true;
  CHECK(activation_model(job).output.loss == 10.0 * logits);
  job.memory.fused_loss_engine = true;
  CHECK(activation_model(job).output.loss == 2.0 * logits);
}

TEST_CASE("offloaded optimizer states move to the host and nowhere else", "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  const StageAccount before = account(job);
  job.memory.offload = OffloadKind::optimizer;
  const StageAccount after = account(job);
  CHECK(after.host == before.resident - after.resident);
  CHECK(after.host == row(before, MemoryPhase::optimizer, MemoryItem::dense_optimizer));
}

TEST_CASE("16-bit gradient reduction halves the buffer and adds fp32 main gradients at the step",
          "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  const StageAccount wide = account(job);
  job.communication.gradient_dtype = Precision::bf16;
  const StageAccount narrow = account(job);
  const auto phase = MemoryPhase::optimizer;
  CHECK(row(narrow, phase, MemoryItem::dense_gradients) ==
        row(wide, phase, MemoryItem::dense_gradients) / 2.0);
  // Sharded like the optimizer: 4 bytes over 4 data-parallel ranks.
  CHECK(row(narrow, phase, MemoryItem::main_gradients) ==
        row(wide, phase, MemoryItem::dense_gradients) / 4.0);
}

TEST_CASE("narrow optimizer states", "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  const auto states = [&] {
    return row(account(job), MemoryPhase::optimizer, MemoryItem::dense_optimizer);
  };
  const double adam = states();
  job.training.first_moment_bytes = job.training.second_moment_bytes = 2.0;
  CHECK(states() == Approx(adam * 8.0 / 12.0));
  job = testing::llama3_70b_cut();
  job.training.optimizer = OptimizerKind::sgd;
  CHECK(states() == Approx(adam * 8.0 / 12.0));
  job.training.optimizer = OptimizerKind::adam8bit;
  CHECK(states() == Approx(adam * (4.0 + 2.0 + 8.0 / 256.0) / 12.0));
}

TEST_CASE("without master weights all states have 16 bits: 8 bytes a parameter with gradients",
          "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.parallel.zero = 0;
  job.training.master_weights = MasterWeights::none;
  const StageAccount pure = account(job);
  const auto phase = MemoryPhase::optimizer;
  const double weights = row(pure, phase, MemoryItem::dense_weights);
  CHECK(row(pure, phase, MemoryItem::dense_gradients) ==
        Approx(weights + row(pure, phase, MemoryItem::embedding_weights) +
               row(pure, phase, MemoryItem::output_weights)));
  CHECK(row(pure, phase, MemoryItem::dense_optimizer) ==
        Approx(2.0 * row(pure, phase, MemoryItem::dense_gradients)));
  CHECK(row(pure, phase, MemoryItem::main_gradients) == 0.0);
  // Full precision has no 16-bit weights to train.
  job.training.precision = Precision::fp32;
  const double wide = row(account(job), phase, MemoryItem::dense_optimizer);
  job.training.master_weights = MasterWeights::fp32;
  CHECK(row(account(job), phase, MemoryItem::dense_optimizer) == wide);
}

TEST_CASE("stage s of Zero Bubble H1 adds the operands of s micro-batches' weight gradients",
          "[models][memory]") {
  // arXiv 2401.10241 table 1: M_W = 32 s b h per layer of a GPT.
  Job job = testing::megatron_ci_job();
  job.parallel.pipeline = 4;
  job.parallel.data = 2;
  job.parallel.schedule = ScheduleKind::zb_h1;
  for (const int stage : {0, 1, 2})
    CHECK(row(account(job, stage), MemoryPhase::backward_layer, MemoryItem::postponed_gradients) ==
          Approx(stage * 3.0 * 32.0 * 4.0 * 1024.0 * 512.0));
}

TEST_CASE("a prediction module keeps its softmax and a copy of the embedding on the last stage",
          "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const double plain = rank_parameters(job, layout, 1).embedding;
  job.model.mtp_layers = 1;
  CHECK(plain == 0.0);
  CHECK(rank_parameters(job, layout, 1).embedding == 128256.0 * 8192.0);
  const double module = row(account(job, 1), MemoryPhase::forward_loss, MemoryItem::mtp_layers);
  CHECK(module > 4.0 * 4096.0 * 128256.0);
}

TEST_CASE("the allocator's cache shrinks on a full card, and never below what cannot be given back",
          "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.stack.memory.reserved_over_allocated = 1.2;
  job.stack.memory.least_reserved = 1.05;
  const StageAccount roomy = account(job);
  CHECK(roomy.outside[MemoryItem::fragmentation] == Approx(0.2 * roomy.allocated));
  job.cluster.host.device.usable_memory = Bytes{1.1 * roomy.allocated};
  CHECK(account(job).outside[MemoryItem::fragmentation] == Approx(0.1 * roomy.allocated));
  job.cluster.host.device.usable_memory = Bytes{0.9 * roomy.allocated};
  CHECK(account(job).outside[MemoryItem::fragmentation] == Approx(0.05 * roomy.allocated));
}

TEST_CASE("sharded weights are cast where they are gathered, two layers at a time",
          "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.training.precision = Precision::fp8;
  job.stack.memory.fp8_copy_bytes = 2.0;
  job.parallel.zero = 1;
  const auto copies = [&] {
    return row(account(job), MemoryPhase::between_steps, MemoryItem::fp8_weight_copies);
  };
  const double whole = copies();
  const int layers = account(job).layers;
  REQUIRE(layers > 2);
  job.parallel.zero = 3;
  CHECK(copies() == Approx(whole * 2.0 / layers));
}

}  // namespace foretrain
