// SPDX-License-Identifier: Apache-2.0
#include "scenarios/huggingface/internal/huggingface_families.hpp"

#include <algorithm>
#include <array>

namespace foretrain::huggingface {
namespace {

constexpr NormKind layer = NormKind::layernorm;
constexpr NormKind rms = NormKind::rmsnorm;
constexpr PositionKind rotary = PositionKind::rotary;

constexpr auto known_families = std::to_array<Family>({
    {"bloom", layer, true, Gate::none, PositionKind::alibi, Biases::all, true, false, true},
    {"deepseek_v2", rms, false, Gate::gated, rotary, Biases::none, false, false, false, 2,
     Experts::dense_first, true},
    {"deepseek_v3", rms, false, Gate::gated, rotary, Biases::none, false, false, false, 2,
     Experts::dense_first, true},
    {"deepseek_v32", rms, false, Gate::gated, rotary, Biases::none, false, false, false, 2,
     Experts::dense_first, true, 0, false, Hybrid::none, false, true},
    {"gemma", rms, false, Gate::gated, rotary, Biases::none, true},
    {"gemma2", rms, false, Gate::gated, rotary, Biases::none, true, false, false, 4, Experts::none,
     false, 2},
    {"gemma3_text", rms, false, Gate::gated, rotary, Biases::none, true, true, false, 4,
     Experts::none, false, 6},
    {"glm4_moe", rms, false, Gate::gated, rotary, Biases::qkv, false, false, false, 2,
     Experts::dense_first, false, 0, false, Hybrid::none, false, true},
    {"gpt2", layer, true, Gate::none, PositionKind::learned, Biases::all, true},
    {"gpt_neox", layer, true, Gate::none, rotary, Biases::all, false},
    {"gpt_oss", rms, false, Gate::gated, rotary, Biases::all, false, false, false, 2,
     Experts::every_layer, false, 2, true},
    {"granite", rms, false, Gate::gated, rotary, Biases::none, false},
    {"kimi_k2", rms, false, Gate::gated, rotary, Biases::none, false, false, false, 2,
     Experts::dense_first, true, 0, false, Hybrid::none, false, true},
    {"llama", rms, false, Gate::gated, rotary, Biases::none, false},
    {"llama4_text", rms, false, Gate::gated, rotary, Biases::none, false, false, false, 2,
     Experts::every_layer},
    {"mistral", rms, false, Gate::gated, rotary, Biases::none, false},
    {"mixtral", rms, false, Gate::gated, rotary, Biases::none, false, false, false, 2,
     Experts::every_layer},
    {"nemotron_h", rms, false, Gate::none, PositionKind::none, Biases::none, false, false, false, 2,
     Experts::by_pattern, false, 0, false, Hybrid::layer_pattern, false, true},
    {"olmo2", rms, false, Gate::gated, rotary, Biases::none, false, false, false, 2, Experts::none,
     false, 0, false, Hybrid::none, true},
    {"olmo3", rms, false, Gate::gated, rotary, Biases::none, false, false, false, 2, Experts::none,
     false, 4, false, Hybrid::none, true},
    {"phi3", rms, false, Gate::gated, rotary, Biases::none, false},
    {"qwen2", rms, false, Gate::gated, rotary, Biases::qkv, false},
    {"qwen2_moe", rms, false, Gate::gated, rotary, Biases::qkv, false, false, false, 2,
     Experts::sparse_step},
    {"qwen3", rms, false, Gate::gated, rotary, Biases::none, false, true},
    {"qwen3_moe", rms, false, Gate::gated, rotary, Biases::none, false, true, false, 2,
     Experts::sparse_step},
    {"qwen3_next", rms, false, Gate::gated, rotary, Biases::none, false, true, false, 2,
     Experts::sparse_step, false, 0, false, Hybrid::linear_attention},
    {"smollm3", rms, false, Gate::gated, rotary, Biases::none, true},
    {"starcoder2", layer, true, Gate::none, rotary, Biases::all, true},
});

/// Keys that change neither sizes nor FLOPs of training as it is modelled.
constexpr auto keys_without_effect = std::to_array<std::string_view>({
    "_name_or_path",
    "activation_function",
    "apply_residual_connection_post_layernorm",
    "architectures",
    "attention_dropout",
    "attention_multiplier",
    "attention_softmax_in_fp32",
    "attn_logit_softcapping",
    "attn_pdrop",
    "attn_scale",
    "attn_temperature_tuning",
    "auto_map",
    "aux_loss_alpha",
    "bos_token_id",
    "cache_implementation",
    "classifier_dropout",
    "dtype",
    "embd_pdrop",
    "embedding_dropout",
    "embedding_multiplier",
    "eos_token_id",
    "ep_size",
    "expand",
    "final_logit_softcapping",
    "floor_scale",
    "for_llm_compressor",
    "hidden_act",
    "hidden_activation",
    "hidden_dropout",
    "initializer_range",
    "logits_scaling",
    "mamba_hidden_act",
    "mamba_ssm_cache_dtype",
    "masked_softmax_fusion",
    "max_position_embeddings",
    "mlp_hidden_act",
    "n_ctx",
    "n_group",
    "no_rope_layer_interval",
    "no_rope_layers",
    "norm_topk_prob",
    "num_logits_to_keep",
    "offset_alibi",
    "original_max_position_embeddings",
    "output_router_logits",
    "pad_token_id",
    "pretraining_tp",
    "quantization_config",
    "query_pre_attn_scalar",
    "rescale_prenorm_residual",
    "resid_pdrop",
    "residual_dropout",
    "residual_in_fp32",
    "residual_multiplier",
    "rope_local_base_freq",
    "routed_scaling_factor",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "scoring_func",
    "seq_aux",
    "seq_length",
    "skip_bias_add",
    "skip_bias_add_qkv",
    "slow_but_exact",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
    "task_specific_params",
    "time_step_floor",
    "time_step_limit",
    "time_step_max",
    "time_step_min",
    "time_step_rank",
    "topk_group",
    "torch_dtype",
    "transformers_version",
    "unk_token_id",
    "use_cache",
    "use_mamba_kernels",
    "use_parallel_residual",
});

}  // namespace

std::span<const Family> families() { return known_families; }

const Family* find_family(std::string_view type) {
  const auto* found = std::find_if(known_families.begin(), known_families.end(),
                                   [&](const Family& family) { return family.type == type; });
  return found == known_families.end() ? nullptr : found;
}

bool without_effect(std::string_view key) {
  return std::find(keys_without_effect.begin(), keys_without_effect.end(), key) !=
         keys_without_effect.end();
}

}  // namespace foretrain::huggingface
