// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/base/quantity.hpp"
#include "models/inputs/job.hpp"
#include "models/layers/layer_description.hpp"

namespace foretrain {

/// Trained matrices of one shape on a rank.
struct MatrixShape {
  double rows = 0.0;
  double columns = 0.0;
  int count = 0;
  LayerPart part = LayerPart::attention;

  [[nodiscard]] double elements() const { return rows * columns; }
};

/// Which projections of one input are one matrix.
enum class FusedMatrices {
  gates,  ///< a gate with what it gates (Megatron-Core's muon_split_qkv)
  none    ///< as models of transformers have them
};

/// Trained linear weights of a rank's layers; queries, keys and values apart.
[[nodiscard]] std::vector<MatrixShape> matrix_shapes(const Job& job, const FormCounts& layers,
                                                     FusedMatrices fused);

/// Moments of projected gradients, in elements: of an m x n matrix with m >= n rank r m, beside a
/// projector of r n. models/data/README.md, "Gradients of low rank".
struct ProjectedStates {
  double matrices = 0.0;    ///< what is projected
  double moments = 0.0;     ///< each moment of that
  double projectors = 0.0;  ///< in the gradients' type

  /// Bytes that a rank keeps less, of matrices with `moment_bytes` per parameter.
  [[nodiscard]] double saved(double moment_bytes, double gradient_bytes) const {
    return moment_bytes * (matrices - moments) - gradient_bytes * projectors;
  }
};

/// Of the layers of a rank; of routed experts alone, or of all else.
[[nodiscard]] ProjectedStates projected_states(const Job& job, const FormCounts& layers,
                                               bool experts);

/// What a step takes beside reading states: the products of each projection, plain kernels that go
/// through whole matrices, and a step's share of the decompositions.
[[nodiscard]] Seconds projection_time(const Job& job, const FormCounts& layers);

}  // namespace foretrain
