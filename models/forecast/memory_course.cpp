// SPDX-License-Identifier: Apache-2.0
#include "models/forecast/memory_course.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "models/base/require.hpp"
#include "models/grid/process_grid.hpp"
#include "models/layers/layer_ends.hpp"
#include "models/memory/internal/memory_context.hpp"
#include "models/schedules/schedule.hpp"
#include "models/step/step_costs.hpp"

namespace foretrain {
namespace {

using memory_detail::accumulates_gradients;
using memory_detail::held_chunk;
using memory_detail::LiveTensors;
using memory_detail::replica_buffers;
using memory_detail::replica_gradient_bytes;
using memory_detail::StageContext;
using Item = MemoryItem;
using Amounts = std::array<double, memory_categories + 1>;  ///< the last one: micro-batches alive

/// When a pass runs.
struct PassSpan {
  Pass pass;
  Seconds from;
  Seconds to;
};

/// Bytes that come (or go) evenly from one time to another, at once where both are the same.
struct Change {
  Seconds from;
  Seconds to;
  Amounts amount{};
};

Amounts amounts(const MemoryBytes& rows, double factor = 1.0) {
  Amounts sums{};
  for (std::size_t i = 0; i < memory_items; ++i)
    sums[static_cast<std::size_t>(memory_item_info(static_cast<Item>(i)).category)] +=
        factor * rows.of[i];
  return sums;
}

Amounts scaled(Amounts amount, double factor) {
  for (double& value : amount) value *= factor;
  return amount;
}

std::optional<PassKind> pass_kind(TaskRole role) {
  switch (role) {
    case TaskRole::forward:
      return PassKind::forward;
    case TaskRole::backward:
      return PassKind::backward;
    case TaskRole::input_gradient:
      return PassKind::input_gradient;
    case TaskRole::weight_gradient:
      return PassKind::weight_gradient;
    default:
      return std::nullopt;
  }
}

/// The passes of a stage in order of their begin.
std::vector<PassSpan> passes_of(const StepPath& path, int stage) {
  std::map<std::tuple<int, int, int>, PassSpan> found;
  for (std::size_t id = 0; id < path.graph.tasks.size(); ++id) {
    const Task& task = path.graph.tasks[id];
    const auto kind = pass_kind(task.role);
    if (task.rank != stage || task.micro < 0 || !kind) continue;
    const Seconds from = path.timeline.start[id];
    const Seconds to = path.timeline.end[id];
    const auto [place, first] =
        found.try_emplace({task.micro, task.chunk, static_cast<int>(*kind)},
                          PassSpan{{*kind, task.chunk, task.micro}, from, to});
    if (first) continue;
    place->second.from = min(place->second.from, from);
    place->second.to = max(place->second.to, to);
  }
  std::vector<PassSpan> passes;
  passes.reserve(found.size());
  for (const auto& entry : found) passes.push_back(entry.second);
  std::ranges::stable_sort(passes,
                           [](const PassSpan& a, const PassSpan& b) { return a.from < b.from; });
  return passes;
}

/// Collects what changes over the step.
class Course {
 public:
  Course(const StageContext& context, const StepCosts& costs, Seconds makespan)
      : context_{context}, costs_{costs}, makespan_{makespan} {
    for (int chunk = 0; chunk < costs.shape.chunks; ++chunk) {
      MemoryBytes rows;
      LiveTensors live;
      count_live_chunk(context.job, held_chunk(context, context.layout, costs.shape, chunk), 1.0,
                       live);
      live_.inputs += live.inputs;
      add_live(context, live, rows);
      kept_.push_back(amounts(rows));
      kept_.back().back() = 1.0;
    }
  }

  void add_states(const std::vector<PassSpan>& passes);
  void add_forward(const PassSpan& span);
  void add_backward(const PassSpan& span);
  /// torch.nn.DataParallel: GPU 0 while the gradients of all replicas meet there.
  void add_reduction(Seconds from, Seconds to);
  [[nodiscard]] std::vector<MemoryPoint> points() const;

 private:
  [[nodiscard]] bool has_loss(int chunk) const {
    return splits_ ? chunk == costs_.shape.chunks - 1
                   : held_chunk(context_, context_.layout, costs_.shape, chunk).ends.output;
  }
  /// Share of a chunk's pass that its output layer and loss take.
  [[nodiscard]] double loss_share(int chunk, bool forward) const;
  /// Time of a piece in a chunk's pass.
  [[nodiscard]] double share_of(PieceKind kind, int chunk, bool forward) const;
  /// GPU 0 holds the logits of all replicas of torch.nn.DataParallel.
  [[nodiscard]] double losses() const {
    const Parallel& plan = context_.job.parallel;
    return plan.single_process() && plan.gather == GatherKind::outputs ? plan.data : 1.0;
  }
  void add(Seconds from, Seconds to, const Amounts& amount) {
    changes_.push_back({from, to, amount});
  }
  /// There between two times, gone before and after.
  void hold(Seconds from, Seconds to, const Amounts& amount) {
    add(from, from, amount);
    add(to, to, scaled(amount, -1.0));
  }

