// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>

namespace foretrain::bench {

/// What the benchmarked calls return ends here, so that no call can be optimised away.
inline volatile double sink = 0.0;

/// Only operations whose name has this in it are measured.
inline std::string_view only{};

/// CPU time, which other programs on the machine disturb less than wall time; one thread runs.
double seconds_for(const auto& call, int calls) {
  const std::clock_t start = std::clock();
  for (int i = 0; i < calls; ++i) sink = call();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// Median time of a call over eleven batches of about 50 ms each, printed with how far the batches
/// differ.
double measure(std::string_view name, const auto& call) {
  if (name.find(only) == std::string_view::npos) return 0.0;
  int calls = 1;
  while (seconds_for(call, calls) < 0.05) calls *= 2;

  std::array<double, 11> batches{};
  for (double& batch : batches) batch = seconds_for(call, calls) / calls;
  std::sort(batches.begin(), batches.end());
  const double median = batches[batches.size() / 2];
  fmt::print("{:<42} {:>10.2f} us {:>12.0f} per second   {:>3.0f} % spread\n", name, median * 1e6,
             1.0 / median, 100.0 * (batches.back() - batches.front()) / median);
  return median;
}

}  // namespace foretrain::bench
