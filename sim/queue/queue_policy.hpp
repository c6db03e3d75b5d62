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

/// Every order and every kind of backfill there is. A new one is a row in queue_policy.cpp.
[[nodiscard]] std::span<const QueueOrder> queue_orders();
[[nodiscard]] std::span<const Backfill> backfills();
/// Null where there is none of that name.
[[nodiscard]] const QueueOrder* find_order(std::string_view name);
[[nodiscard]] const Backfill* find_backfill(std::string_view name);

/// Which hosts a job gets.
enum class HostPlacement {
  any,   ///< hosts are alike
  pack,  ///< the fullest leaf that holds the job, else as few leaves as possible
};

struct QueuePolicy {
  const QueueOrder* order = &queue_orders().front();  ///< fifo
  const Backfill* backfill = &backfills().front();    ///< none
  int depth = 500;  ///< waiting jobs that one pass looks at, as Slurm's bf_max_job_test
  double points_per_second = 0.0;    ///< of priority, gained by waiting
  Seconds half_life{7.0 * 86400.0};  ///< of usage, as Slurm's PriorityDecayHalfLife
  bool preempt = false;              ///< by jobs of higher priority, of classes that allow it
  HostPlacement placement = HostPlacement::any;
};

}  // namespace foretrain
