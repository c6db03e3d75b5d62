// SPDX-License-Identifier: Apache-2.0
// Layers with other mixers than attention in Megatron's arguments: hybrid patterns (`core/ssm`),
// gated delta nets and sparse attention (`experimental_attention_variant`).
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "scenarios/imports/megatron/internal/megatron_mapper.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// `--hybrid-layer-pattern`, `--hybrid-override-pattern` in older releases; empty: none.
std::string MegatronMapper::layer_pattern() {
  const std::string older = in_.text("hybrid-override-pattern");
  const std::string newer = in_.text("hybrid-layer-pattern");
  std::string pattern = newer.empty() || newer == "None" ? older : newer;
  const bool hybrid = in_.flag("is-hybrid-model");
  if (in_.has("hybrid-attention-ratio") || in_.has("hybrid-mlp-ratio")) {
    in_.accept("hybrid-attention-ratio");
    in_.accept("hybrid-mlp-ratio");
    if (pattern.empty()) unmodelled("hybrid-attention-ratio without a layer pattern");
  } else if (hybrid && pattern.empty()) {
    unmodelled("is-hybrid-model without a layer pattern");
  }
  if (pattern.empty() || pattern == "None") return "";
  if (pattern.find_first_of("/|") != std::string::npos) {
    unmodelled("hybrid-layer-pattern with prediction modules (/) or stages (|)");
    return "";
  }
  if (pattern.find_first_not_of("MG*-E") == std::string::npos) return pattern;
  in_.error("--hybrid-layer-pattern: " + in_quotes(pattern) +
            " has other letters than M, G, *, - and E");
  return "";
}

void MegatronMapper::map_mamba() {
  LlmShape& model = out_.job.model;
  MambaShape mamba;
  mamba.head_dim = in_.integer("mamba-head-dim", 64);
  mamba.state_dim = in_.integer("mamba-state-dim", 128);
  mamba.groups = in_.integer("mamba-num-groups", 8);
  // Without a number of heads Megatron-Core expands twice.
  mamba.heads = in_.integer("mamba-num-heads", 2 * model.hidden / std::max(1, mamba.head_dim));
  if (model.has_mixer(MixerKind::mamba)) model.mamba = mamba;
}

void MegatronMapper::map_delta() {
  LlmShape& model = out_.job.model;
  DeltaShape delta;
  delta.key_heads = in_.integer("linear-num-key-heads", 16);
  delta.value_heads = in_.integer("linear-num-value-heads", 32);
  delta.key_head_dim = in_.integer("linear-key-head-dim", 128);
  delta.value_head_dim = in_.integer("linear-value-head-dim", 128);
  delta.conv_kernel = in_.integer("linear-conv-kernel-dim", 4);
  if (model.has_mixer(MixerKind::delta)) model.delta = delta;
}

void MegatronMapper::map_indexer() {
  LlmShape& model = out_.job.model;
  IndexerShape indexer;
  indexer.heads = in_.integer("dsa-indexer-n-heads", 64);
  indexer.head_dim = in_.integer("dsa-indexer-head-dim", 128);
  indexer.top_k = in_.integer("dsa-indexer-topk", 2048);
  if (in_.text("experimental-attention-variant") == "dsa" && model.mla) model.indexer = indexer;
}

void MegatronMapper::map_hybrid() {
  LlmShape& model = out_.job.model;
  model.attention_gate = in_.flag("attention-output-gate");
  const std::string variant = in_.text("experimental-attention-variant");
  const std::string every = in_.text("linear-attention-freq");
  const int period = in_.integer("linear-attention-freq", 4);
  if (variant == "gated_delta_net") {
    if (period < 2 || model.layers % period != 0)
      in_.error("--linear-attention-freq: " + in_quotes(every) +
                " does not give every Nth layer attention");
    else
      model.mixer_pattern = std::string(static_cast<std::size_t>(period) - 1, 'G') + "*";
  } else if (!variant.empty() && variant != "None" && variant != "dsa") {
    unmodelled("experimental-attention-variant " + variant);
  }
  map_mamba();
  map_delta();
  map_indexer();
  if (static_cast<int>(model.layer_pattern.size()) != model.layers &&
      !model.layer_pattern.empty()) {
    in_.error(fmt::format("--hybrid-layer-pattern: names {} layers of {}",
                          model.layer_pattern.size(), model.layers));
    model.layer_pattern.clear();
  }
  if (model.layer_pattern.find('E') != std::string::npos && in_.integer("num-experts", 0) <= 0) {
    in_.error("--hybrid-layer-pattern: has layers of experts, but --num-experts is missing");
    model.layer_pattern.clear();
  }
}

}  // namespace foretrain
