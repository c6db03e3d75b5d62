// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/band_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "models/forecast/band.hpp"

namespace foretrain {
namespace {

constexpr double tail_share = (1.0 - band_coverage) / 2.0;
constexpr double normal_90 = 1.2815515655446004;  // quantile of 90 %

/// One side of all cases: errors as positive where they leave the band on that side.
struct Side {
  std::vector<double> errors;
  std::vector<double> weights;
  std::vector<std::array<double, band_kinds>> squares;  ///< of how often kinds count
};

using Widths = std::array<double, band_kinds>;

double half_width(const std::array<double, band_kinds>& squares, const Widths& widths) {
  double sum = 0.0;
  for (std::size_t kind = 0; kind < band_kinds; ++kind)
    sum += squares[kind] * widths[kind] * widths[kind];
  return std::log1p(std::sqrt(sum));
}

/// Mean loss of a quantile (Koenker, Bassett 1978), and a little for every width, so that what no
/// case asks for is no wider than needed.
double loss_of(const Side& side, const Widths& widths) {
  constexpr double pull = 2e-4;
  double sum = 0.0;
  double total = 0.0;
  for (std::size_t i = 0; i < side.errors.size(); ++i) {
    const double over = side.errors[i] - half_width(side.squares[i], widths);
    sum += side.weights[i] * (over > 0.0 ? (1.0 - tail_share) * over : -tail_share * over);
    total += side.weights[i];
  }
  double apart = 0.0;
  for (const double width : widths) apart += width * width;
  return sum / total + pull * apart;
}

/// Pattern search: every width up and down by a step, which halves where nothing gets better.
Widths least_loss(const Side& side) {
  constexpr double first_step = 0.08;
  constexpr double last_step = 5e-4;
  constexpr double widest = 2.0;
  Widths widths{};
  double best = loss_of(side, widths);
  for (double step = first_step; step >= last_step;) {
    bool better = false;
    for (std::size_t kind = 0; kind < band_kinds; ++kind)
      for (const double sign : {1.0, -1.0}) {
        Widths tried = widths;
        tried[kind] = std::clamp(tried[kind] + sign * step, 0.0, widest);
        const double loss = loss_of(side, tried);
        if (!(loss < best - 1e-9)) continue;
        best = loss;
        widths = tried;
        better = true;
      }
    if (!better) step *= 0.5;
  }
  return widths;
}

std::vector<double> case_weights(const std::vector<BandCase>& cases, double rows) {
  std::map<std::pair<FoldAxis, std::string>, double> counts;
  for (const BandCase& at : cases) counts[{at.axis, at.family}] += 1.0;
  std::vector<double> weights;
  for (const BandCase& at : cases)
    weights.push_back(std::min(1.0, rows / counts[{at.axis, at.family}]));
  return weights;
}

template <class Pick>
Side side_of(const std::vector<BandCase>& cases, double rows, double sign, const Pick& pick) {
  Side side;
  side.weights = case_weights(cases, rows);
  for (const BandCase& at : cases) {
    side.errors.push_back(sign * at.error);
    side.squares.emplace_back();
    for (std::size_t kind = 0; kind < band_kinds; ++kind)
      side.squares.back()[kind] = pick(at.facts[kind]) * pick(at.facts[kind]);
  }
  return side;
}

/// A band in ln of time, so wide that it holds `coverage` where errors are normal.
std::pair<double, double> bounds(const BandSides& band, double coverage) {
  double low = 0.0;  // the quantile by bisection: no library has it
  double high = 8.0;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (std::erf(middle / std::sqrt(2.0)) < coverage ? low : high) = middle;
  }
  const double scale = high / normal_90;
  return {-scale * std::log1p(band.low), scale * std::log1p(band.high)};
}

class Scores {
 public:
  void add(const BandCase& at, const BandSides& band, double weight) {
    ++sum_.cases;
    sum_.weight += weight;
    sum_.covered += in_band(at, band) ? weight : 0.0;
    sum_.score += weight * interval_score(at, band);
    sum_.width += weight * (std::log1p(band.low) + std::log1p(band.high));
  }
  [[nodiscard]] BandScore mean() const {
    BandScore mean = sum_;
    if (mean.weight > 0.0)
      for (double* const value : {&mean.covered, &mean.score, &mean.width}) *value /= mean.weight;
    return mean;
  }

