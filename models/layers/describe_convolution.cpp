// SPDX-License-Identifier: Apache-2.0
// Short convolutions as mixers (LFM2, `modeling_lfm2.py` of transformers): one projection makes two
// gates and an input, a depthwise causal convolution of a few taps lies between them.
#include "models/base/require.hpp"
#include "models/layers/internal/describe_scan.hpp"

namespace foretrain {

void describe_convolution_mixer(const LlmShape& model, const LayerCut& cut,
                                LayerDescription& layer) {
  FORETRAIN_REQUIRE(model.convolution.has_value());
  const ConvolutionShape& shape = *model.convolution;
  const double inner = model.hidden / cut.tensor;
  const double bias = shape.bias ? 1.0 : 0.0;
  layer_detail::describe_mixer_input(model, {3.0 * inner, bias * 3.0 * inner}, layer);
  layer.add({.name = "input gate", .work = LayerWork::plain, .out = inner, .traffic = {6.0, 10.0}});
  layer.save({.row = &LayerActivations::mixer_input, .width = inner, .every_second = inner});
  layer_detail::describe_convolution(inner, inner * (shape.kernel + bias), layer);
  layer_detail::describe_gated_norm(inner, 0.0, layer);
  layer_detail::describe_mixer_output(model, inner, bias * model.hidden, layer);
}

}  // namespace foretrain
