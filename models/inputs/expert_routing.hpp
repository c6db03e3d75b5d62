// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "models/base/names.hpp"

namespace foretrain {

/// Who carries tokens to the ranks of their experts: DeepEP and other node-limited dispatchers
/// (once_per_host), a plain all-to-all of NCCL (every_copy), HybridEP (fused), or an all-gather of
/// all tokens of the group, of which each rank takes what its experts need (all_gather).
enum class ExpertDispatch { once_per_host, every_copy, fused, all_gather };
FORETRAIN_ENUM_NAMES(ExpertDispatch, {ExpertDispatch::once_per_host, "once-per-host"},
                     {ExpertDispatch::every_copy, "every-copy"}, {ExpertDispatch::fused, "fused"},
                     {ExpertDispatch::all_gather, "all-gather"});

/// What pricing has to know of a dispatcher. Sources: models/inputs/README.md, "Dispatchers".
struct DispatchTraits {
  ExpertDispatch kind;
  bool gathers = false;        ///< every token goes to every rank of the group
  bool copies_across = false;  ///< a row per expert crosses domains, else one per token and domain
  bool distinct_inside = false;  ///< a row per rank inside a domain, else one per expert
  bool sorts = false;            ///< rows arrive in the experts' order: no permutation of their own
  int multiprocessors = 20;      ///< that its kernels take of a device, by default
};

[[nodiscard]] constexpr DispatchTraits traits_of(ExpertDispatch dispatch) {
  switch (dispatch) {
    case ExpertDispatch::every_copy:
      return {.kind = dispatch, .copies_across = true};
    case ExpertDispatch::fused:
      return {.kind = dispatch, .distinct_inside = true, .sorts = true, .multiprocessors = 16};
    case ExpertDispatch::all_gather:
      return {.kind = dispatch, .gathers = true};
    case ExpertDispatch::once_per_host:
      break;
  }
  return {.kind = ExpertDispatch::once_per_host};
}

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
