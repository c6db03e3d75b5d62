// SPDX-License-Identifier: Apache-2.0
#include "models/step/graph_build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <ranges>
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
using internal::StepLink;

constexpr Seconds rounding{1e-13};
constexpr int most_buckets = 32;  // tasks per chunk: more would not show

/// Buckets of a chunk that are one task.
struct BucketTask {
  double at =
      0.0;  ///< share of the pass: gradients leave from it on, weights are needed from it on
  double share = 1.0;  ///< of the chunk's traffic
};

/// A chunk's buckets in the order in which a backward pass fills them, the edge last, in no more
/// than `most` tasks beside it. Buckets that share a task leave with the first of them; the last
/// one before the edge is alone. So the time that they take together does not depend on `most`.
std::vector<BucketTask> bucket_tasks(const Buckets& buckets, int most) {
  std::vector<BucketTask> tasks;
  const int together = std::max(0, buckets.inners - 1);
  const int groups = std::min(together, std::max(1, most - 1));
  for (int group = 0, done = 0; group < groups; ++group) {
    const int until = static_cast<int>(static_cast<std::int64_t>(together) * (group + 1) / groups);
    tasks.push_back({(done + 1) * buckets.first, (until - done) * buckets.inner});
    done = until;
  }
  if (buckets.inners > 0) tasks.push_back({buckets.last, buckets.inner});
  tasks.push_back({1.0, buckets.edge});
  return tasks;
}

/// What happens in the middle of a pass, when so much of its compute is over.
struct Mark {
  Seconds at;
  std::uint32_t task = no_task;  ///< to wait for; no_task: the next gradients leave
};

