// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/views/chart_canvas.hpp"
#include "planner/scene/scene.hpp"

namespace foretrain::gui {

/// Sizes of words in the fonts of the window.
[[nodiscard]] const TextMetrics& window_metrics();

[[nodiscard]] inline QRectF to_rect(const SceneArea& area) {
  return {area.left, area.top, area.width, area.height};
}
[[nodiscard]] QColor colour_of(const Theme& theme, const SceneColour& colour);

/// Draws a scene made with window_metrics().
void paint_scene(Canvas& canvas, const Scene& scene);

}  // namespace foretrain::gui
