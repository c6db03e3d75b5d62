// SPDX-License-Identifier: Apache-2.0
// The busiest rank of experts: against closed forms, enumeration and an independent Monte Carlo.
#include "models/layers/expert_load.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "models/layers/activations.hpp"
#include "models/layers/layer_cost.hpp"
#include "models/layers/layer_description.hpp"
#include "tests/models/layers/moe_jobs.hpp"

using namespace foretrain;

namespace {

ExpertRouting dirichlet(double concentration) {
  return {.spread = ExpertSpread::dirichlet, .concentration = concentration};
}

ExpertRouting zipf(double exponent) { return {.spread = ExpertSpread::zipf, .exponent = exponent}; }

double busiest_share(const std::vector<double>& loads, int ranks) {
  const auto own = loads.size() / static_cast<std::size_t>(ranks);
  double most = 0.0;
  for (std::size_t first = 0; first < loads.size(); first += own)
    most = std::max(most, std::accumulate(loads.begin() + static_cast<long>(first),
                                          loads.begin() + static_cast<long>(first + own), 0.0));
  return most * ranks / std::accumulate(loads.begin(), loads.end(), 0.0);
}

}  // namespace

TEST_CASE("routing: two ranks of a Dirichlet popularity are a Beta distribution",
          "[models][layer][routing]") {
  // E[max(X, 1 - X)] of Beta(a, a) is 1/2 + 1 / (a 4^a B(a, a)).
  const double a = GENERATE(0.3, 1.0, 2.5, 40.0, 350.0);
  const double beta = std::exp(2.0 * std::lgamma(a) - std::lgamma(2.0 * a));
  const double expected = 1.0 + 2.0 / (a * std::pow(4.0, a) * beta);
  CHECK(largest_of_gammas(2, a) == Approx(expected).epsilon(2e-4));
}

TEST_CASE("routing: the largest of exponential variables is the harmonic sum",
          "[models][layer][routing]") {
  const int ranks = GENERATE(2, 8, 64);
  double harmonic = 0.0;
  for (int i = 1; i <= ranks; ++i) harmonic += 1.0 / i;
  CHECK(largest_of_gammas(ranks, 1.0) == Approx(harmonic).epsilon(1e-3));
}

TEST_CASE("routing: the exact busiest rank is that of an independent Monte Carlo",
          "[models][layer][routing]") {
  const double concentration = GENERATE(0.8, 4.0, 50.0);
  constexpr int experts = 64;
  constexpr int ranks = 8;
  std::mt19937_64 random{17};
  std::gamma_distribution<double> gamma{concentration, 1.0};
  double sum = 0.0;
  constexpr int draws = 20000;
  std::vector<double> popularity(experts);
  for (int draw = 0; draw < draws; ++draw) {
    for (double& one : popularity) one = gamma(random);
    sum += busiest_share(popularity, ranks);
  }
  const ExpertLoad load = expert_load(dirichlet(concentration), {experts, 4, ranks, 1e9});
  CHECK(load.busiest == Approx(sum / draws).epsilon(5e-3));
  CHECK(load.kept == 1.0);
  CHECK(drawn_expert_load(dirichlet(concentration), {experts, 4, ranks, 1e9}, 4000).busiest ==
        Approx(sum / draws).epsilon(1e-2));
}

TEST_CASE("routing: choices by chance alone are those of tokens that draw different experts",
          "[models][layer][routing]") {
  constexpr int experts = 8;
  constexpr int top_k = 2;
  constexpr int ranks = 4;
  const int tokens = GENERATE(32, 256);
  std::mt19937_64 random{5};
  std::array<int, experts> order{};
  std::iota(order.begin(), order.end(), 0);
  double sum = 0.0;
  constexpr int draws = 4000;
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<double> loads(experts, 0.0);
    for (int token = 0; token < tokens; ++token) {
      std::shuffle(order.begin(), order.end(), random);
      for (int i = 0; i < top_k; ++i) loads[static_cast<std::size_t>(order.at(i))] += 1.0;
    }
    sum += busiest_share(loads, ranks);
  }
  const ExpertLoadCase of{experts, top_k, ranks, static_cast<double>(tokens)};
  CHECK(expert_load(dirichlet(1e6), of).busiest - 1.0 == Approx(sum / draws - 1.0).epsilon(0.05));
}

