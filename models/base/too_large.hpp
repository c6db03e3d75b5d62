// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>

namespace foretrain {

/// A legal question whose answer, laid out pass by pass or flow by flow, is larger than memory
/// allows (docs/limits.md, "Sizes"). what() is one sentence that says how large, what is
/// possible, and what to ask instead. The program ends with exit code 2; in a sweep the point
/// fails.
class TooLarge : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Tasks of the graph of one step: some 150 bytes each.
inline constexpr std::int64_t most_graph_tasks = 4'000'000;

}  // namespace foretrain
