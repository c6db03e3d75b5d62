// SPDX-License-Identifier: Apache-2.0
// How uneven routers load the ranks of experts; models/layers/README.md, "Routing".
#include "models/layers/expert_load.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "models/base/random.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

constexpr double large_shape = 400.0;
constexpr int most_terms = 500;
constexpr double last_term = 1e-12;

double normal_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// Sum of x^n / (a (a + 1) ... (a + n)).
double gamma_series(double a, double x) {
  double term = 1.0 / a;
  double sum = term;
  for (int n = 1; n < most_terms && term > last_term * sum; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return sum;
}

/// The continued fraction of the upper half, by Lentz's method.
double gamma_fraction(double a, double x) {
  constexpr double tiny = 1e-300;
  double b = x + 1.0 - a;
  double c = 1.0 / tiny;
  double d = 1.0 / b;
  double value = d;
  for (int n = 1; n < most_terms; ++n) {
    const double factor = -n * (n - a);
    b += 2.0;
    d = factor * d + b;
    if (std::abs(d) < tiny) d = tiny;
    c = b + factor / c;
    if (std::abs(c) < tiny) c = tiny;
    d = 1.0 / d;
    value *= d * c;
    if (std::abs(d * c - 1.0) < last_term) break;
  }
  return value;
}

/// Probability that a Gamma variable of that shape and scale 1 is below x (Abramowitz and Stegun
/// 6.5.4, 6.5.29, 6.5.31); of large shapes by their cube root, which is nearly normal (Wilson and
/// Hilferty, PNAS 17, 1931).
double gamma_below(double shape, double x) {
  if (x <= 0.0) return 0.0;
  if (shape > large_shape) {
    const double ninth = 1.0 / (9.0 * shape);
    return normal_below((std::cbrt(x / shape) - 1.0 + ninth) / std::sqrt(ninth));
  }
  const double front = std::exp(shape * std::log(x) - x - std::lgamma(shape));
  if (x < shape + 1.0) return std::min(1.0, front * gamma_series(shape, x));
  return std::max(0.0, 1.0 - front * gamma_fraction(shape, x));
}

/// Squared deviation over squared mean of the choices that fall on a rank where all experts are
/// equally popular, as of independent ranks: a token takes different experts.
double sampling_noise(const ExpertLoadCase& of) {
  if (of.tokens <= 0.0 || of.experts == 1) return 0.0;
  const double different = static_cast<double>(of.experts - of.top_k) / (of.experts - 1.0);
  return of.ranks / (of.tokens * of.top_k) * different;
}

bool has_concentration(const ExpertRouting& routing) {
  return routing.spread != ExpertSpread::zipf && routing.spread != ExpertSpread::forced;
}

/// No expert is ever so popular that every token would take it.
bool never_full(double concentration, const ExpertLoadCase& of) {
  constexpr double seldom = 0.01;
  const double full = concentration * of.experts / of.top_k;
  return of.experts * (1.0 - gamma_below(concentration, full)) < seldom;
}

ExpertLoad exact_dirichlet(double concentration, const ExpertLoadCase& of) {
  const double own = static_cast<double>(of.experts) / of.ranks;
  const double variation = 1.0 / (own * concentration) + sampling_noise(of);
  return {largest_of_gammas(of.ranks, of.layers / variation), 1.0};
}

std::vector<double> zipf_weights(double exponent, int experts) {
  std::vector<double> weights(static_cast<std::size_t>(experts));
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = std::pow(static_cast<double>(i + 1), -exponent);
  return weights;
}

/// Loads of a layer's experts over their mean, of the choices that are kept.
class DrawnLayers {
 public:
  DrawnLayers(const ExpertRouting& routing, const ExpertLoadCase& of)
      : of_{of}, concentrated_{has_concentration(routing)} {
    if (concentrated_)
      concentration_ = concentration_of(routing);
    else
      popularity_ = zipf_weights(routing.exponent, of.experts);
    loads_.resize(static_cast<std::size_t>(of.experts));
  }

  const std::vector<double>& next() {
    draw_popularity();
    choose_in_proportion(loads_, of_.top_k);
    const double mean = static_cast<double>(of_.top_k) / of_.experts;
    const double choices = of_.tokens * mean;
    for (double& load : loads_) {
      const double taken = load;
      load /= mean;
      if (choices > 0.0)
        load += std::sqrt(load * std::max(0.0, 1.0 - taken) / choices) * random_.normal();
      load = std::max(0.0, load);
      if (of_.capacity > 0.0) load = std::min(load, of_.capacity);
    }
    return loads_;
  }

 private:
  void draw_popularity() {
    constexpr double least = 1e-12;  // so that weights stay positive
    if (concentrated_) {
      for (double& load : loads_) load = std::max(least, random_.unit_gamma(concentration_));
      return;
    }
    loads_ = popularity_;
    for (std::size_t i = loads_.size(); i > 1; --i)
      std::swap(loads_[i - 1], loads_[random_.below(i)]);
  }

  const ExpertLoadCase& of_;
  bool concentrated_;
  double concentration_ = 0.0;
  std::vector<double> popularity_;
  std::vector<double> loads_;
  Random random_{20261123};
};

/// All divisions into groups of `own_` experts, the first free one always opening the next group.
class Placements {
 public:
  Placements(std::span<const double> loads, int ranks)
      : loads_{loads}, own_{loads.size() / static_cast<std::size_t>(ranks)} {
    taken_.resize(loads.size());
  }

  double mean() {
    open(0.0);
    return sum_ / (count_ * static_cast<double>(own_));
  }

 private:
  void open(double busiest) {
    const auto free = std::ranges::find(taken_, false);
    if (free == taken_.end()) {
      sum_ += busiest;
      count_ += 1.0;
      return;
    }
    const auto first = static_cast<std::size_t>(free - taken_.begin());
    *free = true;
    fill(first + 1, own_ - 1, loads_[first], busiest);
    taken_[first] = false;
  }
  void fill(std::size_t from, std::size_t missing, double load, double busiest) {
    if (missing == 0) return open(std::max(busiest, load));
    for (std::size_t i = from; i < loads_.size(); ++i) {
      if (taken_[i]) continue;
      taken_[i] = true;
      fill(i + 1, missing - 1, load + loads_[i], busiest);
      taken_[i] = false;
    }
  }

  std::span<const double> loads_;
  std::size_t own_;
  std::vector<bool> taken_;
  double sum_ = 0.0;
  double count_ = 0.0;
};

/// Few enough placements, of one layer, and choices that a rank's mean hardly leaves by chance.
bool can_enumerate(const ExpertLoadCase& of) {
  constexpr double most_placements = 2000.0;
  constexpr double little_noise = 1e-4;
  return of.layers == 1 && sampling_noise(of) < little_noise &&
         placements(of.experts, of.ranks) <= most_placements;
}

ExpertLoad enumerated(const ExpertRouting& routing, const ExpertLoadCase& of) {
  std::vector<double> loads = zipf_weights(routing.exponent, of.experts);
  choose_in_proportion(loads, of.top_k);
  const double mean = static_cast<double>(of.top_k) / of.experts;
  for (double& load : loads) {
    load /= mean;
    if (of.capacity > 0.0) load = std::min(load, of.capacity);
  }
  return {busiest_of_all_placements(loads, of.ranks),
          std::accumulate(loads.begin(), loads.end(), 0.0) / of.experts};
}

}  // namespace

