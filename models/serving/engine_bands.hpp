// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/serving/deployment.hpp"

namespace foretrain {

/// Measured over forecast in 80 % of runs.
struct ServingBands {
  ResidualBand ttft;
  ResidualBand tpot;
  ResidualBand throughput;
};

/// Whether every expert of the deployment has EngineRules::padded_rows, used or not.
[[nodiscard]] bool pads_experts(const Deployment& deployment);
/// Whether it may: its experts are in blocks of 8 bits on such a device, but not those of the table
/// that the rule was learnt from.
[[nodiscard]] bool may_pad_experts(const Deployment& deployment);

/// The engine's; where its experts may be padded, that of a stranger, and as much slower as a step
/// of so many sequences is with padded ones.
/// @pre deployment_reasons(deployment) is empty; sequences >= 1
[[nodiscard]] ServingBands serving_bands(const Deployment& deployment, double sequences,
                                         double context);

}  // namespace foretrain