struct StageState {
  Seconds done;                        ///< compute of passes so far, waiting not counted
  Seconds filling;                     ///< of it before the first chunk fills its buckets
  Seconds at;                          ///< compute of the current pass so far
  std::vector<Mark> marks;             ///< of the current pass, those to come last first
  std::vector<std::uint32_t> leaving;  ///< cost keys of gradients that leave, the next one last
  std::vector<std::vector<Mark>>
      needs;                ///< by chunk: tasks that bring weights; at: share of a pass
  std::vector<bool> begun;  ///< by chunk
  std::vector<bool> fills;  ///< by place in the order: the pass fills buckets
  std::size_t passes = 0;   ///< run so far
  int chunks_left = 0;      ///< that have not begun
  bool filled = false;      ///< one of the chunks
  std::uint32_t reduction = no_exchange;  ///< of the gradients
  std::uint32_t previous = no_task;       ///< last step of a pass
  std::uint32_t waits_for = no_task;      ///< what the next step waits for besides
  std::uint32_t forked = no_task;         ///< exchange beside the steps until the next join
  Seconds shown;                          ///< of it
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
  void gather_weights(int stage, std::uint32_t exchange);
  void find_fills(int stage);
  void add_pass(const OrderedPass& next);
  void begin_pass(const OrderedPass& next, Seconds duration);
  void end_pass(const OrderedPass& next, Seconds duration);
  void end_stage(int stage);
  void send(const OrderedPass& from, int to_stage, std::uint32_t& result);
  void add_step(const Task& like, const PassStep& step, std::uint32_t input);
  void add_fork(Task task, const PassStep& step, std::uint32_t input);
  void add_uncut(Task task, std::uint32_t cost, std::uint32_t input,
                 std::uint32_t joined = no_task);
  void add_slowed(int stage, Seconds both, TaskRole role);
  void meet_marks(int stage);
  void release_gradients(int stage);
  void release_all(int stage) {
    while (!state(stage).leaving.empty()) release_gradients(stage);
  }
  [[nodiscard]] std::uint32_t reduced(int stage);
  [[nodiscard]] int most_tasks() const { return detail_ == Detail::pass ? 2 : most_buckets; }
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
  std::size_t tasks = 10 * costs_.stages.size() + 10 * costs_.chunks.size();
  for (std::size_t s = 0; s < schedule_.stages.size(); ++s)
    for (const Pass& pass : schedule_.stages[s])
      tasks += 1 + steps_.of(costs_.index({static_cast<int>(s), pass.chunk}), pass.kind).size();
  refuse_too_large(static_cast<std::int64_t>(tasks), costs_.shape);
  graph_.tasks.reserve(tasks);
  graph_.first.reserve(tasks + 1);
  graph_.predecessors.reserve(2 * tasks);
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

/// Weights arrive before the first pass, or beside the first pass of every chunk.
void Builder::begin(int stage) {
  StageState& now = state(stage);
  const auto chunks = static_cast<std::size_t>(costs_.shape.chunks);
  now.needs.resize(chunks);
  now.begun.resize(chunks);
  now.chunks_left = costs_.shape.chunks;
  find_fills(stage);
  const Seconds weights = costs_.weights_of(stage);
  const std::uint32_t gathers = charged(&StepExchanges::weights, stage, weights);
  now.reduction = charged(&StepExchanges::gradients, stage, costs_.gradients_of(stage));
  if (weights <= Seconds{}) return;
  if (costs_.overlap.weights) return gather_weights(stage, gathers);
  const std::uint32_t cost = exchange_cost("weights", weights, gathers, weights);
  now.waits_for =
      rows_.add({TaskKind::collective, StreamKind::data, TaskRole::weights, cost, stage}, {});
}

/// Chunk after chunk in the order in which they begin, the buckets of gradients the other way
/// round.
void Builder::gather_weights(int stage, std::uint32_t exchange) {
  StageState& now = state(stage);
  const Seconds all = costs_.weights_of(stage);
  for (const Pass& pass : schedule_.stages[static_cast<std::size_t>(stage)]) {
    const auto chunk = static_cast<std::size_t>(pass.chunk);
    if (pass.kind != PassKind::forward || !now.needs[chunk].empty()) continue;
    const ChunkTraffic traffic = costs_.traffic_at(costs_.index({stage, pass.chunk}));
    const std::vector<BucketTask> buckets = bucket_tasks(traffic.buckets, most_tasks());
    for (const BucketTask& bucket : std::views::reverse(buckets)) {
      const std::uint32_t cost =
          exchange_cost("weights", bucket.share * traffic.weights, exchange, all);
      const std::uint32_t task =
          rows_.add({TaskKind::collective, StreamKind::data, TaskRole::weights, cost, stage}, {});
      now.needs[chunk].push_back({Seconds{1.0 - bucket.at}, task});
    }
  }
}

/// The last pass of each chunk that makes gradients of weights.
void Builder::find_fills(int stage) {
  const auto& passes = schedule_.stages[static_cast<std::size_t>(stage)];
  std::vector<bool> found(static_cast<std::size_t>(costs_.shape.chunks));
  StageState& now = state(stage);
  now.fills.resize(passes.size());
  for (std::size_t i = passes.size(); i-- > 0;) {
    const Pass& pass = passes[i];
    if (pass.kind == PassKind::forward || pass.kind == PassKind::input_gradient) continue;
    const auto chunk = static_cast<std::size_t>(pass.chunk);
    now.fills[i] = !found[chunk];
    found[chunk] = true;
  }
}

void Builder::begin_pass(const OrderedPass& next, Seconds duration) {
  const auto& [pass, stage] = next;
  StageState& now = state(stage);
  now.at = Seconds{};
  now.marks.clear();
  const auto chunk = static_cast<std::size_t>(pass.chunk);
  if (pass.kind == PassKind::forward && !now.begun[chunk]) {
    const std::vector<Mark>& needs = now.needs[chunk];
    if (!needs.empty()) now.waits_for = needs.front().task;
    for (std::size_t i = needs.size(); i-- > 1;)
      now.marks.push_back({needs[i].at.value() * duration, needs[i].task});
  }
  if (!now.fills[now.passes]) return;
  if (!now.filled) now.filling = now.done;
  now.filled = true;
  if (!costs_.overlap.gradients) return;
  const ChunkTraffic traffic = costs_.traffic_at(costs_.index({stage, pass.chunk}));
  if (traffic.gradients <= Seconds{}) return;
  const std::vector<BucketTask> buckets = bucket_tasks(traffic.buckets, most_tasks());
  for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket) {
    now.leaving.push_back(exchange_cost("gradients", bucket->share * traffic.gradients,
                                        now.reduction, costs_.gradients_of(stage)));
    if (bucket != buckets.rbegin()) now.marks.push_back({bucket->at * duration, no_task});
  }
}

void Builder::end_pass(const OrderedPass& next, Seconds duration) {
  const auto& [pass, stage] = next;
  StageState& now = state(stage);
  now.done += duration;
  meet_marks(stage);
  const auto chunk = static_cast<std::size_t>(pass.chunk);
  if (pass.kind == PassKind::forward && !now.begun[chunk]) {
    now.begun[chunk] = true;
    if (--now.chunks_left == 0 && costs_.overlap.weights)
      add_slowed(stage, min(costs_.weights_of(stage), now.done), TaskRole::weights);
  }
  // What the stage's last pass fills leaves when the stage has nothing left to do.
  if (++now.passes < now.fills.size()) release_all(stage);
}

