// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/device.hpp"
#include "models/layers/layer_description.hpp"
#include "models/serving/deployment.hpp"

namespace foretrain::serving_detail {

/// In what a product with such weights is computed: in their own precision where the device was
/// measured in it, else unpacked to bf16 on the way (weights only).
[[nodiscard]] Precision product_precision(WeightFormat format, const Deployment& deployment);

/// How an operator's weights lie in memory.
[[nodiscard]] WeightFormat operator_format(const LayerOperator& op, const ServingPrecision& bits);

/// What the ranks of a replica cut layers over.
[[nodiscard]] LayerCut serving_cut(const ServingLayout& layout);

/// Layers of every type that the longest stage holds over those of the model.
[[nodiscard]] int longest_stage(const LlmShape& model, int pipeline);

}  // namespace foretrain::serving_detail
