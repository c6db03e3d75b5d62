// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/base/enum_set.hpp"
#include "models/base/names.hpp"

namespace foretrain {

/// Small trained matrices beside frozen ones: none, LoRA (arXiv 2106.09685), or LoRA with trained
/// magnitudes of the columns (DoRA, arXiv 2402.09353).
enum class AdapterKind : std::uint8_t { none, lora, dora };
FORETRAIN_ENUM_NAMES(AdapterKind, {AdapterKind::none, "none"}, {AdapterKind::lora, "lora"},
                     {AdapterKind::dora, "dora"});

/// Linear layers that adapters stand beside: as Megatron-Core fuses them (qkv, fc1, mixer_in), or
/// one by one as Hugging Face has them (query, key, value; gate, up; mixer_qkvz, mixer_ba). The
/// last of each part is the same in both. query_down to key_value_up are latent attention's,
/// mixer_* those of state-space and delta mixers; fc1, gate, up and fc2 are those of every MLP,
/// experts included.
enum class AdapterTarget : std::uint8_t {
  qkv,
  query,
  key,
  value,
  projection,
  fc1,
  gate,
  up,
  fc2,
  query_down,
  query_up,
  key_value_down,
  key_value_up,
  mixer_in,
  mixer_qkvz,
  mixer_ba,
  mixer_out,
  router,
  shared_gate
};
FORETRAIN_ENUM_NAMES(AdapterTarget, {AdapterTarget::qkv, "qkv"}, {AdapterTarget::query, "query"},
                     {AdapterTarget::key, "key"}, {AdapterTarget::value, "value"},
                     {AdapterTarget::projection, "projection"}, {AdapterTarget::fc1, "fc1"},
                     {AdapterTarget::gate, "gate"}, {AdapterTarget::up, "up"},
                     {AdapterTarget::fc2, "fc2"}, {AdapterTarget::query_down, "query-down"},
                     {AdapterTarget::query_up, "query-up"},
                     {AdapterTarget::key_value_down, "key-value-down"},
                     {AdapterTarget::key_value_up, "key-value-up"},
                     {AdapterTarget::mixer_in, "mixer-in"},
                     {AdapterTarget::mixer_qkvz, "mixer-qkvz"},
                     {AdapterTarget::mixer_ba, "mixer-ba"}, {AdapterTarget::mixer_out, "mixer-out"},
                     {AdapterTarget::router, "router"},
                     {AdapterTarget::shared_gate, "shared-gate"});

/// How fc1, gate, up and fc2 stand beside routed experts: a pair of matrices for each expert; one
/// pair for all experts of a rank (Megatron-Bridge's grouped linear layers); a pair for each expert
/// whose product is added to the experts' three-dimensional parameter before it is multiplied
/// (PEFT's target_parameters); or not at all, so that MLPs and shared experts alone have adapters.
enum class ExpertAdapters : std::uint8_t { per_expert, shared, merged, none };
FORETRAIN_ENUM_NAMES(ExpertAdapters, {ExpertAdapters::per_expert, "per-expert"},
                     {ExpertAdapters::shared, "shared"}, {ExpertAdapters::merged, "merged"},
                     {ExpertAdapters::none, "none"});

/// Parts of a model that are trained or frozen as a whole: of the language model, then the layers
/// of a vision tower and its projectors.
enum class ModelPart : std::uint8_t {
  embedding,
  attention,
  mlp,
  router,
  experts,
  norms,
  output,
  vision,
  projector
};
FORETRAIN_ENUM_NAMES(ModelPart, {ModelPart::embedding, "embedding"},
                     {ModelPart::attention, "attention"}, {ModelPart::mlp, "mlp"},
                     {ModelPart::router, "router"}, {ModelPart::experts, "experts"},
                     {ModelPart::norms, "norms"}, {ModelPart::output, "output"},
                     {ModelPart::vision, "vision"}, {ModelPart::projector, "projector"});

/// How the frozen matrices of layers rest: as they are multiplied; in blocks of 4 bits with a scale
/// of 32 bits each, or with scales that are quantised once more (QLoRA, arXiv 2305.14314); in
/// groups of 4 bits with a scale and a zero point each (GPTQ, arXiv 2210.17323); in 8 bits with
/// a scale per row (LLM.int8(), arXiv 2208.07339); or in 32 bits, cast before shards are gathered.
enum class FrozenFormat : std::uint8_t { as_computed, nf4, nf4_double, gptq, int8, fp32 };
FORETRAIN_ENUM_NAMES(FrozenFormat, {FrozenFormat::as_computed, "as-computed"},
                     {FrozenFormat::nf4, "nf4"}, {FrozenFormat::nf4_double, "nf4-double"},
                     {FrozenFormat::gptq, "gptq"}, {FrozenFormat::int8, "int8"},
                     {FrozenFormat::fp32, "fp32"});

/// What is learnt: the next token; which of two answers is preferred, against a frozen reference
/// (DPO, arXiv 2305.18290); or a score of an answer (a reward model).
/// `policy`: a policy gradient, for which every token of an answer has its log-probability and the
/// entropy of its distribution made from logits in 32 bits.
enum class Objective : std::uint8_t { next_token, preference, reward, policy };
FORETRAIN_ENUM_NAMES(Objective, {Objective::next_token, "next-token"},
                     {Objective::preference, "preference"}, {Objective::reward, "reward"},
                     {Objective::policy, "policy"});

/// Where a preference's reference comes from: a frozen copy of the model, the model without its
/// adapters, or log-probabilities that were computed before training.
enum class ReferenceKind : std::uint8_t { copy, without_adapters, precomputed };
FORETRAIN_ENUM_NAMES(ReferenceKind, {ReferenceKind::copy, "copy"},
                     {ReferenceKind::without_adapters, "without-adapters"},
                     {ReferenceKind::precomputed, "precomputed"});

/// What of a model is trained, and for what. By default all of it, on next tokens.
struct FineTuning {
  AdapterKind adapter = AdapterKind::none;
  int rank = 16;  ///< of the adapters, depth between their two matrices
  EnumSet<AdapterTarget> targets{AdapterTarget::qkv, AdapterTarget::projection};
  ExpertAdapters expert_adapters = ExpertAdapters::per_expert;
  double dropout = 0.0;  ///< before the adapters; any above zero keeps a copy of their input
  /// Parts that are trained: left out, all without adapters, and none beside adapters.
  std::optional<EnumSet<ModelPart>> trained;
  /// The first layers of the model, of which nothing is trained, nor of the embedding before them:
  /// no gradient goes through them.
  int frozen_layers = 0;
  FrozenFormat frozen_format = FrozenFormat::as_computed;
  /// Of packed weights routed experts as well: false where they are one parameter of three
  /// dimensions, which no library packs.
  bool packed_experts = true;
  Objective objective = Objective::next_token;
  ReferenceKind reference = ReferenceKind::copy;