 private:
  BandScore sum_;
};

/// The constant band with the least score, to a thousandth of the step.
void compare_with_constant(const std::vector<BandCase>& cases, const std::vector<double>& weights,
                           BandCheck& check) {
  constexpr int widest = 600;  // thousandths
  for (int thousandths = 1; thousandths < widest; ++thousandths) {
    const double width = thousandths * 1e-3;
    Scores scores;
    for (std::size_t i = 0; i < cases.size(); ++i) scores.add(cases[i], {width, width}, weights[i]);
    const BandScore score = scores.mean();
    if (check.constant > 0.0 && score.score >= check.constant_all.score) continue;
    check.constant = width;
    check.constant_all = score;
  }
}

std::vector<std::string> families_of(const std::vector<BandCase>& cases) {
  std::vector<std::string> families;
  for (const BandCase& at : cases)
    if (!contains(families, at.family)) families.push_back(at.family);
  return families;
}

/// Widths of the least loss.
BandByKind tight_widths(const std::vector<BandCase>& cases, double rows) {
  const auto low_of = [](const BandSides& sides) { return sides.low; };
  const auto high_of = [](const BandSides& sides) { return sides.high; };
  const Widths low = least_loss(side_of(cases, rows, -1.0, low_of));
  const Widths high = least_loss(side_of(cases, rows, 1.0, high_of));
  BandByKind widths{};
  for (std::size_t kind = 0; kind < band_kinds; ++kind) widths[kind] = {low[kind], high[kind]};
  return widths;
}

/// The bands of all cases, each with the widths of the least loss over other families; alone, it
/// has none.
std::vector<BandSides> nested_bands(const std::vector<BandCase>& cases, double rows) {
  std::vector<BandSides> bands(cases.size());
  for (const std::string& family : families_of(cases)) {
    std::vector<BandCase> others;
    for (const BandCase& at : cases)
      if (at.family != family) others.push_back(at);
    if (others.empty()) continue;
    const BandByKind widths = tight_widths(others, rows);
    for (std::size_t i = 0; i < cases.size(); ++i)
      if (cases[i].family == family) bands[i] = band_of(cases[i].facts, widths);
  }
  return bands;
}

/// By what the bands of all cases are multiplied to hold as many as they should.
double conformal_factor(const std::vector<BandCase>& cases, const std::vector<double>& weights,
                        const std::vector<BandSides>& bands) {
  std::vector<std::pair<double, double>> needed;  // factor, weight
  double total = 0.0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const double width = cases[i].error > 0.0 ? bands[i].high : bands[i].low;
    if (!(width > 0.0)) continue;
    needed.emplace_back(std::expm1(std::abs(cases[i].error)) / width, weights[i]);
    total += weights[i];
  }
  std::ranges::sort(needed);
  double sum = 0.0;
  for (const auto& [factor, weight] : needed)
    if ((sum += weight) >= band_coverage * total) return std::max(1.0, factor);
  return 1.0;
}

}  // namespace

BandByKind fit_band_widths(const std::vector<BandCase>& cases, double rows) {
  FORETRAIN_REQUIRE(!cases.empty() && rows > 0.0);
  const double factor =
      conformal_factor(cases, case_weights(cases, rows), nested_bands(cases, rows));
  const auto rounded = [](double width) { return std::round(width * 1000.0) / 1000.0; };
  BandByKind widths = tight_widths(cases, rows);
  for (BandSides& width : widths)
    width = {rounded(factor * width.low), rounded(factor * width.high)};
  return widths;
}

bool in_band(const BandCase& at, const BandSides& band, double coverage) {
  const auto [low, high] = bounds(band, coverage);
  return at.error >= low && at.error <= high;
}

double interval_score(const BandCase& at, const BandSides& band) {
  const double low = -std::log1p(band.low);
  const double high = std::log1p(band.high);
  const double missed = std::max(0.0, low - at.error) + std::max(0.0, at.error - high);
  return high - low + missed / tail_share;
}

BandCheck check_bands(const std::vector<BandCase>& cases, double rows) {
  const std::vector<double> weights = case_weights(cases, rows);
  std::vector<BandSides> bands = nested_bands(cases, rows);
  const double factor = conformal_factor(cases, weights, bands);
  Scores all;
  std::map<FoldAxis, Scores> axes;
  std::map<std::string, Scores> families;
  double every = 0.0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    bands[i] = {factor * bands[i].low, factor * bands[i].high};
    all.add(cases[i], bands[i], weights[i]);
    axes[cases[i].axis].add(cases[i], bands[i], weights[i]);
    every += in_band(cases[i], bands[i]) ? 1.0 : 0.0;
    if (cases[i].axis == FoldAxis::source)
      families[cases[i].family].add(cases[i], bands[i], weights[i]);
  }
  BandCheck check;
  check.all = all.mean();
  check.every_case = every / static_cast<double>(cases.size());
  for (const auto& [axis, scores] : axes) check.axes.emplace_back(axis, scores.mean());
  for (const auto& [family, scores] : families) check.families.emplace_back(family, scores.mean());
  compare_with_constant(cases, weights, check);
  for (int percent = 10; percent < 100; percent += 10) {
    const double nominal = 0.01 * percent;
    double held = 0.0;
    for (std::size_t i = 0; i < cases.size(); ++i)
      held += in_band(cases[i], bands[i], nominal) ? weights[i] : 0.0;
    check.reliability.emplace_back(nominal, held / check.all.weight);
  }
  return check;
}

}  // namespace foretrain
