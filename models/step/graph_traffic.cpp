// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "models/base/ranges.hpp"
#include "models/step/internal/graph_builder.hpp"

/// What the chunks of a stage exchange once per step: weights in buckets that passes wait for, and
/// gradients in buckets that passes fill.
namespace foretrain::internal {
namespace {

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

}  // namespace

int GraphBuilder::most_tasks() const { return detail_ == Detail::pass ? 2 : most_buckets; }

/// The exchanges of a stage that happen once per step, charged `all` together: the stack's share of
/// the bus and calls beyond the usual ones are in it and not in their price.
std::uint32_t GraphBuilder::charged(const std::vector<Exchanges> StepExchanges::*by_stage,
                                    int stage, Seconds all) {
  if (exchanges_ == nullptr || all <= Seconds{}) return no_exchange;
  Exchanges exchanges = (exchanges_->*by_stage)[static_cast<std::size_t>(stage)];
  const double factor = exchanges.time > Seconds{} ? all / exchanges.time : 1.0;
  constexpr double alike = 1e-12;
  if (std::abs(factor - 1.0) > alike) exchanges.latency *= factor;
  exchanges.time = all;
  return rows_.add_exchanges(std::move(exchanges));
}

/// Weights arrive before the first pass, or beside the first pass of every chunk.
void GraphBuilder::begin(int stage) {
  StageState& now = state(stage);
  const auto chunks = static_cast<std::size_t>(costs_.shape.chunks);
  now.needs.resize(chunks);
  now.begun.resize(chunks);
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
void GraphBuilder::gather_weights(int stage, std::uint32_t exchange) {
  StageState& now = state(stage);
  const Seconds all = costs_.weights_of(stage);
  for (const Pass& pass : schedule_.stages[static_cast<std::size_t>(stage)]) {
    const auto chunk = static_cast<std::size_t>(pass.chunk);
    if (pass.kind != PassKind::forward || !now.needs[chunk].empty()) continue;
    const ChunkTraffic traffic = costs_.traffic_at(costs_.index({stage, pass.chunk}));
    const std::vector<BucketTask> buckets = bucket_tasks(traffic.buckets, most_tasks());
    for (const BucketTask& bucket : Reversed(buckets)) {
      const std::uint32_t cost =
          exchange_cost("weights", bucket.share * traffic.weights, exchange, all);
      const std::uint32_t task =
          rows_.add({TaskKind::collective, StreamKind::data, TaskRole::weights, cost, stage}, {});
      now.needs[chunk].push_back({Seconds{1.0 - bucket.at}, task});
    }
  }
}

/// The last pass of each chunk that makes gradients of weights.
void GraphBuilder::find_fills(int stage) {
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

void GraphBuilder::begin_pass(const OrderedPass& next, Seconds duration) {
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

void GraphBuilder::end_pass(const OrderedPass& next, Seconds duration) {
  const auto& [pass, stage] = next;
  StageState& now = state(stage);
  now.done += duration;
  meet_marks(stage);
  if (pass.kind == PassKind::forward) now.begun[static_cast<std::size_t>(pass.chunk)] = true;
  const std::vector<Seconds>& lost = lost_to_gathers_[static_cast<std::size_t>(stage)];
  if (now.passes < lost.size()) add_slowed(stage, lost[now.passes], TaskRole::weights);
  // What the stage's last pass fills leaves when the stage has nothing left to do.
  if (++now.passes < now.fills.size()) release_all(stage);
}

/// After the last pass of a stage and what it sends.
void GraphBuilder::end_stage(int stage) {
  StageState& now = state(stage);
  if (costs_.overlap.gradients)
    add_slowed(stage,
               costs_.overlap.slowdown * min(costs_.gradients_of(stage), now.done - now.filling),
               TaskRole::gradients);
  release_all(stage);
}

/// Weights that are needed here are waited for, gradients that are complete leave.
void GraphBuilder::meet_marks(int stage) {
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

/// Passes run more slowly while traffic goes on beside them: what they lose is a task of its own.
void GraphBuilder::add_slowed(int stage, Seconds slowed, TaskRole role) {
  if (slowed <= Seconds{}) return;
  TimeParts parts;
  parts.data = slowed;
  Task task;
  task.role = role;
  task.rank = stage;
  add_uncut(task, rows_.add_cost({"slowed by traffic", slowed, parts, Bytes{}}), no_task);
}

void GraphBuilder::release_gradients(int stage) {
  StageState& now = state(stage);
  rows_.add(
      {TaskKind::collective, StreamKind::data, TaskRole::gradients, now.leaving.back(), stage},
      {now.previous});
  now.leaving.pop_back();
}

}  // namespace foretrain::internal
