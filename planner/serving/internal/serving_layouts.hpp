// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/serving/deployment.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// Layouts of one replica that are worth a look for the scenario's model on its hosts, smallest
/// first: powers of two of tensor ranks within a scale-up domain; of mixtures of experts also with
/// experts spread over them, and attention data parallel over up to 64 GPUs; two to eight stages of
/// whole hosts.
[[nodiscard]] std::vector<ServingLayout> serving_layouts(const Scenario& scenario);

}  // namespace foretrain
