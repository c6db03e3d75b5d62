// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QApplication>
#include <QImage>
#include <QString>

#include <memory>
#include <string>
#include <vector>

#include "gui/views/chart_view.hpp"
#include "gui/views/view.hpp"

namespace foretrain::gui::fixtures {

/// The one application of a test program, on the offscreen platform.
QApplication& application();

/// A shipped scenario with settings as for --set, forecast, with its path.
[[nodiscard]] StudyPointer study(const std::string& scenario,
                                 const std::vector<std::string>& settings = {});
/// Names of the shipped scenarios, without ".yaml".
[[nodiscard]] std::vector<std::string> scenarios();

/// A view of the registry, shown at a size in a theme, settled.
[[nodiscard]] std::unique_ptr<View> shown(const QString& id, const StudyPointer& study, QSize size,
                                          ThemeKind theme = ThemeKind::light);
/// Runs the event loop until the view has settled.
void settle(View& view);
[[nodiscard]] QImage picture(QWidget& widget);

/// Pixels of an area that differ from `ground`.
[[nodiscard]] int painted(const QImage& image, const QRect& area, const QColor& ground);
/// What is wrong with the labels of a chart: outside the widget, or one on another. Empty: nothing.
[[nodiscard]] QString label_faults(const ChartView& view);

void click(QWidget& widget, QPointF at);
void point(QWidget& widget, QPointF at);
void wheel(QWidget& widget, QPointF at, int steps);
void drag(QWidget& widget, QPointF from, QPointF to);

}  // namespace foretrain::gui::fixtures
