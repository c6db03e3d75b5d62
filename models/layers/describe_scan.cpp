// SPDX-License-Identifier: Apache-2.0
// What state-space and delta mixers have in common: projections, convolution, gated norm.
#include "models/layers/internal/describe_scan.hpp"
#include "models/base/require.hpp"

namespace foretrain {

/// Short convolutions as mixers (LFM2, `modeling_lfm2.py` of transformers): one projection makes
/// two gates and an input, a depthwise causal convolution of a few taps lies between them.
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

namespace foretrain::layer_detail {
namespace {

constexpr Traffic convolution_traffic{4.0, 10.0};  // backward: input, gradient, input again
// Gate and output before it in the scan's kernels, the norm of the product behind them.
constexpr Traffic gated_norm_traffic{8.0, 16.0};
constexpr Traffic gate_traffic{6.0, 10.0};
constexpr Traffic turn_traffic{4.0, 4.0};

SavedTensor of_mixer(Keep keep, double width) {
  return {
      .row = &LayerActivations::mixer_input, .keep = keep, .width = width, .every_second = width};
}

/// The layout of `width` elements per token turned from sequence first to batch first, or back:
/// where a micro-batch has several sequences.
void describe_turn(double width, LayerDescription& layer) {
  layer.add({.name = "layout",
             .work = LayerWork::plain,
             .rows = RowKind::turned,
             .out = width,
             .traffic = turn_traffic});
}

}  // namespace

void describe_scan(std::string_view name, const ScanFlops& flops, const Traffic& bytes,
                   LayerDescription& layer, double launches) {
  layer.add({.name = name,
             .work = LayerWork::scan,
             .traffic = bytes,
             .scanned = flops,
             .launches = launches});
}

void describe_convolution(double channels, double parameters, LayerDescription& layer) {
  layer.add({.name = "causal convolution",
             .work = LayerWork::plain,
             .out = channels,
             .traffic = convolution_traffic,
             .vectors = parameters});
}

void describe_gated_norm(double width, double parameters, LayerDescription& layer) {
  layer.save(of_mixer(Keep::element, 2.0 * width));  // of the scan, before and after the gate
  layer.add({.name = parameters > 0.0 ? "gated norm" : "gate",
             .work = LayerWork::plain,
             .out = width,
             .traffic = parameters > 0.0 ? gated_norm_traffic : gate_traffic,
             .vectors = parameters});
}

void describe_mixer_input(const LlmShape& model, const MixerProjection& projection,
                          LayerDescription& layer) {
  describe_norm("mixer norm",
                {&LayerActivations::attention_norm_input, &LayerActivations::attention_norm_output,
                 nullptr, nullptr, LinearKind::mixer_in},
                model, layer);
  describe_mixer_projection(model, projection, layer);
}

void describe_mixer_projection(const LlmShape& model, const MixerProjection& projection,
                               LayerDescription& layer) {
  describe_gather(model.hidden, nullptr, nullptr, layer);
  layer.add({.name = "mixer in projection",
             .work = LayerWork::product,
             .gathered = Gathered::input,
             .out = projection.columns,
             .in = static_cast<double>(model.hidden),
             .vectors = projection.biases + projection.vectors,
             .linear = LinearKind::mixer_in,
             .apart = projection.apart});
  layer.add({.name = "head exchange", .work = LayerWork::context_swap, .out = projection.columns});
  layer.save(of_mixer(Keep::element, projection.columns));
  describe_turn(projection.columns, layer);
}

void describe_mixer_output(const LlmShape& model, double inner, double biases,
                           LayerDescription& layer) {
  const double hidden = model.hidden;
  describe_turn(inner, layer);
  layer.add({.name = "head exchange", .work = LayerWork::context_swap, .out = inner});
  SavedTensor input = of_mixer(Keep::product_input, inner);
  input.for_weights = LinearKind::mixer_out;
  layer.save(input);
  layer.add({.name = "mixer out projection",
             .work = LayerWork::product,
             .gathered = Gathered::output_gradient,
             .out = hidden,
             .in = inner,
             .vectors = biases,
             .linear = LinearKind::mixer_out});
  describe_scatter(hidden, nullptr, nullptr, layer);
  describe_residual("mixer residual", model, layer);
}

}  // namespace foretrain::layer_detail