double largest_of_gammas(int ranks, double shape) {
  FORETRAIN_REQUIRE(ranks >= 1 && shape > 0.0);
  if (ranks == 1) return 1.0;
  // E[max] = integral of 1 - F(x)^ranks; x = low + (high - low) u^2 smooths small shapes at 0.
  constexpr int steps = 240;
  constexpr double reach = 9.0;
  const double width = std::sqrt(shape);
  const double low = std::max(0.0, shape - reach * width);
  const double high = shape + reach * width + 3.0 * reach;
  const auto above = [&](double u) {
    const double x = low + (high - low) * u * u;
    return (1.0 - std::pow(gamma_below(shape, x), ranks)) * 2.0 * u;
  };
  double sum = above(0.0) + above(1.0);
  for (int i = 1; i < steps; ++i)
    sum += (i % 2 == 1 ? 4.0 : 2.0) * above(static_cast<double>(i) / steps);
  return std::max(1.0, (low + (high - low) * sum / (3.0 * steps)) / shape);
}

double placements(int experts, int ranks) {
  const double own = static_cast<double>(experts) / ranks;
  return std::exp(std::lgamma(experts + 1.0) - ranks * std::lgamma(own + 1.0) -
                  std::lgamma(ranks + 1.0));
}

double busiest_of_all_placements(std::span<const double> loads, int ranks) {
  FORETRAIN_REQUIRE(ranks >= 1 && !loads.empty() &&
                    loads.size() % static_cast<std::size_t>(ranks) == 0);
  return Placements{loads, ranks}.mean();
}

