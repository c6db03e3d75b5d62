// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/forecast/path_forecast.hpp"
#include "models/inputs/job.hpp"
#include "models/step/path.hpp"
#include "models/step/task_graph.hpp"

namespace foretrain {

/// What a trace says of itself.
struct TraceTitle {
  std::string scenario;
  EngineKind engine = EngineKind::path;
};

/// A value that changes over the step.
struct TraceCounter {
  struct Point {
    Seconds time;
    double value = 0.0;
  };
  std::string name;
  std::string unit;
  std::vector<Point> points;                ///< ascending
  std::optional<int> stage = std::nullopt;  ///< whose process it belongs to; nothing: the fabric's
};

/// Device memory of every stage's heaviest rank over the step, GiB
/// (models/forecast/memory_course.hpp).
/// @pre as for memory_course()
[[nodiscard]] std::vector<TraceCounter> memory_counters(const Job& job, const StepPath& path);

/// One step in the JSON trace event format, which Perfetto (ui.perfetto.dev) and chrome://tracing
/// open: a process per stage, a thread per stream that has tasks, a complete event per task that
/// takes time, an arrow from every transfer to the task that waits for it, a track per counter,
/// with its stage or, of links, in a process behind the stages. Times are microseconds with whole
/// nanoseconds, so that neighbours touch and nothing overlaps on a track.
/// @pre the timeline is the graph's own
[[nodiscard]] std::string trace_json(const TaskGraph& graph, const Timeline& timeline,
                                     const TraceTitle& title,
                                     const std::vector<TraceCounter>& counters = {});

}  // namespace foretrain
