// SPDX-License-Identifier: Apache-2.0
#include "models/collectives/registry.hpp"

namespace foretrain {
namespace hierarchical {
namespace {

/// A phase: rings of one level, and how often around.
struct Level {
  bool inside;
  bool reduces;  ///< the first time around
  int passes;
};

std::vector<Level> levels(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::reduce_scatter:
      return {{true, true, 1}, {false, true, 1}};
    case CollectiveOp::all_gather:
      return {{false, false, 1}, {true, false, 1}};
    default:
      return {{true, true, 1}, {false, true, 2}, {true, false, 1}};
  }
}

struct Grid {
  const Seats& seats;
  int hosts = seats.host_count();
  int per_host = seats.fewest_on_a_host();

  [[nodiscard]] int member(int host, int index) const {
    const auto at = [](int i) { return static_cast<std::size_t>(i); };
    return seats.hosts[at(host % hosts)][at(index % per_host)];
  }
};

int members_around(const Grid& grid, const Level& level) {
  return level.inside ? grid.per_host : grid.hosts;
}

/// What one member sends in one step of a level, counted from the level's first. Block
/// index * hosts + host belongs to that member. Inside a host a ring moves the blocks of one index
/// on all hosts together; between hosts one block.
StepTransfer transfer_of(const Grid& grid, const Level& level, int step, int host, int index) {
  const int around = members_around(grid, level);
  const int place = level.inside ? index : host;
  const int skipped = level.reduces ? 1 : 0;
  const int moved = ((place - skipped - step) % around + 2 * around) % around;
  const bool reduces = level.reduces && step < around - 1;
  const int from = grid.member(host, index);
  if (level.inside)
    return {step, from, grid.member(host, index + 1), 0, moved * grid.hosts, grid.hosts, reduces};
  return {step, from, grid.member(host + 1, index), 0, index * grid.hosts + moved, 1, reduces};
}

/// Steps of one level from `first` on.
void add_steps(const Grid& grid, const Level& level, int first, StepPlan& plan) {
  const int steps = level.passes * (members_around(grid, level) - 1);
  for (int step = 0; step < steps; ++step)
    for (int host = 0; host < grid.hosts; ++host)
      for (int index = 0; index < grid.per_host; ++index) {
        plan.transfers.push_back(transfer_of(grid, level, step, host, index));
        plan.transfers.back().step += first;
      }
}

std::string refusal(const CollectiveProblem& problem) {
  const Seats& seats = problem.seats;
  if (problem.op != CollectiveOp::all_reduce && problem.op != CollectiveOp::all_gather &&
      problem.op != CollectiveOp::reduce_scatter)
    return "the hierarchical algorithm does all-reduce, all-gather and reduce-scatter";
  if (seats.host_count() < 2 || seats.fewest_on_a_host() < 2)
    return "there is no hierarchy: it takes several hosts with several members each";
  for (const auto& members : seats.hosts)
    if (static_cast<int>(members.size()) != seats.fewest_on_a_host())
      return "every host has to hold as many members as the others";
  return {};
}

std::vector<CollectivePhase> phases(const CollectiveProblem& problem) {
  const Grid grid{problem.seats};
  std::vector<CollectivePhase> result;
  for (const Level& level : levels(problem.op)) {
    const double steps = level.passes * ((level.inside ? grid.per_host : grid.hosts) - 1.0);
    result.push_back({level.inside ? steps : 0.0, level.inside ? 0.0 : steps, 0.0});
  }
  return result;
}

void emit(const CollectiveProblem& problem, int phase, const TransferSink& sink) {
  const Grid grid{problem.seats};
  const Level level = levels(problem.op)[static_cast<std::size_t>(phase)];
  const double around = level.inside ? grid.per_host : grid.hosts;
  const double payload = level.inside ? 1.0 : 1.0 / grid.per_host;
  const double share = level.passes * (around - 1.0) / around * payload;
  for (int host = 0; host < grid.hosts; ++host)
    for (int index = 0; index < grid.per_host; ++index)
      sink({grid.member(host, index),
            level.inside ? grid.member(host, index + 1) : grid.member(host + 1, index), share, 0});
}

StepPlan steps(const CollectiveProblem& problem, int /*chunks*/) {
  const Grid grid{problem.seats};
  StepPlan plan;
  plan.blocks = problem.seats.size();
  plan.block_share = 1.0 / plan.blocks;
  for (const Level& level : levels(problem.op)) {
    add_steps(grid, level, plan.steps, plan);
    plan.steps += level.passes * ((level.inside ? grid.per_host : grid.hosts) - 1);
  }
  return plan;
}

}  // namespace
}  // namespace hierarchical

// One call per level: rings inside hosts, then rings between members of equal index on all hosts,
// then inside again. As 2D all-reduces of frameworks do (Mikami et al., arXiv 1811.05233).
constinit const CollectiveScheme hierarchical_scheme{
    "hierarchical",        "hierarch.",          "rings inside hosts, then between, then in",
    hierarchical::refusal, hierarchical::phases, hierarchical::emit,
    hierarchical::steps};

}  // namespace foretrain
