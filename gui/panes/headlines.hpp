// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include <vector>

#include "gui/looks/units.hpp"
#include "gui/process/study.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain::gui {

/// One number that people look at first.
struct Headline {
  QString title;  ///< what it is: the figure's label
  QString value;  ///< the number, or a verdict
  QString detail;
  QString tooltip;
  Tone tone = Tone::plain;
  QString difference{};  ///< to the reference, signed; empty: none, or the same
  Tone difference_tone = Tone::plain;
};

/// The verdict, then the figures of the answer's head, in its words; of a training run always the
/// same, memory with the verdict. Differences are to `reference`, where both know the number.
[[nodiscard]] std::vector<Headline> headlines(const Study& study, const Units& units,
                                              const Study* reference = nullptr);

/// "OUT OF MEMORY", "out-of-memory" -> "Out of memory".
[[nodiscard]] QString sentence_case(const std::string& words);

}  // namespace foretrain::gui
