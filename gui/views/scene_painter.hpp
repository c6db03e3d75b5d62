// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/views/chart_text.hpp"
#include "planner/scene/scene.hpp"

class QPainter;

namespace foretrain::gui {

/// Sizes of words in the fonts of the window.
[[nodiscard]] const TextMetrics& window_metrics();

[[nodiscard]] inline QRectF to_rect(const SceneArea& area) {
  return {area.left, area.top, area.width, area.height};
}
[[nodiscard]] QColor colour_of(const Theme& theme, const SceneColour& colour);

/// Draws a scene made with window_metrics(); its words are added to `labels`.
void paint_scene(QPainter& painter, const Theme& theme, const Scene& scene,
                 std::vector<DrawnLabel>& labels);

}  // namespace foretrain::gui
