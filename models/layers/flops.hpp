// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "models/base/names.hpp"
#include "models/base/quantity.hpp"
#include "models/inputs/job.hpp"
#include "models/inputs/llm.hpp"
#include "models/layers/layer_description.hpp"

namespace foretrain {

/// Twice the keys that a query attends to on average under the causal mask, the diagonal neglected:
/// the sequence itself, or `window (2 - window / sequence)` where every query sees the `window`
/// tokens up to its own. @param window 0: no window. @param chunked a query sees the tokens before
/// it in its chunk of `window` tokens, the last of which may be shorter. @pre sequence > 0.
[[nodiscard]] double attended_keys(double sequence, double window, bool chunked = false);
/// The same of heads; with compressed keys, those that follow the window's, or the best of them;
/// where tokens see those behind them as well, twice as many.
/// @param sees_window false: unfused kernels, which compute all scores and mask them
[[nodiscard]] double attended_keys(double sequence, const HeadShape& heads,
                                   bool sees_window = true);

/// The same of the last 1/parts of the sequence's queries, which see most. @pre parts >= 1
[[nodiscard]] double attended_at_end(double sequence, double window, double parts);
[[nodiscard]] double attended_at_end(double sequence, const HeadShape& heads, double parts);

/// How attention scores are counted: every pair of tokens, or only the pairs that the causal mask
/// keeps (one half, the diagonal neglected). Foretrain quotes MFU with `full` unless told
/// otherwise.
enum class AttentionFlops { full, causal };
FORETRAIN_ENUM_NAMES(AttentionFlops, {AttentionFlops::full, "full"},
                     {AttentionFlops::causal, "causal"});

/// Forward FLOPs by component; a multiplication and an addition are two. Element-wise work
/// (norms, activations, softmax, rotary) is left out, as in every published MFU.
/// Equations with sources: models/layers/README.md, "FLOPs".
struct ForwardFlops {
  Flop attention_projections;  ///< query, key, value, output; latent projections for MLA
  Flop attention_scores;       ///< queries times keys, and weights times values
  Flop scans;                  ///< products inside chunked scans of state-space and delta mixers
  Flop dense_mlp;              ///< dense MLPs and shared experts
  Flop experts;                ///< top_k routed experts per token
  Flop router;
  Flop head;  ///< output projection to the vocabulary
  Flop mtp;   ///< multi-token-prediction modules, their heads included

  [[nodiscard]] Flop total() const {
    return attention_projections + attention_scores + scans + dense_mlp + experts + router + head +
           mtp;
  }
};

/// Forward FLOPs of one layer for `sequence` tokens of one sequence (head and mtp stay 0).
/// @pre sequence >= 1; a kind of layer that the shape can have.
[[nodiscard]] ForwardFlops layer_forward_flops(const LlmShape& shape, int sequence,
                                               const LayerType& type, AttentionFlops attention);

/// FLOPs of training on one sequence, forward and backward.
struct FlopsPerSequence {
  ForwardFlops forward;  ///< the backward pass is twice this, component by component
  Flop recompute;        ///< forward work done again for the backward pass
  Flop model;            ///< 3 x forward: what MFU counts
  Flop hardware;         ///< model + recompute: what HFU counts
};

/// `selective` recomputes the attention core (the scores), `full` every layer but not the head.
/// What a fused attention kernel recomputes inside itself is in neither number.
/// @param vocabulary columns of the output projection: pass the padded vocabulary for what the
///   GPUs do, the published one for the model's own cost.
/// @pre sequence >= 1, vocabulary >= 1.
[[nodiscard]] FlopsPerSequence flops_per_sequence(const LlmShape& shape, int sequence,
                                                  int vocabulary, RecomputeKind recompute,
                                                  AttentionFlops attention);

/// The same for an optimizer step of `global_batch` sequences. @pre global_batch >= 1.
[[nodiscard]] FlopsPerSequence flops_per_step(const FlopsPerSequence& one, int global_batch);

/// How the sources of measured runs count FLOPs; the names are those of `flops_convention` in
/// calibration/measured/runs.yaml.
enum class FlopsConvention {
  sc21_full_recompute,
  korthikanti_model,
  megatron_hw,
  megatron_model,
  nemo_full_attention,
  nemo_causal_half,
  dgxc_full_attention,
  dgxc_full_attention_mha,
  dgxc_causal_half,
  mosaic,
  aleph_alpha,
  nanotron,
  torchtitan,
  torchtitan_old,
  vocabpar,
  fastllm,
  six_n_plus_attention,
  six_n_label,
  bigscience_old,
  megatron_hybrid
};
FORETRAIN_ENUM_NAMES(
    FlopsConvention, {FlopsConvention::sc21_full_recompute, "sc21_full_recompute"},
    {FlopsConvention::korthikanti_model, "korthikanti_model"},
    {FlopsConvention::megatron_hw, "megatron_hw"},
    {FlopsConvention::megatron_model, "megatron_model"},
    {FlopsConvention::nemo_full_attention, "nemo_full_attention"},
    {FlopsConvention::nemo_causal_half, "nemo_causal_half"},
    {FlopsConvention::dgxc_full_attention, "dgxc_full_attention"},
    {FlopsConvention::dgxc_full_attention_mha, "dgxc_full_attention_mha"},
    {FlopsConvention::dgxc_causal_half, "dgxc_causal_half"}, {FlopsConvention::mosaic, "mosaic"},
    {FlopsConvention::aleph_alpha, "aleph_alpha"}, {FlopsConvention::nanotron, "nanotron"},
    {FlopsConvention::torchtitan, "torchtitan"},
    {FlopsConvention::torchtitan_old, "torchtitan_old"}, {FlopsConvention::vocabpar, "vocabpar"},
    {FlopsConvention::fastllm, "fastllm"}, {FlopsConvention::six_n_plus_attention, "6sN+12Lhs2"},
    {FlopsConvention::six_n_label, "6N_label"}, {FlopsConvention::bigscience_old, "bigscience_old"},
    {FlopsConvention::megatron_hybrid, "megatron_hybrid"});

/// FLOPs per sequence as the named source would print them. For mixtures of experts, N counts the
/// parameters that one token uses.
/// @param label_parameters the model's label size, e.g. 8e9; only `6N_label` and `bigscience_old`
///   read it. @pre label_parameters > 0 for those two.
[[nodiscard]] Flop convention_flops_per_sequence(const LlmShape& shape, int sequence,
                                                 int vocabulary, FlopsConvention convention,
                                                 double label_parameters = 0.0);

/// FLOPs of an optimizer step of a job.
struct StepFlops {
  Flop model;     ///< what MFU counts: of samples' tokens, without gradients that nobody needs
  Flop hardware;  ///< with pads and what is recomputed
};

/// Where everything is trained on rows of one sample each: flops_per_step(). Else operator by
/// operator: frozen weights have no gradients of their own, attention is of samples, and a
/// reference has a forward pass. models/layers/README.md, "Fine-tuning".
[[nodiscard]] StepFlops job_flops(const Job& job, RecomputeKind recompute,
                                  AttentionFlops attention);

/// Parameters of the whole model as the job has it: adapters are parameters beside the model's.
struct JobParameters {
  std::int64_t adapters = 0;
  std::int64_t trained = 0;  ///< adapters included
};
[[nodiscard]] JobParameters job_parameters(const Job& job);

}  // namespace foretrain
