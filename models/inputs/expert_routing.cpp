// SPDX-License-Identifier: Apache-2.0
#include "models/inputs/expert_routing.hpp"

#include <algorithm>
#include <array>

#include "models/base/require.hpp"

namespace foretrain {
namespace {

// MaxVio of the source is the busiest expert's load over the mean, less 1, over whole batches of
// the validation set; the mean of its two models, of 1 B and 3 B parameters with 64 experts.
constexpr std::array statistics{
    RoutingStatistic{ExpertSpread::aux_loss, 64, 1.62, 18.5, 0.2, 0,
                     "arXiv 2408.15664 table 2, loss-controlled: 1.72 and 1.52"},
    RoutingStatistic{ExpertSpread::expert_bias, 64, 1.04, 3600.0, 0.2, 0,
                     "arXiv 2408.15664 table 2, loss-free: 1.04 and 1.04"},
    RoutingStatistic{ExpertSpread::natural, 128, 0.0, 0.5, 0.3, 8,
                     "Megatron-LM examples/moe-modelzoo, Qwen3 235B on 256 GPUs: four pairs with "
                     "and without forced balance (runs.yaml mcorezoo-qwen3-235b-ctx*)"},
};

}  // namespace

std::span<const RoutingStatistic> routing_statistics() { return statistics; }

double concentration_of(const ExpertRouting& routing) {
  if (routing.spread == ExpertSpread::dirichlet) return routing.concentration;
  const auto found = std::ranges::find_if(
      statistics, [&](const auto& one) { return one.spread == routing.spread; });
  FORETRAIN_REQUIRE(found != statistics.end());
  return found->concentration;
}

}  // namespace foretrain
