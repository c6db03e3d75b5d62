// SPDX-License-Identifier: Apache-2.0
// What is kept more than once, or not counted: instances of an optimizer, experts' results, pools
// of CUDA graphs.
#include <catch2/catch.hpp>

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
