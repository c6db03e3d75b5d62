// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSize>
#include <QString>

#include "gui/theme.hpp"

namespace foretrain::gui {

/// `foretrain-gui --render OUT --view ID SCENARIO`: one view, or the whole window as "window",
/// drawn without a display. main() has started a QApplication on the offscreen platform.
struct RenderRequest {
  QString out;  ///< .png or .svg
  QString view;
  QString scenario;  ///< file
  QSize size{1280, 800};
  ThemeKind theme = ThemeKind::light;
  double scale = 1.0;  ///< device pixels per unit
};

/// What main() says and exits with.
struct RenderOutcome {
  int code = 0;     ///< exit codes of `foretrain`: 0, 2 bad usage or input, 3 infeasible
  QString message;  ///< one sentence; empty on success
};

/// Waits until the view has settled, and writes the file.
[[nodiscard]] RenderOutcome render(const RenderRequest& request);

}  // namespace foretrain::gui
