// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

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

}  // namespace foretrain
