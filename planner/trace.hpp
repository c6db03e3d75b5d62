// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/path.hpp"
#include "models/prediction.hpp"
#include "models/task_graph.hpp"

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
  std::vector<Point> points;  ///< ascending
};

/// One step in the JSON trace event format, which Perfetto (ui.perfetto.dev) and chrome://tracing
/// open: a process per stage, a thread per stream that has tasks, a complete event per task that
/// takes time, an arrow from every transfer to the task that waits for it, a track per counter.
/// Times are microseconds with whole nanoseconds, so that neighbours touch and nothing overlaps on
/// a track.
/// @pre the timeline is the graph's own
[[nodiscard]] std::string trace_json(const TaskGraph& graph, const Timeline& timeline,
                                     const TraceTitle& title,
                                     const std::vector<TraceCounter>& counters = {});

}  // namespace foretrain