  const StageContext& context_;
  LiveTensors live_;  ///< of one pass through all chunks
  const StepCosts& costs_;
  Seconds makespan_;
  std::vector<Amounts> kept_;  ///< by a forward pass, by chunk
  const bool splits_ = splits_vocabulary(context_.job.parallel);
  std::vector<Change> changes_;
};

double Course::loss_share(int chunk, bool forward) const {
  double share = share_of(splits_ ? PieceKind::vocabulary_share : PieceKind::head, chunk, forward);
  if (!context_.job.parallel.single_process()) return share;
  for (const PieceKind kind : {PieceKind::outputs, PieceKind::other_loss})
    share += share_of(kind, chunk, forward);
  return std::min(1.0, share);
}

double Course::share_of(PieceKind kind, int chunk, bool forward) const {
  const PieceTimes& piece = costs_.pieces[static_cast<std::size_t>(kind)];
  const PieceTimes& whole = costs_.at({context_.stage, chunk});
  const Seconds part = forward ? piece.forward.total() : piece.backward().total();
  const Seconds all = forward ? whole.forward.total() : whole.backward().total();
  return all > Seconds{} ? std::min(1.0, part / all) : 0.0;
}

/// Weights, optimizer and workspaces; gradients from the first backward pass on where nothing keeps
/// them over the step; main gradients from the last pass on; what is outside the allocator.
void Course::add_states(const std::vector<PassSpan>& passes) {
  const Job& job = context_.job;
  StageAccount account = account_stage(job, context_.layout, context_.activations, context_.stage);
  add(Seconds{}, Seconds{}, amounts(account.outside));
  MemoryBytes states;
  add_weights(context_, states);
  add_optimizer(context_, states);
  offload_states(context_, states, account);
  add_workspaces(context_, states);
  add_leftovers(context_, states);
  states[Item::graph_buffers] = account.at(MemoryPhase::optimizer)[Item::graph_buffers];
  add(Seconds{}, Seconds{}, amounts(states));

  MemoryBytes gradients;
  add_gradients(context_, gradients);
  MemoryBytes main;
  main[Item::main_gradients] = main_gradients(context_);
  Seconds last;
  for (const PassSpan& span : passes) last = max(last, span.to);
  const bool resident = context_.rules.gradients_resident;
  if (resident) {
    add(Seconds{}, Seconds{}, amounts(gradients));
  } else {
    const auto backward = std::ranges::find_if(
        passes, [](const PassSpan& span) { return span.pass.kind != PassKind::forward; });
    hold(backward == passes.end() ? last : backward->from, makespan_, amounts(gradients));
  }
  // Where gradients stay, so do the main gradients, until the next step's first pass.
  const Seconds first = passes.empty() ? last : passes.front().from;
  if (resident) hold(Seconds{}, first, amounts(main));
  add(last, last, amounts(main));
  if (!resident) add(makespan_, makespan_, amounts(main, -1.0));

  MemoryBytes copies;
  copies[Item::step_copies] = step_copies(context_);
  hold(last, makespan_, amounts(copies));

  MemoryBytes pools;
  pools[Item::graph_pools] = account.at(MemoryPhase::optimizer)[Item::graph_pools];
  if (pools[Item::graph_pools] > 0.0) hold(last, makespan_, amounts(pools));

  MemoryBytes buffers;
  add_step_buffers(context_, buffers);
  add_deferred_outputs(context_, job.memory.deferred_outputs - 1, buffers);
  hold(first, last, amounts(buffers));
}

void Course::add_forward(const PassSpan& span) {
  const int chunk = span.pass.chunk;
  MemoryBytes gathered;
  add_unsharded(context_, false, gathered);
  hold(span.from, span.to, amounts(gathered));
  Seconds layers = span.to;  // end of the forward pass of the last layer
  if (has_loss(chunk)) {
    layers = span.to - loss_share(chunk, true) * (span.to - span.from);
    MemoryBytes loss;
    loss[Item::loss] =
        losses() * context_.activations.output.loss / (splits_ ? costs_.shape.stages : 1.0);
    hold(layers, span.to, amounts(loss));
  }
  add(span.from, layers, kept_[static_cast<std::size_t>(chunk)]);
}

void Course::add_backward(const PassSpan& span) {
  const int chunk = span.pass.chunk;
  const Amounts& kept = kept_[static_cast<std::size_t>(chunk)];
  const double later = costs_.weight_share;  // what waits for weight gradients that run apart
  if (span.pass.kind == PassKind::weight_gradient) {
    add(span.from, span.to, scaled(kept, -later));
    return;
  }
  Seconds layers = span.from;  // begin of the backward pass of the first layer
  const Job& job = context_.job;
  if (has_loss(chunk)) {
    layers += loss_share(chunk, false) * (span.to - span.from);
    const double stages = splits_ ? costs_.shape.stages : 1.0;
    MemoryBytes output;
    output[Item::loss_gradient] = losses() * context_.activations.output.loss_gradient / stages;
    output[Item::output_weight_gradient] = context_.activations.output_weight_gradient / stages;
    add_unsharded(context_, false, output);
    hold(span.from, layers, amounts(output));
  }
  MemoryBytes going;
  going[Item::reduce_buffers] = reduce_bucket(context_);
  add_unsharded(context_, true, going);
  add_backward_layer(context_, live_, going);
  MemoryBytes counted;  // already among the buffers of the step
  add_deferred_outputs(context_, job.memory.deferred_outputs - 1, counted);
  add_deferred_outputs(context_, job.memory.deferred_outputs, going);
  going[Item::postponed_gradients] -= counted[Item::postponed_gradients];
  Seconds end = span.to;
  if (job.parallel.single_process()) {
    end -= share_of(PieceKind::replicas, chunk, false) * (span.to - span.from);
    if (accumulates_gradients(context_))
      going[Item::replica_gradients] = replica_gradient_bytes(context_);
    add_reduction(end, span.to);
  }
  hold(layers, end, amounts(going));
  const bool whole = span.pass.kind == PassKind::backward;
  add(layers, end, scaled(kept, whole ? -1.0 : later - 1.0));
}

void Course::add_reduction(Seconds from, Seconds to) {
  MemoryBytes rows;
  rows[Item::replica_gradients] =
      (accumulates_gradients(context_) ? 2.0 : 1.0) * replica_gradient_bytes(context_);
  rows[Item::reduce_buffers] = replica_buffers(true);
  hold(from, to, amounts(rows));
}

std::vector<MemoryPoint> Course::points() const {
  // Every change as a slope that begins and ends, or as a jump.
  struct Event {
    Seconds time;
    Amounts slope{};
    Amounts jump{};
  };
  std::vector<Event> events;
  events.reserve(2 * changes_.size() + 1);
  for (const Change& change : changes_) {
    if (change.to <= change.from) {
      events.push_back({change.from, {}, change.amount});
      continue;
    }
    const double rate = 1.0 / (change.to - change.from).value();
    events.push_back({change.from, scaled(change.amount, rate), {}});
    events.push_back({change.to, scaled(change.amount, -rate), {}});
  }
  events.push_back({makespan_, {}, {}});
  std::ranges::stable_sort(events, [](const Event& a, const Event& b) { return a.time < b.time; });

  std::vector<MemoryPoint> result;
  Amounts value{};
  Amounts slope{};
  Seconds now;
  const auto push = [&] {
    MemoryPoint point;
    point.time = now;
    for (std::size_t c = 0; c < memory_categories; ++c)
      point.of[c] = Bytes{std::max(0.0, value[c])};
    point.alive = std::max(0.0, value.back());
    result.push_back(point);
  };
  for (std::size_t at = 0; at < events.size();) {
    const Seconds time = events[at].time;
    for (std::size_t c = 0; c < value.size(); ++c) value[c] += slope[c] * (time - now).value();
    now = time;
    if (now > Seconds{}) push();
    bool jumps = now <= Seconds{};
    for (; at < events.size() && events[at].time <= time; ++at)
      for (std::size_t c = 0; c < value.size(); ++c) {
        jumps = jumps || events[at].jump[c] != 0.0;
        value[c] += events[at].jump[c];
        slope[c] += events[at].slope[c];
      }
    if (jumps) push();
  }
  return result;
}

}  // namespace

Bytes MemoryPoint::total() const {
  Bytes sum;
  for (const Bytes part : of) sum += part;
  return sum;
}

MemoryCourse memory_course(const Job& job, const StageLayout& layout, const StepPath& path,
                           int stage) {
  FORETRAIN_REQUIRE(0 <= stage && stage < layout.stages() && path.graph.ranks == layout.stages());
  const ActivationModel activations = activation_model(job);
  const StageContext context = memory_detail::make_context(job, layout, activations, stage);
  const StepCosts costs = step_costs(job, layout);
  const std::vector<PassSpan> passes = passes_of(path, stage);
  Seconds end = path.timeline.makespan;
  for (const Seconds task : path.timeline.end) end = max(end, task);
  Course course{context, costs, end};
  course.add_states(passes);
  for (const PassSpan& span : passes)
    span.pass.kind == PassKind::forward ? course.add_forward(span) : course.add_backward(span);
  MemoryCourse result{stage, course.points(), 0};
  for (std::size_t i = 1; i < result.points.size(); ++i)
    if (result.points[i].total() > result.points[result.peak].total()) result.peak = i;
  return result;
}

}  // namespace foretrain
