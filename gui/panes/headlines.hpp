// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include <vector>

#include "gui/looks/units.hpp"
#include "gui/process/study.hpp"

namespace foretrain::gui {

enum class Tone { plain, good, caution, bad, unknown };

/// One number that people look at first.
struct Headline {
  QString id;     ///< "memory", "step", "mfu", "throughput", "run", "cost"
  QString title;  ///< what it is
  QString value;  ///< the number, or a verdict
  QString detail;
  QString tooltip;
  Tone tone = Tone::plain;
  QString difference{};  ///< to the reference, signed; empty: none, or the same
  Tone difference_tone = Tone::plain;
};

/// Always the same six, in the same order. Numbers are those of the report, rounded as `foretrain
/// simulate` prints them. Differences are to `reference`, where both know the number.
[[nodiscard]] std::vector<Headline> headlines(const Study& study, const Units& units,
                                              const Study* reference = nullptr);

/// "Fits", "Out of memory", "Not modelled", "Not a legal plan" or "Not a scenario".
[[nodiscard]] QString verdict_of(const Study& study);

}  // namespace foretrain::gui
