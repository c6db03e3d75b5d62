// SPDX-License-Identifier: Apache-2.0
// What is kept more than once, or not counted: instances of an optimizer, experts' results, pools
// of CUDA graphs.
#include <catch2/catch.hpp>

#include "models/data/gradient_projection.hpp"
#include "models/grid/process_grid.hpp"
#include "tests/models/layers/moe_jobs.hpp"
#include "tests/models/memory/memory_jobs.hpp"

namespace foretrain {

using testing::account;
using testing::row;

TEST_CASE("as many instances of the optimizer hold an expert's states as any other's",
          "[models][memory]") {
  Job job = test::mixtral_job();
  job.cluster.hosts = 32;
  job.parallel.data = 16;  // 2 x 16 ranks of a stage; experts on 8, so on 4 copies of each
  job.parallel.zero = 1;
  const auto states = [&](MemoryItem item) {
    return row(account(job), MemoryPhase::optimizer, item);
  };
  const double dense = states(MemoryItem::dense_optimizer);
  const double experts = states(MemoryItem::expert_optimizer);
  job.parallel.zero_group = 8;  // two instances
  CHECK(states(MemoryItem::dense_optimizer) == Approx(2.0 * dense));
  CHECK(states(MemoryItem::expert_optimizer) == Approx(2.0 * experts));
  job.parallel.zero_group = 2;  // eight: more than an expert has copies
  CHECK(states(MemoryItem::dense_optimizer) == Approx(8.0 * dense));
  CHECK(states(MemoryItem::expert_optimizer) == Approx(4.0 * experts));
}

TEST_CASE("a set of shards lies over all context ranks of its replicas", "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.parallel.context = 2;
  job.parallel.data = 8;
  job.parallel.zero = 1;
  const auto states = [&](int group) {
    job.parallel.zero_group = group;
    return row(account(job), MemoryPhase::optimizer, MemoryItem::dense_optimizer);
  };
  CHECK(states(8) == Approx(states(0)));
  CHECK(states(4) == Approx(2.0 * states(0)));
  CHECK(states(1) == Approx(8.0 * states(0)));  // two context ranks, of sixteen
}

TEST_CASE("kernels that put routed rows back keep no results of the experts", "[models][memory]") {
  Job job = test::mixtral_job();
  const double kept = activation_model(job).of({LayerKind::moe}).kept.expert_combined;
  // 4096 tokens over 2 tensor ranks, two experts each, balanced, 6144 wide, 16 bits.
  CHECK(kept == Approx(2.0 * 2048 * 2 * 6144));
  job.memory.fused_permutation = true;
  CHECK(activation_model(job).of({LayerKind::moe}).kept.expert_combined == 0.0);
  job.memory.fused_permutation = false;
  job.communication.expert_dispatch = ExpertDispatch::fused;
  CHECK(activation_model(job).of({LayerKind::moe}).kept.expert_combined == 0.0);
}

TEST_CASE("weights updated in the backward pass have one gradient at a time", "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.parallel = {};
  job.stack.memory.gradients_resident = false;
  job.stack.memory.step_copies = 1.0;
  job.training.global_batch = 1;
  job.training.master_weights = MasterWeights::none;
  job.training.optimizer_in_backward = true;
  const auto at = [&](MemoryPhase phase, MemoryItem item) {
    return row(account(job), phase, item);
  };
  // Gate, up and down are 28672 x 8192 each; of a foreach step a moment of that is copied.
  const double matrix = 28672.0 * 8192.0;
  CHECK(at(MemoryPhase::backward_layer, MemoryItem::dense_gradients) == 2.0 * matrix);
  CHECK(at(MemoryPhase::optimizer, MemoryItem::step_copies) == 2.0 * matrix);
  CHECK(at(MemoryPhase::forward_loss, MemoryItem::dense_gradients) == 0.0);
  // The output projection is updated first, beside all that layers keep.
  CHECK(at(MemoryPhase::backward_output, MemoryItem::step_copies) == 2.0 * 128256.0 * 8192.0);
  job.model.tied_embeddings = true;  // its gradient waits for the embedding's
  CHECK(at(MemoryPhase::backward_layer, MemoryItem::dense_gradients) ==
        2.0 * (matrix + 128256.0 * 8192.0));
  job.model.tied_embeddings = false;
  const double narrow = account(job).allocated;
  CHECK(memory_need(job, stage_layout(job.model, job.parallel)).peak.value() ==
        Approx(account(job).device));
  job.training.optimizer_in_backward = false;
  CHECK(account(job).allocated > narrow);
}

TEST_CASE("of FSDP a unit's shard of gradients is there at a time", "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.parallel = {};
  job.parallel.data = 8;
  job.parallel.zero = 3;
  job.stack.memory.gradients_resident = false;
  job.training.optimizer = OptimizerKind::lomo;
  const double per = parameter_bytes(job).gradient;
  const double layer = activation_model(job).trained.of({}).dense;
  CHECK(row(account(job), MemoryPhase::backward_layer, MemoryItem::dense_gradients) ==
        Approx(per * layer / 8.0));
}

TEST_CASE("replicas of PyTorch have every gradient in a bucket as well, Horovod's one buffer",
          "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.parallel = {};
  job.parallel.data = 8;
  const auto buckets = [&] {
    return row(account(job), MemoryPhase::between_steps, MemoryItem::reduce_buffers);
  };
  CHECK(buckets() == 0.0);  // Megatron's gradients lie in buffers of their own
  job.stack.eager_torch = true;
  const double gradients = parameter_bytes(job).gradient *
                           rank_parameters(job, stage_layout(job.model, job.parallel), 0).total();
  CHECK(buckets() == Approx(gradients));
  job.parallel.framework = PlanFramework::horovod;
  job.communication.bucket = 64.0 * MiB;
  CHECK(buckets() == Approx(64.0 * 1024.0 * 1024.0));
  // A bucket of ZeRO is as large as the plan says.
  job.parallel.zero = 1;
  job.stack.memory.reduce_bucket = 1.0 * GB;
  const auto bucket = [&] {
    return row(account(job), MemoryPhase::backward_layer, MemoryItem::reduce_buffers);
  };
  CHECK(bucket() == Approx(64.0 * 1024.0 * 1024.0));
  job.communication.bucket = Communication{}.bucket;
  CHECK(bucket() == Approx(1e9));
}

TEST_CASE("GaLore keeps moments of low rank beside the master weights", "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  job.parallel = {};
  job.parallel.data = 8;
  const auto states = [&] {
    return row(account(job), MemoryPhase::optimizer, MemoryItem::dense_optimizer);
  };
  const double full = states();
  job.training.projection.kind = ProjectionKind::galore;
  FormCounts layers{};
  layers[form_index({})] = 12;
  CHECK(full - states() == Approx(projected_states(job, layers, false).saved(8.0, 4.0)));
}

TEST_CASE(
    "torch counts what captured parts of layers save once, the device keeps it beside the "
    "rest",
    "[models][memory]") {
  Job job = testing::llama3_70b_cut();
  CHECK(account(job).counted == account(job).allocated);
  job.training.cuda_graphs.add(GraphPart::attention);
  const StageAccount graphed = account(job);
  CHECK(graphed.captured > 0.0);
  CHECK(graphed.captured == row(graphed, MemoryPhase::optimizer, MemoryItem::graph_pools));
  CHECK(graphed.counted < graphed.allocated);
  CHECK(graphed.counted >= graphed.at(MemoryPhase::optimizer).total());
  CHECK(graphed.counted >= graphed.at(MemoryPhase::backward_layer).total() - graphed.captured);
  CHECK(graphed.device >= graphed.allocated);
}

}  // namespace foretrain