TEST_CASE("routing: few placements of Zipf's law are enumerated", "[models][layer][routing]") {
  // Loads 12, 6, 4, 3 of 25 on two ranks: 18, 16, 15 in the three ways.
  const std::vector<double> loads{12.0, 6.0, 4.0, 3.0};
  CHECK(busiest_of_all_placements(loads, 2) == Approx((18.0 + 16.0 + 15.0) / 3.0 / 2.0));
  CHECK(placements(4, 2) == Approx(3.0));
  CHECK(placements(8, 4) == Approx(105.0));
  const ExpertLoadCase of{8, 1, 4, 1e9};
  CHECK(expert_load(zipf(0.7), of).busiest ==
        Approx(drawn_expert_load(zipf(0.7), of, 40000).busiest).epsilon(4e-3));
}

TEST_CASE("routing: no token takes an expert twice", "[models][layer][routing]") {
  std::vector<double> weights{100.0, 1.0, 1.0, 1.0, 1.0};
  choose_in_proportion(weights, 2);
  CHECK(weights[0] == 1.0);
  for (std::size_t i = 1; i < weights.size(); ++i) CHECK(weights[i] == Approx(0.25));
  std::vector<double> all{3.0, 1.0, 2.0};
  choose_in_proportion(all, 3);
  for (const double one : all) CHECK(one == 1.0);
}

TEST_CASE("routing: a capacity bounds the busiest rank and drops the rest",
          "[models][layer][routing]") {
  const ExpertRouting uneven = GENERATE(dirichlet(1.0), zipf(0.8));
  ExpertLoadCase of{64, 4, 8, 1e6};
  const ExpertLoad free = expert_load(uneven, of);
  of.capacity = 1.2;
  const ExpertLoad capped = expert_load(uneven, of);
  CHECK(capped.busiest < free.busiest);
  CHECK(capped.busiest <= 1.2);
  CHECK(capped.kept < 0.95);
  CHECK(capped.busiest > capped.kept);
  of.capacity = 64.0;
  CHECK(expert_load(uneven, of).kept == Approx(1.0).epsilon(1e-3));
}

TEST_CASE("routing: wider ranks and more layers even out, skew does not",
          "[models][layer][routing]") {
  const auto load = [](double concentration, int ranks, int layers) {
    return expert_load(dirichlet(concentration), {128, 8, ranks, 1e6, 0.0, layers}).busiest;
  };
  CHECK(load(1.0, 8, 1) < load(1.0, 32, 1));
  CHECK(load(1.0, 8, 12) < load(1.0, 8, 1));
  CHECK(load(4.0, 8, 1) < load(1.0, 8, 1));
  CHECK(load(1.0, 1, 1) == 1.0);
}

TEST_CASE("routing: published statistics follow from their concentration",
          "[models][layer][routing]") {
  for (const RoutingStatistic& one : routing_statistics()) {
    CHECK(one.concentration > 0.0);
    if (one.busiest == 0.0) continue;
    const ExpertLoadCase of{one.experts, 1, one.experts, 0.0};
    CHECK(expert_load({.spread = one.spread}, of).busiest == Approx(one.busiest).epsilon(0.01));
  }
}

TEST_CASE("routing: the busiest rank decides a layer's time, the layers of a stage its memory",
          "[models][layer][routing]") {
  Job forced = test::deepseek_v3_job();
  forced.training.moe_imbalance = 0.0;
  forced.training.moe_routing.spread = ExpertSpread::forced;
  Job natural = forced;
  natural.training.moe_routing.spread = ExpertSpread::natural;
  CHECK(LayerCost{natural}.layer(LayerKind::moe).all().total() >
        1.02 * LayerCost{forced}.layer(LayerKind::moe).all().total());
  const double in_time = row_counts(natural, natural.training.sequence).of(RowKind::received);
  const double in_memory = row_counts(natural).of(RowKind::received);
  const double balanced = row_counts(forced).of(RowKind::received);
  CHECK(balanced < in_memory);
  CHECK(in_memory < in_time);
  Job stated = forced;
  stated.training.moe_imbalance = in_time / balanced;
  CHECK(LayerCost{stated}.layer(LayerKind::moe).all().total().value() ==
        Approx(LayerCost{natural}.layer(LayerKind::moe).all().total().value()));
}