  [[nodiscard]] bool adapts() const { return adapter != AdapterKind::none; }
  [[nodiscard]] bool trains(ModelPart part) const {
    const bool before_layers =
        part == ModelPart::embedding || part == ModelPart::vision || part == ModelPart::projector;
    if (before_layers && frozen_layers > 0) return false;
    return trained ? trained->has(part) : !adapts();
  }
  /// Some weights are not trained.
  [[nodiscard]] bool freezes() const {
    return adapts() || trained.has_value() || frozen_layers > 0;
  }
  [[nodiscard]] bool packs_frozen() const {
    return frozen_format != FrozenFormat::as_computed && frozen_format != FrozenFormat::fp32;
  }
  [[nodiscard]] bool packs_experts() const { return packs_frozen() && packed_experts; }
  /// Two answers to one question are compared.
  [[nodiscard]] bool pairs() const {
    return objective == Objective::preference || objective == Objective::reward;
  }
  [[nodiscard]] bool has_reference() const {
    return objective == Objective::preference && reference != ReferenceKind::precomputed;
  }
  friend bool operator==(const FineTuning&, const FineTuning&) = default;
};

/// Bytes of a frozen weight that is packed, with its share of the scales: NF4 in blocks of 64 with
/// a scale of 4 bytes; quantised once more, of one byte, and 4 bytes for 256 scales (arXiv
/// 2305.14314 section 3); GPTQ in groups of 128 with a scale of 16 bits and a zero point of 4;
/// LLM.int8() with a scale per row, which is no share worth counting.
/// @pre it is packed
[[nodiscard]] constexpr double packed_bytes(FrozenFormat format) {
  constexpr double block = 64.0;
  constexpr double scales = 256.0;
  constexpr double group = 128.0;
  switch (format) {
    case FrozenFormat::nf4:
      return 0.5 + 4.0 / block;
    case FrozenFormat::gptq:
      return 0.5 + (2.0 + 0.5) / group;
    case FrozenFormat::int8:
      return 1.0;
    default:
      return 0.5 + (1.0 + 4.0 / scales) / block;
  }
}

/// How samples of different lengths become rows of Training::sequence tokens: one after another
/// until a row is full, each attending to itself alone (packed); padded to the longest of a
/// micro-batch; or padded to the row.
enum class SampleLayout : std::uint8_t { packed, padded, fixed };
FORETRAIN_ENUM_NAMES(SampleLayout, {SampleLayout::packed, "packed"},
                     {SampleLayout::padded, "padded"}, {SampleLayout::fixed, "fixed"});

/// Lengths of samples in tokens, those over a row cut off: equally likely ones that are listed, or
/// a log-normal distribution.
struct Samples {
  SampleLayout layout = SampleLayout::packed;
  double mean = 0.0;         ///< 0: no lengths are known, every row is one sample
  double deviation = 0.0;    ///< standard deviation
  std::vector<int> lengths;  ///< in place of both

  [[nodiscard]] bool vary() const { return mean > 0.0 || !lengths.empty(); }
  friend bool operator==(const Samples&, const Samples&) = default;
};

/// How gradients of matrices are projected before the optimizer sees them: not at all; onto their
/// first singular vectors, the update being projected back (GaLore, arXiv 2403.03507); or onto
/// random vectors, the update being the gradient scaled channel by channel (APOLLO, arXiv
/// 2412.05270).
enum class ProjectionKind : std::uint8_t { none, galore, apollo };
FORETRAIN_ENUM_NAMES(ProjectionKind, {ProjectionKind::none, "none"},
                     {ProjectionKind::galore, "galore"}, {ProjectionKind::apollo, "apollo"});

/// Moments of matrices in a space of low rank.
struct GradientProjection {
  ProjectionKind kind = ProjectionKind::none;
  int rank = 128;
  int gap = 200;  ///< steps for which a projector is used
  /// Whose matrices: of attention, mlp and experts.
  EnumSet<ModelPart> parts{ModelPart::attention, ModelPart::mlp, ModelPart::experts};

  [[nodiscard]] bool projects() const { return kind != ProjectionKind::none; }
  friend bool operator==(const GradientProjection&, const GradientProjection&) = default;
};

}  // namespace foretrain