void choose_in_proportion(std::span<double> weights, int top_k) {
  FORETRAIN_REQUIRE(top_k >= 1 && static_cast<std::size_t>(top_k) <= weights.size());
  double left = std::accumulate(weights.begin(), weights.end(), 0.0);
  double choices = top_k;
  // Experts of which every token takes one keep 1; the others share the rest. Each pass fixes at
  // least one, or is the last.
  std::vector<bool> full(weights.size(), false);
  for (bool again = true; again;) {
    again = false;
    const double scale = left > 0.0 ? choices / left : 0.0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (full[i] || weights[i] * scale < 1.0) continue;
      left -= weights[i];
      choices -= 1.0;
      full[i] = true;
      again = true;
    }
  }
  const double scale = left > 0.0 ? choices / left : 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = full[i] ? 1.0 : weights[i] * scale;
}

ExpertLoad drawn_expert_load(const ExpertRouting& routing, const ExpertLoadCase& of, int draws) {
  FORETRAIN_REQUIRE(draws >= 1 && of.layers >= 1 && of.experts % of.ranks == 0);
  FORETRAIN_REQUIRE(routing.spread != ExpertSpread::stack);
  DrawnLayers layers{routing, of};
  const auto own = static_cast<std::size_t>(of.experts / of.ranks);
  std::vector<double> ranks(static_cast<std::size_t>(of.ranks));
  ExpertLoad mean{0.0, 0.0};
  for (int draw = 0; draw < draws; ++draw) {
    std::ranges::fill(ranks, 0.0);
    for (int layer = 0; layer < of.layers; ++layer) {
      const std::vector<double>& loads = layers.next();
      for (std::size_t i = 0; i < loads.size(); ++i) ranks[i / own] += loads[i];
    }
    const double per_rank = static_cast<double>(own) * of.layers;
    mean.busiest += *std::ranges::max_element(ranks) / per_rank / draws;
    mean.kept += std::accumulate(ranks.begin(), ranks.end(), 0.0) / (per_rank * of.ranks) / draws;
  }
  return mean;
}

ExpertLoad expert_load(const ExpertRouting& routing, const ExpertLoadCase& of) {
  FORETRAIN_REQUIRE(routing.spread != ExpertSpread::stack);
  FORETRAIN_REQUIRE(of.experts >= 1 && of.ranks >= 1 && of.experts % of.ranks == 0);
  if (routing.spread == ExpertSpread::forced) {
    const double kept = of.capacity > 0.0 ? std::min(1.0, of.capacity) : 1.0;
    return {kept, kept};
  }
  if (of.ranks == 1 && of.capacity <= 0.0) return {};
  if (has_concentration(routing)) {
    const double concentration = concentration_of(routing);
    if (of.capacity <= 0.0 && never_full(concentration, of))
      return exact_dirichlet(concentration, of);
  } else if (can_enumerate(of)) {
    return enumerated(routing, of);
  }
  constexpr int layer_draws = 512;
  constexpr int least_draws = 16;
  return drawn_expert_load(routing, of, std::max(least_draws, layer_draws / of.layers));
}

}  // namespace foretrain
