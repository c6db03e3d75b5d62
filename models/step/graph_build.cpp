// SPDX-License-Identifier: Apache-2.0
#include "models/step/graph_build.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/base/require.hpp"
#include "models/base/too_large.hpp"
#include "models/step/internal/graph_builder.hpp"

namespace foretrain {

namespace internal {

TaskGraph GraphBuilder::build() {
  reserve();
  const auto micros = static_cast<std::size_t>(costs_.shape.microbatches);
  results_.assign(2 * static_cast<std::size_t>(positions(costs_.shape)) * micros, no_task);
  for (int stage = 0; stage < costs_.shape.stages; ++stage) begin(stage);
  for (const OrderedPass& next : execution_order(schedule_)) add_pass(next);
  finish();
  return std::move(graph_);
}

void GraphBuilder::reserve() {
  std::size_t tasks = 10 * costs_.stages.size() + 10 * costs_.chunks.size();
  for (std::size_t s = 0; s < schedule_.stages.size(); ++s)
    for (const Pass& pass : schedule_.stages[s])
      tasks += 1 + steps_.of(costs_.index({static_cast<int>(s), pass.chunk}), pass.kind).size();
  refuse_too_large(static_cast<std::int64_t>(tasks), costs_.shape);
  graph_.tasks.reserve(tasks);
  graph_.first.reserve(tasks + 1);
  graph_.predecessors.reserve(2 * tasks);
}

void GraphBuilder::add_pass(const OrderedPass& next) {
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

void GraphBuilder::send(const OrderedPass& from, int to_stage, std::uint32_t& result) {
  const std::uint32_t cost = transfer_cost(from.stage, to_stage);
  Task task{TaskKind::flow, StreamKind::send, TaskRole::transfer, cost,
            from.stage,     to_stage,         from.pass.micro,    from.pass.chunk};
  if (costs_.transfer_blocks) task.stream = StreamKind::compute;
  result = rows_.add(task, {result});
  if (costs_.transfer_blocks) state(from.stage).previous = result;
}

/// Adds a step, cut in two where a mark lies inside it.
void GraphBuilder::add_step(const Task& like, const PassStep& step, std::uint32_t input) {
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
    const Forked ended = std::exchange(now.forked[static_cast<std::size_t>(step.joins)], Forked{});
    joined = ended.task;
    now.at += ended.shown;
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
void GraphBuilder::add_fork(Task task, const PassStep& step, std::uint32_t input) {
  StageState& now = state(task.rank);
  meet_marks(task.rank);
  task.cost = step.cost;
  Forked& forked = now.forked[static_cast<std::size_t>(task.stream)];
  forked.task = rows_.add(task, {now.previous, input, now.waits_for});
  forked.shown += step.shown;
}

void GraphBuilder::add_uncut(Task task, std::uint32_t cost, std::uint32_t input,
                             std::uint32_t joined) {
  StageState& now = state(task.rank);
  task.cost = cost;
  const std::uint32_t previous =
      now.previous != rows_.tail(task.rank, task.stream) ? now.previous : no_task;
  now.previous = rows_.add(task, {previous, input, now.waits_for, joined});
  now.waits_for = no_task;
  now.at += rows_.duration(cost);
}

// The end of a step: gradients that are left, the join of all stages, the optimizer.

/// Both ends of the model add up the gradients of the embedding that they share.
void GraphBuilder::reduce_tied(std::vector<std::uint32_t>& synchronised) {
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
void GraphBuilder::finish_staggered(const std::vector<std::uint32_t>& synchronised) {
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
std::uint32_t GraphBuilder::reduced(int stage) {
  const StageState& now = state(stage);
  const Seconds all = costs_.gradients_of(stage);
  if (all <= Seconds{}) return now.previous;
  if (costs_.overlap.gradients) return rows_.tail(stage, StreamKind::data);
  const std::uint32_t cost = exchange_cost("gradients", all, now.reduction, all);
  return rows_.add({TaskKind::collective, StreamKind::data, TaskRole::gradients, cost, stage},
                   {now.previous});
}

/// Gradients that are left, the join of all stages (norm of the gradients), the optimizer.
void GraphBuilder::finish() {
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

}  // namespace internal

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
  return internal::GraphBuilder{costs, schedule, detail, operators, exchanges}.build();
}

}  // namespace foretrain
