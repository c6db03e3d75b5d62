// SPDX-License-Identifier: Apache-2.0
// Memory of CUDA graphs: what a graph writes lies in a pool of its own, which no other tensor may
// use. models/memory/README.md, "CUDA graphs".
#include <algorithm>

#include "models/memory/internal/memory_context.hpp"

namespace foretrain::memory_detail {
namespace {

using Item = MemoryItem;

constexpr double fixed_tensors = 4.0;  // input, output, and the gradient of each

struct GraphedPasses {
  double saved = 0.0;   ///< bytes of their saved tensors
  double layers = 0.0;  ///< captured layers in them, each pass counted
};

GraphedPasses graphed_passes(const StageContext& context, const JobLivePasses& live) {
  const ActivationModel& model = context.activations;
  const ScheduleShape shape = schedule_shape(context.job);
  GraphedPasses passes;
  for (int index = 0; index < shape.chunks; ++index) {
    const ChunkLayers& chunk = held_chunk(context, context.layout, shape, index).layers;
    const double alive = live.at(context.stage, index).held();
    for (std::size_t form = 0; form < layer_forms; ++form) {
      const double graphed = model.forms[form].graphed;
      passes.saved += alive * (chunk.forms[form] * graphed);
      passes.layers += alive * (graphed > 0.0 ? chunk.forms[form] : 0);
    }
  }
  return passes;
}

/// All that passes need beyond what is there without them, where one graph holds them all.
double all_passes(const StageAccount& account) {
  const MemoryBytes& states = account.at(MemoryPhase::optimizer);
  const double without = states.total() - states[Item::main_gradients];
  double most = 0.0;
  for (const MemoryPhase phase :
       {MemoryPhase::forward_loss, MemoryPhase::backward_layer, MemoryPhase::backward_output})
    most = std::max(most, account.at(phase).total() - without);
  return most;
}

}  // namespace

void capture_graphs(const StageContext& context, const JobLivePasses& live, StageAccount& account) {
  const CudaGraphs& graphs = context.job.training.cuda_graphs;
  if (!graphs.any()) return;
  double& pool = account.phase[static_cast<std::size_t>(MemoryPhase::optimizer)][Item::graph_pools];
  if (graphs.has(GraphPart::full_iteration)) {
    pool = all_passes(account);
    return;
  }
  const GraphedPasses passes = graphed_passes(context, live);
  pool = passes.saved;
  account.captured = passes.saved;
  for (MemoryBytes& phase : account.phase)
    phase[Item::graph_buffers] = fixed_tensors * passes.layers * context.activations.layer_input;
}

}  // namespace foretrain::memory_detail
