// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "models/inputs/expert_routing.hpp"

namespace foretrain {

/// The experts of a layer, and who has them: consecutive ones on each of `ranks`, of which each has
/// as many. models/layers/README.md, "Routing".
struct ExpertLoadCase {
  int experts = 1;
  int top_k = 1;          ///< different experts per token
  int ranks = 1;          ///< divides `experts`
  double tokens = 0.0;    ///< that are routed at once, of all ranks that exchange
  double capacity = 0.0;  ///< most choices that an expert takes over the mean, the rest are
                          ///< dropped; 0: all
  int layers = 1;         ///< whose loads add up on a rank, each with a popularity of its own
};

struct ExpertLoad {
  /// Choices on the busiest rank over the mean of all that tokens make, expected.
  double busiest = 1.0;
  double kept = 1.0;  ///< share of all choices that no capacity drops
};

/// Exact where that is cheap: Dirichlet popularity without a capacity that drops, and Zipf's where
/// experts can be put on ranks in few ways; else the mean of a fixed number of draws, the same on
/// every machine.
/// @pre the routing says what it spreads like (not `stack`)
[[nodiscard]] ExpertLoad expert_load(const ExpertRouting& routing, const ExpertLoadCase& experts);

/// The mean of that many draws of `layers` layers. @pre draws >= 1, as above
[[nodiscard]] ExpertLoad drawn_expert_load(const ExpertRouting& routing,
                                           const ExpertLoadCase& experts, int draws);

/// Expected largest of `ranks` independent Gamma variables of mean 1 and that shape: the busiest
/// rank of a Dirichlet distribution, whose parts are such variables over their sum, which is
/// independent of the parts. @pre ranks >= 1, shape > 0
[[nodiscard]] double largest_of_gammas(int ranks, double shape);

/// Expected load of the busiest rank over all ways of putting experts of these loads on ranks.
/// @pre ranks divides their number
[[nodiscard]] double busiest_of_all_placements(std::span<const double> loads, int ranks);
/// In how many ways that can be done.
[[nodiscard]] double placements(int experts, int ranks);

/// How many of `top_k` different experts a token takes of each, in proportion to popularity where
/// none is more than one: they add up to top_k. @pre positive weights, top_k at most their number
void choose_in_proportion(std::span<double> weights, int top_k);

}  // namespace foretrain
