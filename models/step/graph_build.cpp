// SPDX-License-Identifier: Apache-2.0
#include "models/step/graph_build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "models/base/require.hpp"
#include "models/base/too_large.hpp"
#include "models/step/internal/graph_passes.hpp"
#include "models/step/internal/graph_rows.hpp"

namespace foretrain {
namespace {

using internal::GraphRows;
using internal::no_task;
using internal::PassStep;
using internal::PassSteps;

constexpr Seconds rounding{1e-13};
constexpr int most_buckets = 32;  // tasks per stage: more would not show

/// A point in a stage's compute time at which its data stream and its passes meet.
struct Mark {
  Seconds at;
  bool pending = false;
};

/// Gradients of a stage leave in buckets, evenly over their window.
struct Buckets {
  std::uint32_t cost = no_task;  ///< of one bucket
  Seconds interval;
  int left = 0;
};

struct StageState {
  Seconds done;  ///< of passes so far, waiting not counted
  Mark weights;  ///< the passes need all weights from here on
  Buckets buckets;
  Mark gradients;                         ///< the first gradients may leave
  std::uint32_t reduction = no_exchange;  ///< of the gradients
  std::uint32_t previous = no_task;       ///< last step of a pass
  std::uint32_t waits_for = no_task;      ///< what the next step waits for besides
  std::size_t passes_left = 0;
  bool started = false;
};

class Builder {
 public:
  Builder(const StepCosts& costs, const Schedule& schedule, Detail detail,
          const PieceOperators* operators, const StepExchanges* exchanges)
      : costs_{costs},
        schedule_{schedule},
        detail_{detail},
        exchanges_{exchanges},
        rows_{graph_, costs.shape.stages},
        steps_{costs, schedule.splits_backward(), detail, {operators, exchanges}, rows_},
        stages_(costs.stages.size()) {}

  TaskGraph build() {
    reserve();
    const auto micros = static_cast<std::size_t>(costs_.shape.microbatches);
    results_.assign(2 * static_cast<std::size_t>(positions(costs_.shape)) * micros, no_task);
    for (int stage = 0; stage < costs_.shape.stages; ++stage) begin(stage);
    for (const OrderedPass& next : execution_order(schedule_)) add_pass(next);
    finish();
    return std::move(graph_);
  }

 private:
  void reserve();
  void begin(int stage);
  [[nodiscard]] Seconds compute_of(int stage) const;
  void add_pass(const OrderedPass& next);
  void send(const OrderedPass& from, int to_stage, std::uint32_t& result);
  void add_step(const Task& like, const PassStep& step, std::uint32_t input);
  void add_uncut(Task task, std::uint32_t cost, std::uint32_t input);
  void add_slowed(int stage, Seconds slowed, TaskRole role);
  void release_gradients(int stage);
  void finish();
  void finish_staggered(const std::vector<std::uint32_t>& synchronised);
  void reduce_tied(std::vector<std::uint32_t>& synchronised);

  StageState& state(int stage) { return stages_[static_cast<std::size_t>(stage)]; }
  [[nodiscard]] const StageCosts& once(int stage) const {
    return costs_.stages[static_cast<std::size_t>(stage)];
  }
  std::uint32_t plain_cost(const char* name, Seconds duration) {
    return rows_.add_cost({name, duration, {}, Bytes{}});
  }
  /// A share of exchanges that together are charged `all`.
  std::uint32_t exchange_cost(const char* name, Seconds duration, std::uint32_t exchange,
                              Seconds all) {
    return rows_.add_cost({name, duration, {}, Bytes{}, exchange, duration / all});
  }
  std::uint32_t transfer_cost(Seconds duration) {
    const auto [entry, added] = transfers_.try_emplace(duration, no_task);
    if (added)
      entry->second = exchange_cost(
          "transfer", duration,
          exchanges_ ? rows_.add_exchanges(exchanges_->transfer) : no_exchange, duration);
    return entry->second;
  }
  [[nodiscard]] std::uint32_t charged(const std::vector<Exchanges> StepExchanges::*by_stage,
                                      int stage, Seconds all);
  std::uint32_t& result(bool forward, int position, int micro) {
    const std::size_t row = 2 * static_cast<std::size_t>(position) + (forward ? 0 : 1);
    return results_[row * static_cast<std::size_t>(costs_.shape.microbatches) +
                    static_cast<std::size_t>(micro)];
  }

