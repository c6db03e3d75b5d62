// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <span>
#include <string_view>

#include "models/base/quantity.hpp"

namespace foretrain {

/// What an order may look at: a job that waits.
struct OrderedJob {
  Seconds submit;
  Seconds limit;  ///< that the user asked for
  int hosts = 1;
  double priority = 0.0;
};

struct QueuePolicy;

/// A way to order waiting jobs: the lowest key comes first, equal keys by submission. The key of a
/// job must not change while it waits.
struct QueueOrder {
  std::string_view name;
  std::string_view meaning;  ///< one sentence
  double (*key)(const OrderedJob&, const QueuePolicy&);
  bool by_team = false;  ///< teams by their decayed usage over share first, then by key
};

/// How many of the jobs that cannot start yet have hosts set aside for them, which jobs behind them
/// may use only as long as these are not delayed (by their time limits).
struct Backfill {
  std::string_view name;
  std::string_view meaning;
  int reservations = 0;  ///< 0: nothing behind the first job that must wait starts
};

/// What a rule for moldable jobs may look at: the moment at which one of them may start.
struct MoldingState {
  int free = 0;          ///< hosts
  int waiting_jobs = 1;  ///< that one among them
};

/// How many hosts moldable jobs start with: of their sizes the largest that is within the rule's
/// bound and can start now; the smallest is always within it.
struct MoldingRule {
  std::string_view name;
  std::string_view meaning;  ///< one sentence
  int (*most_hosts)(const MoldingState&);
};

/// Every order, kind of backfill and rule of molding there is. A new one is a row in
/// queue_policy.cpp.
[[nodiscard]] std::span<const QueueOrder> queue_orders();
[[nodiscard]] std::span<const Backfill> backfills();
[[nodiscard]] std::span<const MoldingRule> molding_rules();
/// Null where there is none of that name.
[[nodiscard]] const QueueOrder* find_order(std::string_view name);
[[nodiscard]] const Backfill* find_backfill(std::string_view name);
[[nodiscard]] const MoldingRule* find_molding(std::string_view name);

/// Which hosts a job gets.
enum class HostPlacement {
  any,   ///< hosts are alike
  pack,  ///< the fullest leaf that holds the job, else as few leaves as possible
};

struct QueuePolicy {
  const QueueOrder* order = &queue_orders().front();      ///< fifo
  const Backfill* backfill = &backfills().front();        ///< none
  const MoldingRule* molding = &molding_rules().front();  ///< widest
  int depth = 500;  ///< waiting jobs that one pass looks at, as Slurm's bf_max_job_test
  double points_per_second = 0.0;    ///< of priority, gained by waiting
  Seconds half_life{7.0 * 86400.0};  ///< of usage, as Slurm's PriorityDecayHalfLife
  bool preempt = false;              ///< by jobs of higher priority, of classes that allow it
  HostPlacement placement = HostPlacement::any;
};

}  // namespace foretrain
