// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "planner/sweep/sweep_row.hpp"

namespace foretrain::sweep_worker {

/// What a worker tells about itself in memory that it shares with the pool.
struct Slot {
  std::atomic<std::int64_t> point;  ///< in work; -1: none
  std::atomic<std::int64_t> since;  ///< nanoseconds of the monotonic clock
};

inline constexpr std::int64_t no_point = -1;

/// One forked process as the pool sees it.
struct Worker {
  pid_t process = -1;
  int requests = -1;                     ///< the pool writes here
  int results = -1;                      ///< and reads here
  std::deque<std::int64_t> outstanding;  ///< asked for and not answered, in order
  std::string inbox;                     ///< bytes of a row that is not complete
  Slot* slot = nullptr;

  [[nodiscard]] bool alive() const { return process > 0; }
};

/// Nanoseconds of the monotonic clock.
[[nodiscard]] std::int64_t now();

/// Forks a process that answers requests until there are none. It has no files of this one but the
/// standard ones. @throws SystemError
void start(Worker& worker, const std::function<SweepRow(std::int64_t)>& forecast,
           std::size_t metrics);

/// Asks for points; the worker is behind by less than what a pipe holds.
/// @return false when it is dead
[[nodiscard]] bool request(Worker& worker, const std::vector<std::int64_t>& points);

/// Ends a worker at once and forgets its pipes; what it was asked for stays outstanding.
/// @return how it ended, as waitpid() says it
int end(Worker& worker);

}  // namespace foretrain::sweep_worker