  const StepCosts& costs_;
  const Schedule& schedule_;
  Detail detail_;
  const StepExchanges* exchanges_;
  TaskGraph graph_;
  GraphRows rows_;
  PassSteps steps_;
  std::vector<StageState> stages_;
  std::vector<std::uint32_t> results_;          ///< task that delivers a pass's result
  std::map<Seconds, std::uint32_t> transfers_;  ///< cost keys by what they take
};

void Builder::reserve() {
  std::size_t tasks = 10 * costs_.stages.size();
  for (std::size_t s = 0; s < schedule_.stages.size(); ++s)
    for (const Pass& pass : schedule_.stages[s])
      tasks += 1 + steps_.of(costs_.index({static_cast<int>(s), pass.chunk}), pass.kind).size();
  refuse_too_large(static_cast<std::int64_t>(tasks), costs_.shape);
  graph_.tasks.reserve(tasks);
  graph_.first.reserve(tasks + 1);
  graph_.predecessors.reserve(2 * tasks);
}

Seconds Builder::compute_of(int stage) const {
  Seconds sum = once(stage).weights.slowed + once(stage).gradients.slowed;
  for (const Pass& pass : schedule_.stages[static_cast<std::size_t>(stage)])
    sum += internal::parts_of(costs_.at({stage, pass.chunk}), pass.kind).total();
  return sum;
}

/// The exchanges of a stage that happen once per step, charged `all` together: the stack's share of
/// the bus and calls beyond the usual ones are in it and not in their price.
std::uint32_t Builder::charged(const std::vector<Exchanges> StepExchanges::*by_stage, int stage,
                               Seconds all) {
  if (exchanges_ == nullptr || all <= Seconds{}) return no_exchange;
  Exchanges exchanges = (exchanges_->*by_stage)[static_cast<std::size_t>(stage)];
  const double factor = exchanges.time > Seconds{} ? all / exchanges.time : 1.0;
  constexpr double alike = 1e-12;
  if (std::abs(factor - 1.0) > alike) exchanges.latency *= factor;
  exchanges.time = all;
  return rows_.add_exchanges(std::move(exchanges));
}

/// Weights arrive: those that the first pass needs at once, then the rest.
void Builder::begin(int stage) {
  const StageCosts& costs = once(stage);
  StageState& now = state(stage);
  now.passes_left = schedule_.stages[static_cast<std::size_t>(stage)].size();
  Task gather{TaskKind::collective, StreamKind::data, TaskRole::weights, 0, stage};
  const Seconds all_weights = costs.weights.total();
  const std::uint32_t weights = charged(&StepExchanges::weights, stage, all_weights);
  if (costs.weights.alone > Seconds{}) {
    gather.cost = exchange_cost("weights", costs.weights.alone, weights, all_weights);
    now.waits_for = rows_.add(gather, {});
  }
  if (costs.weights.beside > Seconds{}) {
    gather.cost = exchange_cost("weights", costs.weights.beside, weights, all_weights);
    rows_.add(gather, {});
    now.weights = {costs.weight_window, true};
  }
  const Seconds all_gradients = costs.gradients.total();
  now.reduction = charged(&StepExchanges::gradients, stage, all_gradients);
  if (costs.gradients.beside <= Seconds{}) return;
  const int buckets = detail_ == Detail::pass ? 1 : std::min(costs.gradients.buckets, most_buckets);
  now.buckets = {
      exchange_cost("gradients", costs.gradients.beside / buckets, now.reduction, all_gradients),
      costs.gradient_window / buckets, buckets};
  now.gradients = {compute_of(stage) - costs.gradient_window, true};
}

void Builder::add_pass(const OrderedPass& next) {
  const auto& [pass, stage] = next;
  const ScheduleShape& shape = costs_.shape;
  const int position = position_of(shape, {stage, pass.chunk});
  const int last = positions(shape) - 1;
  const bool forward = pass.kind == PassKind::forward;
  const int before = forward ? position - 1 : position + 1;
  const int after = forward ? position + 1 : position - 1;
  const bool carries = pass.kind != PassKind::weight_gradient;

  std::uint32_t input = no_task;
  if (carries && before >= 0 && before <= last) input = result(forward, before, pass.micro);
  Task like;
  like.rank = stage;
  like.micro = pass.micro;
  like.chunk = pass.chunk;
  StageState& now = state(stage);
  for (const PassStep& step : steps_.of(costs_.index({stage, pass.chunk}), pass.kind)) {
    add_step(like, step, input);
    input = no_task;
  }
  if (!now.started) add_slowed(stage, once(stage).weights.slowed, TaskRole::weights);
  now.started = true;
  if (carries) {
    std::uint32_t& delivered = result(forward, position, pass.micro);
    delivered = now.previous;
    const bool ends = after < 0 || after > last;
    const int to = ends ? stage : place_at(shape, after, pass.micro).stage;
    if (to != stage && costs_.hop(stage, to) > Seconds{}) send(next, to, delivered);
  }
  if (--now.passes_left == 0) add_slowed(stage, once(stage).gradients.slowed, TaskRole::gradients);
}

void Builder::send(const OrderedPass& from, int to_stage, std::uint32_t& result) {
  const std::uint32_t cost = transfer_cost(costs_.hop(from.stage, to_stage));
  Task task{TaskKind::flow, StreamKind::send, TaskRole::transfer, cost,
            from.stage,     to_stage,         from.pass.micro,    from.pass.chunk};
  if (costs_.transfer_blocks) task.stream = StreamKind::compute;
  result = rows_.add(task, {result});
  if (costs_.transfer_blocks) state(from.stage).previous = result;
}

/// Adds a step, cut in two where a mark lies inside it.
void Builder::add_step(const Task& like, const PassStep& step, std::uint32_t input) {
  StageState& now = state(like.rank);
  Task task = like;
  task.kind = step.kind;
  task.stream = step.stream;
  task.role = step.role;
  task.layer = step.layer;
  std::uint32_t cost = step.cost;
  for (;;) {
    const Seconds duration = rows_.duration(cost);
    Seconds until = duration;  // to the next mark
    for (Mark* mark : {&now.weights, &now.gradients})
      if (mark->pending && mark->at > now.done + rounding) until = min(until, mark->at - now.done);
    if (until >= duration - rounding) break;
    add_uncut(task, rows_.add_share(cost, until / duration), input);
    input = no_task;
    cost = rows_.add_share(cost, 1.0 - until / duration);
  }
  add_uncut(task, cost, input);
}

void Builder::add_uncut(Task task, std::uint32_t cost, std::uint32_t input) {
  StageState& now = state(task.rank);
  while (now.gradients.pending && now.gradients.at <= now.done + rounding)
    release_gradients(task.rank);
  const bool needs_weights = now.weights.pending && now.weights.at <= now.done + rounding;
  const std::uint32_t weights = needs_weights ? rows_.tail(task.rank, StreamKind::data) : no_task;
  if (needs_weights) now.weights.pending = false;
  task.cost = cost;
  const std::uint32_t previous =
      now.previous != rows_.tail(task.rank, task.stream) ? now.previous : no_task;
  now.previous = rows_.add(task, {previous, input, now.waits_for, weights});
  now.waits_for = no_task;
  now.done += rows_.duration(cost);
}

/// Passes run more slowly beside traffic: the time that they lose is a task of its own.
void Builder::add_slowed(int stage, Seconds slowed, TaskRole role) {
  if (slowed <= Seconds{}) return;
  TimeParts parts;
  parts.data = slowed;
  PassStep step;
  step.cost = rows_.add_cost({"slowed by traffic", slowed, parts, Bytes{}});
  step.role = role;
  Task like;
  like.rank = stage;
  add_step(like, step, no_task);
}

void Builder::release_gradients(int stage) {
  StageState& now = state(stage);
  rows_.add({TaskKind::collective, StreamKind::data, TaskRole::gradients, now.buckets.cost, stage},
            {now.previous});
  now.gradients.at += now.buckets.interval;
  now.gradients.pending = --now.buckets.left > 0;
}

/// Both ends of the model add up the gradients of the embedding that they share.
void Builder::reduce_tied(std::vector<std::uint32_t>& synchronised) {
  if (costs_.tied_embedding <= Seconds{} || costs_.shape.stages == 1) return;
  const std::uint32_t tied = exchanges_ ? rows_.add_exchanges(exchanges_->tied) : no_exchange;
  const std::uint32_t cost =
      exchange_cost("tied embedding", costs_.tied_embedding, tied, costs_.tied_embedding);
  Task task{TaskKind::collective, StreamKind::data, TaskRole::gradients, cost, 0};
  const std::uint32_t first = synchronised.front();
  const std::uint32_t last = synchronised.back();
  const bool meet = !costs_.staggered;
  synchronised.front() = rows_.add(task, {first, meet ? last : no_task});
  task.rank = costs_.shape.stages - 1;
  synchronised.back() = rows_.add(task, {last, meet ? first : no_task});
}

/// Every stage goes on by itself.
void Builder::finish_staggered(const std::vector<std::uint32_t>& synchronised) {
  graph_.staggered = true;
  const std::uint32_t constant = plain_cost("step constant", costs_.constant);
  for (int stage = 0; stage < costs_.shape.stages; ++stage) {
    const std::uint32_t cost = plain_cost("optimizer", once(stage).optimizer);
    rows_.add({TaskKind::delay, StreamKind::compute, TaskRole::constant, constant, stage},
              {synchronised[static_cast<std::size_t>(stage)]});
    rows_.add({TaskKind::compute, StreamKind::compute, TaskRole::optimizer, cost, stage}, {});
  }
}

/// Gradients that nothing hides, the join of all stages (norm of the gradients), the optimizer.
void Builder::finish() {
  std::vector<std::uint32_t> synchronised;
  for (int stage = 0; stage < costs_.shape.stages; ++stage) {
    StageState& now = state(stage);
    while (now.gradients.pending) release_gradients(stage);
    std::uint32_t done = now.previous;
    if (once(stage).gradients.alone > Seconds{}) {
      const SyncTraffic& traffic = once(stage).gradients;
      const std::uint32_t cost =
          exchange_cost("gradients", traffic.alone, now.reduction, traffic.total());
      done = rows_.add({TaskKind::collective, StreamKind::data, TaskRole::gradients, cost, stage},
                       {done});
    }
    synchronised.push_back(done);
  }
  reduce_tied(synchronised);
  if (costs_.staggered) return finish_staggered(synchronised);
  const std::uint32_t join_cost = plain_cost("gradient norm and step constant", costs_.constant);
  const std::uint32_t join =
      rows_.add({TaskKind::delay, StreamKind::compute, TaskRole::constant, join_cost, 0}, {});
  for (const std::uint32_t end : synchronised) rows_.also_wait_for(end);
  for (int stage = 0; stage < costs_.shape.stages; ++stage) {
    const std::uint32_t cost = plain_cost("optimizer", once(stage).optimizer);
    rows_.add({TaskKind::compute, StreamKind::compute, TaskRole::optimizer, cost, stage}, {join});
  }
}

}  // namespace

void refuse_too_large(std::int64_t tasks, const ScheduleShape& shape) {
  if (tasks <= most_graph_tasks) return;
  throw TooLarge(fmt::format(
      "a step of {} micro-batches on {} pipeline stages is {} passes, operators and exchanges; at "
      "most {} can be laid out one by one: lower training.global_batch, or ask for numbers alone "
      "(simulate --engine closed-form or path)",
      shape.microbatches, shape.stages, tasks, most_graph_tasks));
}

TaskGraph build_graph(const StepCosts& costs, const Schedule& schedule, Detail detail,
                      const PieceOperators* operators, const StepExchanges* exchanges) {
  FORETRAIN_REQUIRE(schedule.shape == costs.shape);
  FORETRAIN_REQUIRE(detail != Detail::op || operators != nullptr);
  return Builder{costs, schedule, detail, operators, exchanges}.build();
}

}  // namespace foretrain
