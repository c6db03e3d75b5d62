// SPDX-License-Identifier: Apache-2.0
#include "sim/queue/queue_policy.hpp"

#include <array>

namespace foretrain {
namespace {

double by_submission(const OrderedJob& job, const QueuePolicy& /*policy*/) {
  return job.submit.value();
}

/// Priority grows alike for all that wait, so that the order of two jobs never changes.
double by_priority(const OrderedJob& job, const QueuePolicy& policy) {
  return policy.points_per_second * job.submit.value() - job.priority;
}

double by_limit(const OrderedJob& job, const QueuePolicy& /*policy*/) { return job.limit.value(); }

double smallest_first(const OrderedJob& job, const QueuePolicy& /*policy*/) { return job.hosts; }

double largest_first(const OrderedJob& job, const QueuePolicy& /*policy*/) { return -job.hosts; }

constexpr auto orders = std::to_array<QueueOrder>({
    {"fifo", "First come, first served.", by_submission},
    {"priority", "Highest priority first, grown by waiting (`aging`).", by_priority},
    {"fair-share",
     "Jobs of the team with the least decayed usage over its share first (Slurm's Fair Tree of one "
     "level), in a team by priority.",
     by_priority, true},
    {"shortest", "Shortest time limit first.", by_limit},
    {"smallest", "Fewest hosts first.", smallest_first},
    {"largest", "Most hosts first.", largest_first},
});

constexpr auto kinds_of_backfill = std::to_array<Backfill>({
    {"none", "Nothing behind the first job that must wait starts.", 0},
    {"easy",
     "Jobs behind the first that must wait start where they do not delay it (Lifka, JSSPP 1995).",
     1},
    {"conservative",
     "Jobs start where they delay none before them (Mu'alem and Feitelson, IEEE TPDS 12(6), 2001).",
     std::numeric_limits<int>::max()},
});

int all_free(const MoldingState& state) { return state.free; }

int even_share(const MoldingState& state) { return state.free / state.waiting_jobs; }

int no_more(const MoldingState& /*state*/) { return 0; }

constexpr auto kinds_of_molding = std::to_array<MoldingRule>({
    {"widest", "The most hosts that are free.", all_free},
    {"share",
     "The free hosts shared evenly among the jobs that wait (equal partitions: Rosti et al., "
     "Performance Evaluation 19, 1994).",
     even_share},
    {"narrowest", "Always the fewest.", no_more},
});

}  // namespace

std::span<const QueueOrder> queue_orders() { return orders; }
std::span<const Backfill> backfills() { return kinds_of_backfill; }
std::span<const MoldingRule> molding_rules() { return kinds_of_molding; }

const QueueOrder* find_order(std::string_view name) {
  for (const QueueOrder& order : orders)
    if (order.name == name) return &order;
  return nullptr;
}

const MoldingRule* find_molding(std::string_view name) {
  for (const MoldingRule& rule : kinds_of_molding)
    if (rule.name == name) return &rule;
  return nullptr;
}

const Backfill* find_backfill(std::string_view name) {
  for (const Backfill& backfill : kinds_of_backfill)
    if (backfill.name == name) return &backfill;
  return nullptr;
}

}  // namespace foretrain
