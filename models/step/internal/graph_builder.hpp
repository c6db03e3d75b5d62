// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "models/step/graph_build.hpp"
#include "models/step/internal/graph_passes.hpp"
#include "models/step/internal/graph_rows.hpp"
#include "models/step/pass_runner.hpp"

namespace foretrain::internal {

/// What happens in the middle of a pass, when so much of its compute is over.
struct Mark {
  Seconds at;
  std::uint32_t task = no_task;  ///< to wait for; no_task: the next gradients leave
};

/// Exchanges of a stream beside the steps until the next join.
struct Forked {
  std::uint32_t task = no_task;  ///< the last of them
  Seconds shown;                 ///< of all
};

/// How far a stage has come.
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
  bool filled = false;      ///< one of the chunks
  std::uint32_t reduction = no_exchange;  ///< of the gradients
  std::uint32_t previous = no_task;       ///< last step of a pass
  std::uint32_t waits_for = no_task;      ///< what the next step waits for besides
  std::array<Forked, GraphRows::streams> forked{};
};

/// Builds the task graph of a step pass by pass, in the order in which they are executed.
class GraphBuilder {
 public:
  GraphBuilder(const StepCosts& costs, const Schedule& schedule, Detail detail,
               const PieceOperators* operators, const StepExchanges* exchanges)
      : costs_{costs},
        schedule_{schedule},
        detail_{detail},
        exchanges_{exchanges},
        rows_{graph_, costs.shape.stages},
        steps_{costs, schedule.splits_backward(), detail, {operators, exchanges}, rows_},
        stages_(costs.stages.size()),
        lost_to_gathers_{gather_losses(costs, schedule_times(costs))} {}

  [[nodiscard]] TaskGraph build();

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
  void add_slowed(int stage, Seconds slowed, TaskRole role);
  void meet_marks(int stage);
  void release_gradients(int stage);
  void release_all(int stage) {
    while (!state(stage).leaving.empty()) release_gradients(stage);
  }
  [[nodiscard]] std::uint32_t reduced(int stage);
  [[nodiscard]] int most_tasks() const;
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
  std::uint32_t transfer_cost(int from, int to) {
    const Seconds duration = costs_.hop(from, to);
    const std::size_t sender = costs_.hop_stage(from, to);
    const auto [entry, added] = transfers_.try_emplace(duration, no_task);
    if (added)
      entry->second = exchange_cost(
          "transfer", duration,
          exchanges_ ? rows_.add_exchanges(exchanges_->transfers[sender]) : no_exchange, duration);
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
  GatherLosses lost_to_gathers_;
  std::vector<std::uint32_t> results_;          ///< task that delivers a pass's result
  std::map<Seconds, std::uint32_t> transfers_;  ///< cost keys by what they take
};

}  // namespace foretrain::internal
