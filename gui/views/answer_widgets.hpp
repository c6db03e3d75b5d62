// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/looks/theme.hpp"
#include "planner/answer/answer.hpp"

class QScrollArea;
class QWidget;

namespace foretrain::gui {

/// What an answer says, as widgets below each other: the third of its renderers, beside text and
/// pages. Sections for terminals alone are left out.
[[nodiscard]] QWidget* answer_widgets(const Answer& answer, const Theme& theme);
/// The same in an area, which stays at the place where it was scrolled to.
void show_answer(QScrollArea& area, const Answer& answer, const Theme& theme);

}  // namespace foretrain::gui
