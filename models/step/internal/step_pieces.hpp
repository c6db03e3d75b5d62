// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/inputs/job.hpp"
#include "models/layers/layer_operators.hpp"

namespace foretrain {

/// Every kind of layer that the job has.
[[nodiscard]] std::vector<LayerVariant> layer_variants(const Job& job);

/// The forward passes of the model that preferences are compared with: the weights of the policy
/// without its adapters, nothing kept.
[[nodiscard]] Job reference_job(const Job& job);

}  // namespace foretrain
