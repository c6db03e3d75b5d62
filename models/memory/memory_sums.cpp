// SPDX-License-Identifier: Apache-2.0
// What a stage needs without its rows: sums of parts, each of which few axes of a plan decide.
// What torch.nn.DataParallel's GPUs hold: GPU 0 everything, the others a copy that comes and goes.
// models/memory/README.md, "One process for all GPUs".
// Memory of CUDA graphs: what a graph writes lies in a pool of its own, which no other tensor may
// use. models/memory/README.md, "CUDA graphs".

#include <algorithm>
#include <initializer_list>

#include "models/base/require.hpp"
#include "models/data/single_process.hpp"
#include "models/layers/layer_ends.hpp"
#include "models/memory/internal/memory_context.hpp"
#include "models/memory/memory.hpp"
#include "models/schedules/registry.hpp"

namespace foretrain::memory_detail {
namespace {

/// What `add` puts into rows.
template <class Add>
double sum_of(const Add& add) {
  MemorySum rows;
  add(rows);
  return rows.sum;
}

template <class Add>
double rows_of(const Add& add) {
  MemoryBytes rows;
  add(rows);
  return rows.total();
}

}  // namespace

bool StageContent::holds_like(const StageContent& other) const {
  return ends.embedding == other.ends.embedding && ends.output == other.ends.output &&
         ends.prediction == other.ends.prediction && layers == other.layers &&
         largest_chunk == other.largest_chunk && remakes_chunk == other.remakes_chunk;
}

StageContent stage_content(const Job& job, const StageLayout& layout, int stage) {
  FORETRAIN_REQUIRE(0 <= stage && stage < layout.stages());
  const bool both = holds_mirror(job.parallel);
  const int mirror = layout.stages() - 1 - stage;
  StageContent content{.stage = stage, .ends = stage_ends(job, stage)};
  content.layers = layout.forms(stage);
  if (both) add_forms(layout.forms(mirror), content.layers);
  const bool full = job.memory.recompute.kind == RecomputeKind::full;
  const int remade = full ? job.memory.recompute.layers : 0;
  for (const ChunkLayers& chunk : layout.chunks[static_cast<std::size_t>(stage)]) {
    content.largest_chunk = std::max(content.largest_chunk, chunk.layers);
    content.remakes_chunk =
        content.remakes_chunk || (full && chunk.layers > 0 && remade >= chunk.layers);
  }
  return content;
}

double loss_share(const StageContext& context) {
  const Parallel& plan = context.job.parallel;
  if (splits_vocabulary(plan)) return 1.0 / plan.pipeline;
  return context.ends.output ? 1.0 : 0.0;
}

StateBytes state_bytes(const StageContext& context) {
  StateBytes bytes;
  StageAccount moved;
  bytes.states = rows_of([&](MemoryBytes& rows) {
    add_weights(context, rows);
    add_optimizer(context, rows);
    offload_states(context, rows, moved);
    add_workspaces(context, rows);
  });
  bytes.paged = moved.paged;
  bytes.gradients = rows_of([&](MemoryBytes& rows) { add_gradients(context, rows); });
  bytes.main_gradients = main_gradients(context);
  bytes.step_copies = step_copies(context);
  bytes.output_step_copies = output_step_copies(context);
  bytes.reduce_bucket = reduce_bucket(context);
  bytes.unsharded_forward =
      rows_of([&](MemoryBytes& rows) { add_unsharded(context, false, rows); });
  bytes.unsharded_backward =
      rows_of([&](MemoryBytes& rows) { add_unsharded(context, true, rows); });
  return bytes;
}

bool sums_suffice(const Job& job) {
  return !job.training.cuda_graphs.any() && !job.parallel.single_process();
}

PhaseTotals phase_totals(const StageContext& context, const StateBytes& states,
                         const LiveTensors& live) {
  const int deferred = context.job.memory.deferred_outputs;
  const double held =
      states.states + sum_of([&](MemorySum& rows) { add_leftovers(context, rows); });
  const double with_gradients = held + states.gradients;
  const double alive = sum_of([&](MemorySum& rows) {
    add_live(context, live, rows);
    add_step_buffers(context, rows);
  });
  const auto outputs = [&](int microbatches) {
    return sum_of([&](MemorySum& rows) { add_deferred_outputs(context, microbatches, rows); });
  };
  const double layer = sum_of([&](MemorySum& rows) { add_backward_layer(context, live, rows); });
  PhaseTotals totals{};
  const auto of = [&](MemoryPhase phase) -> double& {
    return totals[static_cast<std::size_t>(phase)];
  };
  of(MemoryPhase::between_steps) =
      context.rules.gradients_resident ? with_gradients + states.main_gradients : held;
  of(MemoryPhase::optimizer) = with_gradients + states.main_gradients + states.step_copies;
  const double forward = (accumulates_gradients(context) ? with_gradients : held) + alive +
                         outputs(deferred - 1) + states.unsharded_forward;
  of(MemoryPhase::forward_loss) = forward;
  of(MemoryPhase::backward_layer) = with_gradients + states.reduce_bucket + alive +
                                    outputs(deferred) + states.unsharded_backward + layer;
  const double share = loss_share(context);
  if (share <= 0.0) return totals;
  const ActivationModel& model = context.activations;
  of(MemoryPhase::forward_loss) = forward + share * model.output.loss;
  of(MemoryPhase::backward_output) =
      forward + share * (model.output.loss_gradient + model.output_weight_gradient) +
      states.output_step_copies;
  return totals;
}

OutsideBytes outside_bytes(const Job& job) {
  const Parallel& parallel = job.parallel;
  const int gpus = parallel.gpus();
  int groups = gpus > 1 ? 1 : 0;  // the world group
  for (const int size : {parallel.tensor, parallel.context, parallel.pipeline, parallel.data,
                         job.model.moe ? parallel.expert : 1})
    if (size > 1 && size < gpus) ++groups;
  if (job.communication.backend == Backend::gloo) groups = 0;  // its buffers are the host's
  const MemoryRules& rules = job.stack.memory;
  return {groups * rules.communicator.value(), rules.context.value()};
}

MemoryNeed need_of(const Job& job, double allocated, double outside, double paged) {
  const double room = job.cluster.host.device.usable_memory.value();
  const auto filled = [&](double bytes) {
    const double without = device_bytes(job, bytes, outside);
    return Bytes{std::max(without, std::min(room, without + paged))};
  };
  return {filled(allocated), filled((1.0 + reserved_band(job)) * allocated)};
}

std::vector<HeavyStage> heavy_stages(const Job& job, const StageLayout& layout) {
  const JobLivePasses live{job};
  std::vector<HeavyStage> heavy;
  for (int stage = 0; stage < layout.stages(); ++stage) {
    const StageContent content = stage_content(job, layout, stage);
    const LiveTensors tensors = live_tensors(job, content, layout, live);
    const bool light = std::ranges::any_of(heavy, [&](const HeavyStage& other) {
      return other.content.holds_like(content) && other.live.covers(tensors);
    });
    if (!light) heavy.push_back({content, tensors});
  }
  return heavy;
}

namespace {

using Item = MemoryItem;

MemoryBytes& at(StageAccount& account, MemoryPhase phase) {
  return account.phase[static_cast<std::size_t>(phase)];
}

void clear(MemoryBytes& rows, std::initializer_list<Item> items) {
  for (const Item item : items) rows[item] = 0.0;
}

}  // namespace

bool accumulates_gradients(const StageContext& context) {
  return context.rules.gradients_resident || context.job.microbatches() > 1;
}

double replica_gradient_bytes(const StageContext& context) {
  return parameter_bytes(context.job).gradient * context.trained.total();
}

/// Buffers of one call: what leaves a GPU, and what the sum arrives in.
double replica_buffers(bool first) { return (first ? 2.0 : 1.0) * replica_buffer.value(); }

void hold_on_first(const StageContext& context, StageAccount& account) {
  const Job& job = context.job;
  if (job.parallel.gather == GatherKind::outputs) {
    at(account, MemoryPhase::forward_loss)[Item::loss] *= job.parallel.data;
    at(account, MemoryPhase::backward_output)[Item::loss_gradient] *= job.parallel.data;
  }
  const double fresh = replica_gradient_bytes(context);
  const bool accumulated = accumulates_gradients(context);
  if (accumulated) at(account, MemoryPhase::backward_layer)[Item::replica_gradients] = fresh;
  // Sums are made while the gradients that they are made from are still there.
  MemoryBytes& reduction = at(account, MemoryPhase::reduction);
  reduction = at(account, MemoryPhase::optimizer);
  reduction[Item::main_gradients] = 0.0;
  reduction[Item::replica_gradients] = (accumulated ? 2.0 : 1.0) * fresh;
  reduction[Item::reduce_buffers] = replica_buffers(true);
}

void hold_on_other(const StageContext& context, StageAccount& account) {
  at(account, MemoryPhase::reduction) = at(account, MemoryPhase::optimizer);
  for (MemoryBytes& rows : account.phase)
    clear(rows, {Item::dense_optimizer, Item::expert_optimizer, Item::main_gradients,
                 Item::dense_gradients, Item::expert_gradients});
  for (const MemoryPhase phase : {MemoryPhase::between_steps, MemoryPhase::optimizer})
    clear(at(account, phase), {Item::dense_weights, Item::expert_weights, Item::embedding_weights,
                               Item::output_weights});
  if (context.job.parallel.gather == GatherKind::outputs) {
    const double logits = gathered_logits(context.job).value();
    at(account, MemoryPhase::forward_loss)[Item::loss] = logits;
    at(account, MemoryPhase::backward_output)[Item::loss_gradient] = logits;
  }
  const double fresh = replica_gradient_bytes(context);
  at(account, MemoryPhase::backward_layer)[Item::replica_gradients] = fresh;
  at(account, MemoryPhase::reduction)[Item::replica_gradients] = fresh;
  at(account, MemoryPhase::reduction)[Item::reduce_buffers] = replica_buffers(false);
}

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
