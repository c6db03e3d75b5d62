// SPDX-License-Identifier: Apache-2.0
#include "tests/planner/step/graph_fixtures.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace foretrain::fixtures {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

class Maker {
 public:
  explicit Maker(const StepShape& shape) : shape_{shape} {
    graph_.ranks = shape.stages;
    graph_.first.push_back(0);
    const auto cost = [&](const char* name, Seconds time) {
      graph_.costs.push_back({name, time, {}, 1.0 * MiB});
      graph_.costs.back().parts.compute = time;
    };
    cost("forward", 1.0 / shape.layers * ms);
    cost("backward", 2.0 / shape.layers * ms);
    cost("input gradient", 1.0 / shape.layers * ms);
    cost("weight gradient", 1.0 / shape.layers * ms);
    cost("transfer", 0.1 * ms);
    cost("weights", 0.5 * ms);
    cost("gradients", 0.8 * ms);
    cost("fixed", 0.3 * ms);
    cost("optimizer", 0.2 * ms);
  }

  TaskGraph make();

 private:
  std::uint32_t add(const Task& task, std::vector<std::uint32_t> waits) {
    const auto id = static_cast<std::uint32_t>(graph_.tasks.size());
    const auto [tail, fresh] = tails_.try_emplace({task.rank, task.stream}, id);
    if (!fresh) waits.push_back(std::exchange(tail->second, id));
    graph_.tasks.push_back(task);
    std::sort(waits.begin(), waits.end());
    for (const std::uint32_t other : waits)
      if (other != none) graph_.predecessors.push_back(other);
    graph_.first.push_back(static_cast<std::uint32_t>(graph_.predecessors.size()));
    return id;
  }
  std::uint32_t pass(TaskRole role, std::uint32_t cost, int stage, int micro, std::uint32_t input);
  std::uint32_t send(std::uint32_t from, int stage, int to, int micro);
  bool step(int stage, int index);

  StepShape shape_;
  TaskGraph graph_;
  std::map<std::pair<int, StreamKind>, std::uint32_t> tails_;
  std::map<std::pair<int, int>, std::uint32_t> forward_;  ///< result at (stage, micro)
  std::map<std::pair<int, int>, std::uint32_t> backward_;
  std::vector<std::uint32_t> gathered_;
};

std::uint32_t Maker::pass(TaskRole role, std::uint32_t cost, int stage, int micro,
                          std::uint32_t input) {
  std::uint32_t last = none;
  for (int layer = 0; layer < shape_.layers; ++layer) {
    Task task{TaskKind::compute,
              StreamKind::compute,
              role,
              cost,
              stage,
              -1,
              micro,
              0,
              shape_.layers > 1 ? layer : -1};
    last = add(task, {layer == 0 ? input : none});
  }
  return last;
}

std::uint32_t Maker::send(std::uint32_t from, int stage, int to, int micro) {
  if (to < 0 || to >= shape_.stages || !shape_.transfers) return from;
  return add({TaskKind::flow, StreamKind::send, TaskRole::transfer, 4, stage, to, micro}, {from});
}

/// Runs pass `index` of a stage's 1F1B order when what it waits for is there.
bool Maker::step(int stage, int index) {
  const int micros = shape_.microbatches;
  const int warmup = std::min(shape_.stages - 1 - stage, micros);
  const int after = index - warmup;
  const bool steady = after >= 0 && after < 2 * (micros - warmup);
  const bool is_forward = index < warmup || (steady && after % 2 == 0);
  const int micro = index < warmup ? index
                    : steady       ? after / 2 + (is_forward ? warmup : 0)
                                   : index - micros;
  const int from = is_forward ? stage - 1 : stage + 1;
  const auto& results = is_forward ? forward_ : backward_;
  const bool outside = from < 0 || from >= shape_.stages;
  const auto input = results.find({from, micro});
  if (!outside && input == results.end()) return false;
  const std::uint32_t first = outside ? none : input->second;
  const std::uint32_t waits = index == 0 ? gathered_[static_cast<std::size_t>(stage)] : first;
  if (is_forward) {
    const std::uint32_t done =
        pass(TaskRole::forward, 0, stage, micro, index == 0 && stage > 0 ? first : waits);
    forward_[{stage, micro}] = send(done, stage, stage + 1, micro);
  } else if (shape_.split_backward) {
    const std::uint32_t done = pass(TaskRole::input_gradient, 2, stage, micro, first);
    backward_[{stage, micro}] = send(done, stage, stage - 1, micro);
    pass(TaskRole::weight_gradient, 3, stage, micro, none);
  } else {
    const std::uint32_t done = pass(TaskRole::backward, 1, stage, micro, first);
    backward_[{stage, micro}] = send(done, stage, stage - 1, micro);
  }
  return true;
}

TaskGraph Maker::make() {
  for (int stage = 0; stage < shape_.stages; ++stage)
    gathered_.push_back(
        add({TaskKind::collective, StreamKind::data, TaskRole::weights, 5, stage}, {}));
  std::vector<int> next(static_cast<std::size_t>(shape_.stages), 0);
  const int passes = 2 * shape_.microbatches;
  for (bool moved = true; moved;) {
    moved = false;
    for (int stage = 0; stage < shape_.stages; ++stage)
      while (next[static_cast<std::size_t>(stage)] < passes &&
             step(stage, next[static_cast<std::size_t>(stage)])) {
        ++next[static_cast<std::size_t>(stage)];
        moved = true;
      }
  }
  std::vector<std::uint32_t> reduced;
  for (int stage = 0; stage < shape_.stages; ++stage)
    reduced.push_back(add({TaskKind::collective, StreamKind::data, TaskRole::gradients, 6, stage},
                          {tails_[{stage, StreamKind::compute}]}));
  const std::uint32_t join =
      add({TaskKind::delay, StreamKind::compute, TaskRole::constant, 7, 0}, reduced);
  for (int stage = 0; stage < shape_.stages; ++stage)
    add({TaskKind::compute, StreamKind::compute, TaskRole::optimizer, 8, stage}, {join});
  return std::move(graph_);
}

}  // namespace

TaskGraph step_graph(const StepShape& shape) { return Maker{shape}.make(); }

}  // namespace foretrain::fixtures
