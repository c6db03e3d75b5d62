// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/step/path.hpp"
#include "models/step/task_graph.hpp"
#include "planner/scene/scene.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain {

/// One step as rows of letters or coloured blocks: a row per stage, its compute and exchanges in
/// front, traffic where nothing else runs. A step with many micro-batches shows how it begins and
/// how it ends; what lies between is told in words. No line is longer than style.width.
/// @pre the graph has tasks, and the timeline is its own
[[nodiscard]] std::string gantt_text(const TaskGraph& graph, const Timeline& timeline,
                                     const TextStyle& style);

/// What the heading of a picture says.
struct GanttTitle {
  std::string name;     ///< of the scenario
  std::string details;  ///< second line, e.g. step time and MFU
};

/// The same as a picture: a lane per stage with passes above and traffic below, idle time as grey
/// ground, the critical path outlined, a time axis, a legend; as SVG below 2 MB for any step.
/// @pre the graph has tasks, and the timeline is its own
[[nodiscard]] Scene gantt_chart(const TaskGraph& graph, const Timeline& timeline,
                                const GanttTitle& title);

}  // namespace foretrain
