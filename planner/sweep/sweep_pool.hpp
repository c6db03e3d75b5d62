// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "models/base/quantity.hpp"
#include "planner/sweep/sweep_row.hpp"

namespace foretrain {

struct PoolOptions {
  int workers = 1;
  std::optional<Seconds> timeout;           ///< longest time for one point
  const std::atomic<bool>* stop = nullptr;  ///< once true, no new point is started
};

/// Where points come from and rows go to. All are called in the process that runs the pool.
struct PoolTraffic {
  /// Up to `wanted` points to do next; none at all: there are no more.
  std::function<std::vector<std::int64_t>(std::size_t wanted)> take;
  /// Rows in any order, each point once.
  std::function<void(std::vector<SweepRow> rows)> deliver;
  /// Called ten times a second or more often.
  std::function<void()> idle;
};

/// Runs `forecast` in forked worker processes until there are no more points, or until it is
/// stopped. Nothing that a worker does can take the pool along: an exception, or a point whose
/// worker dies twice, or one that takes longer than the timeout, becomes a row that says so.
/// Workers see memory as it is when the pool starts; they end with the process that runs it,
/// however that ends.
/// @param metrics columns of a row, for rows of points that failed
/// @pre no other thread of this process holds a lock that `forecast` needs
/// @throws SystemError when processes cannot be had
void run_pool(const std::function<SweepRow(std::int64_t)>& forecast, std::size_t metrics,
              const PoolOptions& options, const PoolTraffic& traffic);

}  // namespace foretrain
