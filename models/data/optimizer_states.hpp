// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/job.hpp"

namespace foretrain {

/// An update rule as counts of what it keeps and moves per parameter.
struct OptimizerRule {
  double first = 1.0;         ///< states of the first moment's type
  double second = 1.0;        ///< of the second moment's type, of a matrix
  double other_second = 1.0;  ///< the same of embeddings, output projection, norms and biases
  double passes = 0.0;        ///< bytes that plain kernels move beside states and gradients
};

/// What an update rule keeps. Sources: models/data/README.md, "Optimizers".
[[nodiscard]] const OptimizerRule& optimizer_rule(OptimizerKind kind);

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
