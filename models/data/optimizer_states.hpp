// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/job.hpp"

namespace foretrain {

/// Bytes per parameter that the optimizer keeps, before sharding. A matrix is a linear layer's
/// weight inside the transformer; Muon and Adafactor treat embeddings, the output projection, norms
/// and biases in another way. Sources: models/data/README.md, "Optimizers".
struct OptimizerStates {
  double master = 4.0;  ///< the weights that the update is applied to
  double matrix = 8.0;  ///< moments of a matrix
  double other = 8.0;   ///< of anything else
};

[[nodiscard]] OptimizerStates optimizer_states(const Job& job);

}  // namespace foretrain
