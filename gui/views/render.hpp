// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSize>
#include <QString>
#include <QWidget>

#include <functional>
#include <memory>

#include "gui/looks/theme.hpp"
#include "gui/process/study.hpp"

namespace foretrain::gui {

/// `foretrain-gui --render OUT --view ID SCENARIO`: one view, or the whole window as "window",
/// drawn without a display. main() has started a QApplication on the offscreen platform.
struct RenderRequest {
  QString out;  ///< .png
  QString view;
  QString scenario;  ///< file
  QSize size{1280, 800};
  ThemeKind theme = ThemeKind::light;
  double scale = 1.0;                        ///< device pixels per unit
  std::shared_ptr<const TrainingLog> log{};  ///< for "diagnosis"
};

/// What main() says and exits with.
struct RenderOutcome {
  int code = 0;     ///< exit codes of `foretrain`: 0, 2 bad usage or input, 3 infeasible
  QString message;  ///< one sentence; empty on success
};

/// The main window of a study, and when its parts are final.
struct RenderedWindow {
  std::unique_ptr<QWidget> widget;
  std::function<bool()> settled;
};
using WindowMaker = std::function<RenderedWindow(const StudyPointer& study, ThemeKind theme)>;

/// Id of the whole window, beside those of the registry.
inline constexpr const char* window_view = "window";

/// "memory, waterfall, ..., window": what a request may name.
[[nodiscard]] QString view_names();

/// Waits until the view has settled, and writes the file. A plan that cannot run is drawn too.
/// @param make_window makes what "window" is; without it there is no such view
[[nodiscard]] RenderOutcome render(const RenderRequest& request,
                                   const WindowMaker& make_window = {});

}  // namespace foretrain::gui
