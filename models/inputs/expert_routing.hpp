// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "models/base/names.hpp"

namespace foretrain {

/// How a router's choices spread over the experts of a layer. Equal popularity by force, popularity
/// drawn from a symmetric Dirichlet distribution or falling by Zipf's law, or as published: routers
/// under an auxiliary loss, routers with a bias per expert instead (auxiliary-loss-free), and a
/// router left alone in a measured run. `stack`: as the stack's rule for memory says.
enum class ExpertSpread { stack, forced, dirichlet, zipf, aux_loss, expert_bias, natural };
FORETRAIN_ENUM_NAMES(ExpertSpread, {ExpertSpread::stack, "stack"}, {ExpertSpread::forced, "forced"},
                     {ExpertSpread::dirichlet, "dirichlet"}, {ExpertSpread::zipf, "zipf"},
                     {ExpertSpread::aux_loss, "aux-loss"},
                     {ExpertSpread::expert_bias, "aux-loss-free"},
                     {ExpertSpread::natural, "natural"});

/// One number says how uneven it is.
struct ExpertRouting {
  ExpertSpread spread = ExpertSpread::stack;
  /// Of `dirichlet`, per expert: the variance of an expert's popularity over its squared mean is
  /// about 1/concentration, whatever the number of experts.
  double concentration = 0.0;
  double exponent = 0.0;  ///< of `zipf`: the r-th expert's popularity falls as r^-exponent

  friend bool operator==(const ExpertRouting&, const ExpertRouting&) = default;
};

/// A published statistic of routers.
struct RoutingStatistic {
  ExpertSpread spread;
  int experts;           ///< of a layer
  double busiest;        ///< load of the busiest expert over the mean, 0 where that is not printed
  double concentration;  ///< of the Dirichlet distribution that has this load; see its test
  double error;          ///< of ln(concentration)
  int ranks;             ///< expert ranks of the runs that it comes from; 0: it is of the router
  const char* source;
};

/// What `aux-loss`, `aux-loss-free` and `natural` stand for.
[[nodiscard]] std::span<const RoutingStatistic> routing_statistics();

/// Concentration of a spread that has one. @pre a Dirichlet distribution or a published statistic
[[nodiscard]] double concentration_of(const ExpertRouting& routing);

}  // namespace foretrain
