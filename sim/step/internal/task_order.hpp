// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/step/task_graph.hpp"

namespace foretrain {

/// Tasks that wait for a task, as compressed rows.
struct Successors {
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> ids;

  [[nodiscard]] std::span<const std::uint32_t> after(std::uint32_t task) const {
    return {ids.data() + first[task], ids.data() + first[task + 1]};
  }
};

[[nodiscard]] inline Successors successors_of(const TaskGraph& graph) {
  const std::size_t count = graph.tasks.size();
  Successors result{std::vector<std::uint32_t>(count + 1),
                    std::vector<std::uint32_t>(graph.predecessors.size())};
  for (const std::uint32_t before : graph.predecessors) ++result.first[before + 1];
  for (std::size_t id = 0; id < count; ++id) result.first[id + 1] += result.first[id];
  std::vector<std::uint32_t> next(result.first.begin(), result.first.end() - 1);
  for (std::uint32_t id = 0; id < count; ++id)
    for (const std::uint32_t before : graph.before(id)) result.ids[next[before]++] = id;
  return result;
}

}  // namespace foretrain
