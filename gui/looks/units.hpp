// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <string>

#include "planner/scene/number_units.hpp"

namespace foretrain::gui {

using Units = NumberUnits;

[[nodiscard]] inline QString qt_text(const std::string& text) {
  return QString::fromStdString(text);
}

/// bytes_text() and seconds_text() for widgets.
[[nodiscard]] inline QString size_label(Bytes value, const Units& units) {
  return QString::fromStdString(bytes_text(value, units));
}
[[nodiscard]] inline QString time_label(Seconds value, const Units& units) {
  return QString::fromStdString(seconds_text(value, units));
}

}  // namespace foretrain::gui
