// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "models/base/parallel.hpp"

using namespace foretrain;

TEST_CASE("parallel: every index once, whatever the number of threads", "[models][parallel]") {
  for (const int threads : {0, 1, 3, 64}) {
    std::vector<int> seen(1000, 0);
    parallel_for(seen.size(), threads, [&](std::size_t i) { ++seen[i]; });
    CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
  }
  parallel_for(0, 4, [](std::size_t /*i*/) { FAIL("there is nothing to do"); });
}

TEST_CASE("parallel: what a helper throws reaches the caller, and the rest is left out",
          "[models][parallel]") {
  for (const int threads : {1, 4}) {
    std::atomic<int> begun{0};
    CHECK_THROWS_AS(parallel_for(10'000, threads,
                                 [&](std::size_t i) {
                                   ++begun;
                                   if (i == 10) throw std::runtime_error("stopped");
                                   // Else the others may end while the one that throws is paused.
                                   std::this_thread::sleep_for(std::chrono::microseconds(50));
                                 }),
                    std::runtime_error);
    CHECK(begun < 10'000);
  }
  CHECK_THROWS_AS(run_workers(4,
                              [](std::size_t i) {
                                if (i == 3) throw std::bad_alloc();
                              }),
                  std::bad_alloc);
}
