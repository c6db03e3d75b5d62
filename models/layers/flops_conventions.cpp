// SPDX-License-Identifier: Apache-2.0
#include "models/base/require.hpp"
#include "models/layers/flops.hpp"
#include "models/layers/parameters.hpp"

namespace foretrain {
namespace {

/// The letters of the published formulas.
// NOLINTBEGIN(readability-identifier-naming)
struct Letters {
  double s, L, h, V, ffn, kv_ratio;
  bool gated;
  double N;  ///< parameters that one token uses, with this vocabulary
};
// NOLINTEND(readability-identifier-naming)

Letters letters_of(const LlmShape& shape, int sequence, int vocabulary) {
  LlmShape padded = shape;
  padded.vocabulary = vocabulary;
  const double width = shape.moe
                           ? static_cast<double>(shape.moe->top_k) * shape.moe->expert_ffn_hidden
                           : shape.ffn_hidden;
  return {static_cast<double>(sequence),
          static_cast<double>(shape.layers),
          static_cast<double>(shape.hidden),
          static_cast<double>(vocabulary),
          width,
          static_cast<double>(shape.kv_heads) / shape.heads,
          shape.gated_mlp,
          static_cast<double>(active_parameters(padded))};
}

/// 24 (or 32, with the recomputed forward) B s L h^2 passes; SC21 equation 3, Korthikanti eq. 7.
double megatron(const Letters& x, double layer, double head_divisor) {
  return layer * x.s * x.L * x.h * x.h *
         (1.0 + x.s / (6.0 * x.h) + x.V / (head_divisor * x.L * x.h));
}

double dgxc(const Letters& x, double kv_ratio, double attention) {
  const double mlp = (x.gated ? 18.0 : 12.0) * x.L * x.h * x.ffn;
  return x.s * (12.0 * x.L * x.h * x.h * (1.0 + kv_ratio + attention * x.s / x.h) + mlp +
                6.0 * x.V * x.h);
}

/// Our count without the router, which NeMo leaves out.
double nemo(const LlmShape& shape, int sequence, int vocabulary, AttentionFlops attention) {
  const FlopsPerSequence flops =
      flops_per_sequence(shape, sequence, vocabulary, RecomputeKind::none, attention);
  return (flops.model - 3.0 * flops.forward.router).value();
}

/// Megatron-LM `training.py`, `hybrid_flops`, and Megatron-Bridge's `flop_utils.py`: Mamba layers
/// are counted as 2 h wide, whatever their heads and head dimension are.
double megatron_hybrid(const LlmShape& shape, int sequence, int vocabulary) {
  const double hidden = shape.hidden;
  double mamba = 0.0;
  if (shape.mamba) {
    const MambaShape& mixer = *shape.mamba;
    const double inner = 2.0 * hidden;
    mamba = 2.0 * hidden * (2.0 * inner + 2.0 * mixer.groups * mixer.state_dim + mixer.heads) +
            7.0 * inner * mixer.state_dim + 2.0 * inner * hidden;
  }
  double delta = 0.0;
  if (shape.delta) {
    const DeltaShape& mixer = *shape.delta;
    const double keys = mixer.keys();
    const double values = mixer.values();
    delta = 2.0 * (hidden * (2.0 * keys + 2.0 * values + 2.0 * mixer.value_heads) +
                   mixer.conv_kernel * (2.0 * keys + values) +
                   mixer.value_heads * 4.0 * mixer.value_head_dim * mixer.value_head_dim +
                   hidden * values);
  }
  // All other parts are ours.
  double sum = 0.0;
  const FormCounts forms = shape.form_counts(0, shape.layers);
  for (std::size_t form = 0; form < layer_forms; ++form) {
    if (forms[form] == 0) continue;
    const LayerType& type = layer_types[form];
    const ForwardFlops own = layer_forward_flops(shape, sequence, type, AttentionFlops::causal);
    const bool scans = type.mixer == MixerKind::mamba || type.mixer == MixerKind::delta;
    const Flop mixer = own.attention_projections + own.attention_scores + own.scans;
    sum += forms[form] * (own.total() - own.router - (scans ? mixer : Flop{})).value();
    if (type.mixer == MixerKind::mamba) sum += forms[form] * sequence * mamba;
    if (type.mixer == MixerKind::delta) sum += forms[form] * sequence * delta;
  }
  return 3.0 * (sum + 2.0 * sequence * hidden * vocabulary);
}

double six_n(const Letters& x, double parameters, double attention) {
  return x.s * (6.0 * parameters + attention * x.L * x.h * x.s);
}

}  // namespace

Flop convention_flops_per_sequence(const LlmShape& shape, int sequence, int vocabulary,
                                   FlopsConvention convention, double label_parameters) {
  FORETRAIN_REQUIRE(sequence >= 1 && vocabulary >= 1);
  const Letters x = letters_of(shape, sequence, vocabulary);
  switch (convention) {
    case FlopsConvention::sc21_full_recompute:
    case FlopsConvention::megatron_hw:
      return Flop{megatron(x, 96.0, 16.0)};
    case FlopsConvention::korthikanti_model:
    case FlopsConvention::megatron_model:
      return Flop{megatron(x, 72.0, 12.0)};
    case FlopsConvention::nemo_full_attention:
      return Flop{nemo(shape, sequence, vocabulary, AttentionFlops::full)};
    case FlopsConvention::nemo_causal_half:
      return Flop{nemo(shape, sequence, vocabulary, AttentionFlops::causal)};
    case FlopsConvention::dgxc_full_attention:
      return Flop{dgxc(x, x.kv_ratio, 1.0)};
    case FlopsConvention::dgxc_full_attention_mha:
      return Flop{dgxc(x, 1.0, 1.0)};
    case FlopsConvention::dgxc_causal_half:
      return Flop{dgxc(x, x.kv_ratio, 0.5)};
    case FlopsConvention::mosaic:
    case FlopsConvention::aleph_alpha:
    case FlopsConvention::nanotron:
    case FlopsConvention::torchtitan_old:
    case FlopsConvention::six_n_plus_attention:
      return Flop{six_n(x, x.N, 12.0)};
    case FlopsConvention::torchtitan:
      return Flop{six_n(x, x.N - x.V * x.h, 12.0)};
    case FlopsConvention::fastllm:
      return Flop{six_n(x, x.N, 6.0)};
    case FlopsConvention::vocabpar:
      return Flop{
          3.0 * x.s *
          (2.0 * x.h * x.V + x.L * (8.0 * x.h * x.h + 4.0 * x.s * x.h + 4.0 * x.h * x.ffn))};
    case FlopsConvention::six_n_label:
      FORETRAIN_REQUIRE(label_parameters > 0.0);
      return Flop{6.0 * label_parameters * x.s};
    case FlopsConvention::megatron_hybrid:
      return Flop{megatron_hybrid(shape, sequence, vocabulary)};
    case FlopsConvention::bigscience_old:
      FORETRAIN_REQUIRE(label_parameters > 0.0);
      return Flop{8.0 * label_parameters * x.s};
  }
  FORETRAIN_REQUIRE(!"a FLOPs convention of the enumeration");
  return {};
}

}  // namespace foretrain
