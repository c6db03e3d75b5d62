// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "gui/looks/theme.hpp"
#include "planner/answer/answer.hpp"

namespace foretrain::gui {

/// What an answer says, as widgets below each other: the third of its renderers, beside text and
/// pages. Sections for terminals alone are left out.
[[nodiscard]] QWidget* answer_widgets(const Answer& answer, const Theme& theme);

}  // namespace foretrain::gui
