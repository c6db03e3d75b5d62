// SPDX-License-Identifier: Apache-2.0
// Mamba-2 mixers, as Megatron-Core's MambaMixer runs mamba-ssm's chunked scan (state-space duality,
// arXiv 2405.21060 section 6; `mamba_ssm/ops/triton/ssd_combined.py`): products and bytes of its
// kernels one by one. models/layers/README.md, "State-space mixers".
#include "models/base/require.hpp"
#include "models/layers/internal/describe_scan.hpp"

namespace foretrain {
namespace {

using layer_detail::describe_scan;

constexpr double wide = 4.0;  // bytes of fp32
constexpr double half = layer_detail::half_bytes;

/// Per token on one rank.
struct Scan {
  double heads;
  double inner;   ///< heads x head dimension
  double groups;  ///< x state dimension: width of B, and of C
  double state;   ///< heads x head dimension x state dimension: of one chunk
  double scores;  ///< groups x chunk: C times B within a chunk
  double chunk;

  Scan(const MambaShape& shape, double tensor)
      : heads{shape.heads / tensor},
        inner{shape.inner() / tensor},
        groups{1.0 * shape.groups * shape.state_dim / tensor},
        state{inner * shape.state_dim},
        scores{1.0 * shape.groups * shape.chunk / tensor},
        chunk{static_cast<double>(shape.chunk)} {}

  [[nodiscard]] double x() const { return half * inner; }
  [[nodiscard]] double b() const { return half * groups; }
  [[nodiscard]] double decays() const { return 2.0 * wide * heads; }  // step sizes and their sums
  [[nodiscard]] double states(double bytes) const { return bytes * state / chunk; }
  [[nodiscard]] double within(double columns) const { return chunk * columns; }  // causal half
};

/// Five kernels forward. The backward pass makes decays, states and C times B again, then runs one
/// for the gradient of each operand.
void add_scan(const MambaShape& shape, const Scan& scan, LayerDescription& layer) {
  const double products = 2.0 * scan.state;
  const double scores = 2.0 * shape.state_dim * scan.scores;
  const double cb = wide * scan.scores;
  describe_scan("chunk decays", {}, {10.0 * scan.heads, 30.0 * scan.heads}, layer);
  const double states = scan.x() + scan.b() + scan.decays() + scan.states(wide);
  // Again; gradients of B and of the states.
  describe_scan("chunk states", {products, 3.0 * products},
                {states, states + (scan.x() + scan.states(half) + 2.0 * scan.b()) +
                             (scan.x() + scan.b() + scan.decays() + scan.states(half))},
                layer);
  // Forward once more, then backward.
  describe_scan("state passing", {}, {scan.states(wide + half), scan.states(2.0 * (wide + half))},
                layer);
  describe_scan("chunk scores", {scores, 3.0 * scores},
                {2.0 * scan.b() + cb, 2.0 * scan.b() + cb + 2.0 * (cb + 2.0 * scan.b())}, layer);
  // Gradients of x, of C, of the scores and of the decays.
  describe_scan(
      "chunk scan",
      {scan.within(scan.inner) + products, 3.0 * scan.within(scan.inner) + 2.0 * products},
      {2.0 * scan.x() + cb + scan.decays() + scan.b() + scan.states(half),
       (3.0 * scan.x() + cb + scan.b() + scan.decays() + scan.states(half)) +
           (scan.x() + scan.states(half) + 2.0 * scan.b()) + (2.0 * scan.x() + cb) +
           (2.0 * scan.x() + cb)},
      layer);
}

/// Mamba-1 (arXiv 2312.00752; mamba-ssm, `selective_scan_interface.py`): one kernel goes through
/// the sequence with a state of N values for each channel, 9 FLOPs of a value as the paper's
/// appendix D counts, on the vector units: nothing of it is a matrix product.
void add_selective_scan(const MambaShape& shape, double inner, double tensor,
                        LayerDescription& layer) {
  const double rank = shape.step_rank;
  const double states = shape.state_dim;
  const double columns = rank + 2.0 * states;
  const auto product = [&](std::string_view name, double out, double in, double vectors) {
    layer.add({.name = name, .work = LayerWork::product, .out = out, .in = in, .vectors = vectors});
    layer.save({.row = &LayerActivations::mixer_input, .width = out, .every_second = out});
  };
  product("state projection", columns, inner, shape.inner_norms ? columns : 0.0);
  if (tensor > 1.0) layer_detail::describe_scatter(columns, nullptr, nullptr, layer);
  product("step projection", inner, rank, inner);
  const double work = 9.0 * states * inner;
  describe_scan("selective scan", {work, 2.0 * work},
                {half * (4.0 * inner + 2.0 * states), half * (10.0 * inner + 4.0 * states)}, layer);
}

struct MambaColumns {
  double channels;  ///< that the convolution goes over
  double all;       ///< of the projection
  double vectors;   ///< parameters of the scan
};

MambaColumns columns_of(const MambaShape& shape, const Scan& scan) {
  if (shape.step_rank > 0)  // a decay of each channel and state, a skip of each channel
    return {scan.inner, 2.0 * scan.inner, scan.inner * (shape.state_dim + 1.0)};
  const double channels = scan.inner + 2.0 * scan.groups;
  constexpr double per_head = 3.0;  // decay, skip connection, bias of the step size
  return {channels, scan.inner + channels + scan.heads, per_head * scan.heads};
}

void add_mixer(const LlmShape& model, const LayerCut& cut, bool beside, LayerDescription& layer) {
  FORETRAIN_REQUIRE(model.mamba.has_value());
  const MambaShape& shape = *model.mamba;
  const Scan scan{shape, cut.tensor};
  const MambaColumns columns = columns_of(shape, scan);
  const layer_detail::MixerProjection projection{
      columns.all, shape.projection_bias ? columns.all : 0.0, columns.vectors};
  if (beside)
    layer_detail::describe_mixer_projection(model, projection, layer);
  else
    layer_detail::describe_mixer_input(model, projection, layer);
  const double taps = shape.conv_kernel + (shape.conv_bias ? 1.0 : 0.0);
  layer_detail::describe_convolution(columns.channels, columns.channels * taps, layer);
  if (shape.step_rank > 0)
    add_selective_scan(shape, scan.inner, cut.tensor, layer);
  else
    add_scan(shape, scan, layer);
  layer_detail::describe_gated_norm(scan.inner, shape.gated_norm ? scan.inner : 0.0, layer);
  layer_detail::describe_mixer_output(model, scan.inner, shape.projection_bias ? model.hidden : 0.0,
                                      layer);
}

}  // namespace

void describe_mamba(const LlmShape& model, const LayerCut& cut, LayerDescription& layer) {
  add_mixer(model, cut, false, layer);
}

void describe_mamba_beside(const LlmShape& model, const LayerCut& cut, LayerDescription& layer) {
  add_mixer(model, cut, true, layer);
}

}  // namespace foretrain