/// After the last pass of a stage and what it sends.
void Builder::end_stage(int stage) {
  StageState& now = state(stage);
  if (costs_.overlap.gradients)
    add_slowed(stage, min(costs_.gradients_of(stage), now.done - now.filling), TaskRole::gradients);
  release_all(stage);
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
  const std::vector<PassStep>& steps = steps_.of(costs_.index({stage, pass.chunk}), pass.kind);
  Seconds duration;
  for (const PassStep& step : steps)
    duration += step.link == StepLink::fork ? step.shown : rows_.duration(step.cost);
  begin_pass(next, duration);
  for (const PassStep& step : steps) {
    add_step(like, step, input);
    if (step.link != StepLink::fork) input = no_task;
  }
  end_pass(next, duration);
  if (carries) {
    std::uint32_t& delivered = result(forward, position, pass.micro);
    delivered = now.previous;
    const bool ends = after < 0 || after > last;
    const int to = ends ? stage : place_at(shape, after, pass.micro).stage;
    if (to != stage && costs_.hop(stage, to) > Seconds{}) send(next, to, delivered);
  }
  if (now.passes == now.fills.size()) end_stage(stage);
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
  if (step.link == StepLink::fork) return add_fork(task, step, input);
  std::uint32_t cost = step.cost;
  std::uint32_t joined = no_task;
  if (step.link == StepLink::join) {
    joined = std::exchange(now.forked, no_task);
    now.at += now.shown;
  }
  for (;;) {
    meet_marks(like.rank);
    const Seconds duration = rows_.duration(cost);
    const Seconds until = now.marks.empty() ? duration : now.marks.back().at - now.at;
    if (until >= duration - rounding) break;
    add_uncut(task, rows_.add_share(cost, until / duration), input, joined);
    input = joined = no_task;
    cost = rows_.add_share(cost, 1.0 - until / duration);
  }
  add_uncut(task, cost, input, joined);
}

/// An exchange beside the next steps, which begins with them.
void Builder::add_fork(Task task, const PassStep& step, std::uint32_t input) {
  StageState& now = state(task.rank);
  meet_marks(task.rank);
  task.cost = step.cost;
  now.forked = rows_.add(task, {now.previous, input, now.waits_for});
  now.shown = step.shown;
}

void Builder::add_uncut(Task task, std::uint32_t cost, std::uint32_t input, std::uint32_t joined) {
  StageState& now = state(task.rank);
  task.cost = cost;
  const std::uint32_t previous =
      now.previous != rows_.tail(task.rank, task.stream) ? now.previous : no_task;
  now.previous = rows_.add(task, {previous, input, now.waits_for, joined});
  now.waits_for = no_task;
  now.at += rows_.duration(cost);
}

/// Weights that are needed here are waited for, gradients that are complete leave.
void Builder::meet_marks(int stage) {
  StageState& now = state(stage);
  while (!now.marks.empty() && now.marks.back().at <= now.at + rounding) {
    const std::uint32_t weights = now.marks.back().task;
    now.marks.pop_back();
    if (weights == no_task)
      release_gradients(stage);
    else
      now.waits_for = weights;  // which follow those before them
  }
}

/// Passes run more slowly while traffic goes on beside them, `both` of the time: what they lose is
/// a task of its own.
void Builder::add_slowed(int stage, Seconds both, TaskRole role) {
  const Seconds slowed = costs_.overlap.slowdown * both;
  if (slowed <= Seconds{}) return;
  TimeParts parts;
  parts.data = slowed;
  Task task;
  task.role = role;
  task.rank = stage;
  add_uncut(task, rows_.add_cost({"slowed by traffic", slowed, parts, Bytes{}}), no_task);
}

void Builder::release_gradients(int stage) {
  StageState& now = state(stage);
  rows_.add(
      {TaskKind::collective, StreamKind::data, TaskRole::gradients, now.leaving.back(), stage},
      {now.previous});
  now.leaving.pop_back();
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

/// The task with which a stage has all its gradients.
std::uint32_t Builder::reduced(int stage) {
  const StageState& now = state(stage);
  const Seconds all = costs_.gradients_of(stage);
  if (all <= Seconds{}) return now.previous;
  if (costs_.overlap.gradients) return rows_.tail(stage, StreamKind::data);
  const std::uint32_t cost = exchange_cost("gradients", all, now.reduction, all);
  return rows_.add({TaskKind::collective, StreamKind::data, TaskRole::gradients, cost, stage},
                   {now.previous});
}

/// Gradients that are left, the join of all stages (norm of the gradients), the optimizer.
void Builder::finish() {
  std::vector<std::uint32_t> synchronised;
  synchronised.reserve(stages_.size());
  for (int stage = 0; stage < costs_.shape.stages; ++stage) synchronised.push_back(reduced(stage));
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
