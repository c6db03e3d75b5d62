// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/verdict.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"

namespace foretrain {
namespace {

constexpr double tenth_percentile = 1.2815515655446004;  // standard deviations from the median
constexpr double decided = 0.9;

/// Correlation of the logarithmic errors of two forecasts for one machine and stack: pairs of
/// measured runs of one source, device and format (calibration/looks.md).
constexpr double same_machine_correlation = 0.45;

/// Standard deviation of the logarithm.
double spread_of(const Banded& number) {
  return std::log(number.high / number.low) / (2.0 * tenth_percentile);
}

}  // namespace

Tone tone_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::safe:
      return Tone::good;
    case Verdict::at_risk:
      return Tone::warn;
    case Verdict::no:
      break;
  }
  return Tone::bad;
}

Verdict within(const Banded& number, double most) {
  if (!(number.value <= most)) return Verdict::no;
  return number.high <= most ? Verdict::safe : Verdict::at_risk;
}

double chance_below(const Banded& number, double most) {
  FORETRAIN_REQUIRE(number.value > 0.0 && most > 0.0);
  if (most == number.value) return 0.5;
  const bool under = most < number.value;
  const double end = std::abs(std::log(under ? std::min(1.0, number.low / number.value)
                                             : std::max(1.0, number.high / number.value)));
  if (end == 0.0) return under ? 0.0 : 1.0;
  const double deviations = tenth_percentile * std::log(most / number.value) / end;
  return 0.5 * std::erfc(-deviations / std::sqrt(2.0));
}

Verdict of_chance(double chance) {
  if (chance >= decided) return Verdict::safe;
  return chance >= 1.0 - decided ? Verdict::at_risk : Verdict::no;
}

Contest contest(const Banded& first, const Banded& second, Machines machines) {
  for (const Banded& side : {first, second})
    FORETRAIN_REQUIRE(side.low > 0.0 && side.low <= side.value && side.value <= side.high);
  const double a = spread_of(first);
  const double b = spread_of(second);
  const double shared = machines == Machines::same ? same_machine_correlation : 0.0;
  const double spread = std::sqrt(std::max(0.0, a * a + b * b - 2.0 * shared * a * b));
  const double lead = std::log(second.value / first.value);
  Contest result;
  if (spread > 0.0)
    result.first_is_less = 0.5 * std::erfc(-lead / spread / std::sqrt(2.0));
  else if (lead != 0.0)
    result.first_is_less = lead > 0.0 ? 1.0 : 0.0;
  if (result.first_is_less >= decided) result.ahead = Ahead::first;
  if (result.first_is_less <= 1.0 - decided) result.ahead = Ahead::second;
  return result;
}

}  // namespace foretrain
