// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/forecast/memory_course.hpp"
#include "models/forecast/path_forecast.hpp"
#include "models/step/task_graph.hpp"
#include "planner/forecast/report.hpp"

namespace foretrain {

struct Scene;
struct SceneSpace;

/// One task on a time axis.
struct StepSlice {
  Seconds from;
  Seconds to;
  std::uint32_t task = 0;  ///< id in the graph
  TaskRole role = TaskRole::forward;
  std::int32_t micro = -1;
  std::int32_t chunk = 0;
};

/// What one stage does in a step, each list in order of time.
struct StepRow {
  std::vector<StepSlice> work;      ///< compute, copies, and exchanges that interrupt it
  std::vector<StepSlice> exchange;  ///< with neighbouring stages
  std::vector<StepSlice> data;      ///< over the data-parallel ranks
  Seconds busy;                     ///< time with work
};

/// A row per stage; tasks that take no time are left out. @pre the timeline is the graph's own
[[nodiscard]] std::vector<StepRow> step_rows(const StepPath& path);

/// By task id: whether it lies on the longest path (critical_path()).
[[nodiscard]] std::vector<bool> on_critical_path(const StepPath& path);

/// "backward of micro-batch 12", "gradient reduction", "transfer to stage 4 of micro-batch 3".
[[nodiscard]] std::string slice_name(const TaskGraph& graph, std::uint32_t task);

/// Which link a task uses, with its rate: "InfiniBand NDR between hosts, 50.0 GB/s per GPU"; empty
/// for tasks that move nothing. Ranks fill hosts in order, as the closed form and the path have
/// them.
[[nodiscard]] std::string slice_link(const Job& job, const TaskGraph& graph, std::uint32_t task);

/// Device memory of a stage over the step, see models/forecast/memory_course.hpp. @pre the path is
/// the report's own
[[nodiscard]] MemoryCourse stage_memory_course(const Report& report, const StepPath& path,
                                               int stage);

/// Device memory of one stage over the step, category by category, the most within each pixel.
/// @pre course has two points
[[nodiscard]] Scene course_chart(const MemoryCourse& course, Bytes usable, const SceneSpace& space);
[[nodiscard]] std::string course_csv(const MemoryCourse& course);

/// Passes of one step over all stages and chunks: forward and backward of every micro-batch. The
/// task graph of the step has a small multiple of these. Zero where the plan cannot run.
[[nodiscard]] std::int64_t step_passes(const Report& report);

/// One step of a forecast as a task graph with the start and end of every task, for pictures.
/// Nothing where the plan cannot run.
[[nodiscard]] std::optional<StepPath> play_step(const Report& report, Detail detail = Detail::pass);

}  // namespace foretrain
