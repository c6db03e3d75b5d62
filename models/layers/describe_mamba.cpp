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

}  // namespace

void describe_mamba(const LlmShape& model, const LayerCut& cut, LayerDescription& layer) {
  FORETRAIN_REQUIRE(model.mamba.has_value());
  const MambaShape& shape = *model.mamba;
  const Scan scan{shape, cut.tensor};
  const double channels = scan.inner + 2.0 * scan.groups;
  const double columns = scan.inner + channels + scan.heads;
  constexpr double per_head = 3.0;  // decay, skip connection, bias of the step size
  layer_detail::describe_mixer_input(
      model, {columns, shape.projection_bias ? columns : 0.0, per_head * scan.heads}, layer);
  const double taps = shape.conv_kernel + (shape.conv_bias ? 1.0 : 0.0);
  layer_detail::describe_convolution(channels, channels * taps, layer);
  add_scan(shape, scan, layer);
  layer_detail::describe_gated_norm(scan.inner, scan.inner, layer);
  layer_detail::describe_mixer_output(model, scan.inner, shape.projection_bias ? model.hidden : 0.0,
                                      layer);
}

}  // namespace foretrain
