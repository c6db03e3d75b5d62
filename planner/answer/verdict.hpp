// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "models/base/names.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain {

/// What an answer means to somebody who is about to act on it. Decided once, from both ends of the
/// band; words, colours and exit codes follow from it.
enum class Verdict {
  safe,     ///< both ends of the band keep the limit
  at_risk,  ///< the forecast keeps it, the far end of its band does not
  no        ///< the forecast breaks it, or it cannot run
};
FORETRAIN_ENUM_NAMES(Verdict, {Verdict::safe, "safe"}, {Verdict::at_risk, "at-risk"},
                     {Verdict::no, "no"});

[[nodiscard]] Tone tone_of(Verdict verdict);

/// A forecast with the 10th and 90th percentile of what it may turn out to be.
struct Banded {
  double low = 0.0;
  double value = 0.0;
  double high = 0.0;
};

/// A number against the most that it may be.
[[nodiscard]] Verdict within(const Banded& number, double most);

/// Chance that a number turns out to be at most that: log-normal around the forecast, each half
/// with its own percentile; half where the limit is the forecast itself. An end on the wrong side
/// of the forecast counts as none: that half has no width. @pre value and limit are positive
[[nodiscard]] double chance_below(const Banded& number, double most);

/// Of something that is kept with this probability: safe from 0.9 on, no below 0.1, else at risk.
[[nodiscard]] Verdict of_chance(double chance);

/// Which of two forecasts is ahead; a tie where their bands leave it open.
enum class Ahead { first, second, tie };

struct Contest {
  Ahead ahead = Ahead::tie;
  double first_is_less = 0.5;  ///< probability
};

/// Whether what is compared has one device, network and stack: then what the forecasts are wrong
/// about is mostly the same on both sides, and a smaller difference decides.
enum class Machines { same, different };

/// Errors are taken as log-normal, their correlation from pairs of measured runs (planner/answer,
/// README). Decided from a chance of 90 % on. @pre all numbers are positive
[[nodiscard]] Contest contest(const Banded& first, const Banded& second, Machines machines);

}  // namespace foretrain
