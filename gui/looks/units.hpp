// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>

#include <string>
#include <vector>

#include "planner/scene/number_units.hpp"

namespace foretrain::gui {

using Units = NumberUnits;

[[nodiscard]] inline QString qt_text(const std::string& text) {
  return QString::fromStdString(text);
}

[[nodiscard]] inline QStringList qt_list(const std::vector<std::string>& texts) {
  QStringList list;
  for (const std::string& text : texts) list << qt_text(text);
  return list;
}

/// Of answers: with the signs that a window has.
[[nodiscard]] inline QString shown_text(const std::string& text) {
  return qt_text(text).replace(QLatin1String("+-"), QStringLiteral("±"));
}

/// bytes_text() and seconds_text() for widgets.
[[nodiscard]] inline QString size_label(Bytes value, const Units& units) {
  return QString::fromStdString(bytes_text(value, units));
}
[[nodiscard]] inline QString time_label(Seconds value, const Units& units) {
  return QString::fromStdString(seconds_text(value, units));
}

}  // namespace foretrain::gui
