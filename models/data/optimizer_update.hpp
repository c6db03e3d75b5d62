// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/base/quantity.hpp"
#include "models/data/gradient_projection.hpp"
#include "models/inputs/job.hpp"
#include "models/layers/parameters.hpp"

namespace foretrain {

/// An update rule as counts of what it keeps and moves per parameter.
struct OptimizerRule {
  double first = 1.0;         ///< states of the first moment's type
  double second = 1.0;        ///< of the second moment's type, of a matrix
  double other_second = 1.0;  ///< the same of embeddings, output projection, norms and biases
  double passes = 0.0;        ///< bytes that plain kernels move beside states and gradients
};

/// Bytes per parameter that the optimizer keeps, before sharding. A matrix is a linear layer's
/// weight inside the transformer; Muon and Adafactor treat embeddings, the output projection, norms
/// and biases in another way. Sources: models/data/README.md, "Optimizers".
struct OptimizerStates {
  double master = 4.0;  ///< the weights that the update is applied to
  double matrix = 8.0;  ///< moments of a matrix
  double other = 8.0;   ///< of anything else
};

[[nodiscard]] OptimizerStates optimizer_states(const Job& job);

/// Time of the optimizer on one rank: its states read and written once, gradients read twice (norm,
/// update), weights written, all memory-bound; the products of Muon; projections of gradients.
/// models/data/README.md, "Optimizers".
[[nodiscard]] Seconds optimizer_time(const Job& job, const RankParameters& parameters);

/// Muon: the products of the Newton-Schulz iteration for one matrix (K. Jordan 2024; arXiv
/// 2502.16982, section 2.1), 2 (2 m^2 n + m^3) FLOPs a step with m rows and n columns, m <= n, in
/// bf16.
[[nodiscard]] Seconds orthogonalisation_time(const MatrixShape& shape, const Job& job);

/// What the busiest of `owners` ranks takes where each matrix belongs to one of them: they are
/// dealt out by size, to and fro (Megatron-Core, core/optimizer/layer_wise_optimizer.py).
/// @pre owners >= 1
[[nodiscard]] Seconds busiest_owner(const std::vector<MatrixShape>& shapes, int owners,
                                    const Job& job);

}  // namespace foretrain
