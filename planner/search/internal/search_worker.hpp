// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "planner/search/search.hpp"

namespace foretrain::search_detail {

[[nodiscard]] inline bool lighter(const ScoredPlan& a, const ScoredPlan& b) {
  return std::tuple{a.peak.value(), a.index} < std::tuple{b.peak.value(), b.index};
}

[[nodiscard]] inline bool lighter(const NearPlan& a, const NearPlan& b) {
  return lighter(a.plan, b.plan);
}

[[nodiscard]] inline bool nearer(const NearPlan& a, const NearPlan& b) {
  return std::tuple{a.excess.ratio, a.plan.index} < std::tuple{b.excess.ratio, b.plan.index};
}

using Order = bool (*)(const NearPlan&, const NearPlan&);

inline void keep_first(std::optional<NearPlan>& kept, const std::optional<NearPlan>& plan,
                       Order before) {
  if (plan && (!kept || before(*plan, *kept))) kept = plan;
}

using Clock = std::chrono::steady_clock;

/// All combinations of one block, or as many of them as there was time for.
struct BlockResult {
  std::int64_t evaluated = 0;
  std::int64_t feasible = 0;
  std::int64_t better = 0;
  std::map<std::string, Rejection, std::less<>> rejected;
  std::vector<ScoredPlan> best;    ///< fastest first
  std::optional<NearPlan> heavy;   ///< least memory of those that lack some
  std::optional<NearPlan> beyond;  ///< least beyond its limits, of those that fit
};

/// A plan that fits, with what its step takes at least.
struct Waiting {
  ScoredPlan plan;
  Seconds least;
  bool close = false;  ///< `least` is by least_step_seconds(), not by StepBounds
};

/// For heaps with the plan in front that promises most.
[[nodiscard]] inline bool promises_less(const Waiting& a, const Waiting& b) {
  return std::tuple{a.least.value(), a.plan.index} > std::tuple{b.least.value(), b.plan.index};
}

/// Shared by the threads of one search.
struct SharedSearch {
  const Job& base;
  const SearchSpace& space;
  const SearchOptions& options;
  Clock::time_point end = Clock::time_point::max();
  std::atomic<std::int64_t> next{0};
  std::atomic<std::int64_t> done{0};
  std::atomic<bool> stopped{false};
  /// A step that `top` plans of the same machine and batch are known to keep, in seconds.
  std::atomic<double> beaten{std::numeric_limits<double>::infinity()};
  std::vector<BlockResult> blocks{};
  /// Where all steps compare and none is asked for, plans are timed when all blocks are known,
  /// those that promise most first: a heap, once all are there.
  std::vector<Waiting> waiting{};
  std::priority_queue<double> shortest{};  ///< steps, at most `top`, the longest on top
  std::mutex adding{};                     ///< to these two
  std::atomic<std::size_t> timed{0};       ///< of those that waited

  /// Whether a block's plans may wait for the other blocks.
  [[nodiscard]] bool waits(std::vector<Waiting>& more) {
    constexpr std::size_t most = 2'000'000;  // 80 MB
    if (!one_machine_and_batch() || options.limits.judge_time()) return false;
    const std::lock_guard lock{adding};
    if (waiting.size() + more.size() > most) return false;
    waiting.insert(waiting.end(), more.begin(), more.end());
    more.clear();
    return true;
  }
  /// Takes the plan that promises most; none: no more wait.
  [[nodiscard]] std::optional<Waiting> most_promising() {
    const std::lock_guard lock{adding};
    if (waiting.empty()) return std::nullopt;
    std::pop_heap(waiting.begin(), waiting.end(), promises_less);
    const Waiting one = waiting.back();
    waiting.pop_back();
    return one;
  }
  void put_back(const Waiting& one) {
    const std::lock_guard lock{adding};
    waiting.push_back(one);
    std::push_heap(waiting.begin(), waiting.end(), promises_less);
  }
  /// Whether steps of all blocks compare with each other.
  [[nodiscard]] bool one_machine_and_batch() const {
    return space.machines.size() == 1 && space.global_batch.size() == 1;
  }
  /// @pre one_machine_and_batch()
  void note(double seconds) {
    if (seconds >= beaten.load()) return;
    const std::lock_guard lock{adding};
    shortest.push(seconds);
    if (shortest.size() > options.top) shortest.pop();
    if (shortest.size() == options.top) beaten = shortest.top();
  }
  [[nodiscard]] bool must_stop() {
    if ((options.stop != nullptr && options.stop->load()) || Clock::now() >= end) stopped = true;
    return stopped;
  }
};

/// Tries all blocks with the threads of the options, each of which then times what waits. Results
/// of waiting plans stand behind those of the blocks.
void try_all(SharedSearch& shared);

}  // namespace foretrain::search_detail
