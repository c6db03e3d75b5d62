// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace foretrain {

/// Runs work(worker) for each worker of [0, workers) in a thread of its own, the first in this one,
/// and waits for all; where the system gives no more threads, the rest one after another in this
/// one. What the first of them throws is thrown here once all have ended.
template <class Work>
void run_workers(std::size_t workers, const Work& work) {
  std::mutex failing;
  std::exception_ptr failure;
  const auto guarded = [&](std::size_t worker) {
    try {
      work(worker);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(failing);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> helpers;
  helpers.reserve(workers);
  std::size_t started = 1;
  try {
    for (; started < workers; ++started) helpers.emplace_back(guarded, started);
  } catch (const std::system_error&) {
  }
  if (workers > 0) guarded(0);
  for (std::size_t worker = started; worker < workers; ++worker) guarded(worker);
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

/// Runs work(i) for each i of [0, count), side by side and in any order. What work throws is thrown
/// here; what had not begun by then is left out.
/// @param threads at most so many; 0: one for each core
template <class Work>
void parallel_for(std::size_t count, int threads, const Work& work) {
  const std::size_t cores = threads > 0 ? static_cast<std::size_t>(threads)
                                        : std::max(1U, std::thread::hardware_concurrency());
  std::atomic<std::size_t> next{0};
  run_workers(std::min(cores, count), [&](std::size_t /*worker*/) {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      throw;
    }
  });
}

}  // namespace foretrain
