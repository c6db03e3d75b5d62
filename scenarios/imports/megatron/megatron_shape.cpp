// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/megatron/megatron_shape.hpp"

#include <fmt/format.h>

#include "scenarios/imports/frameworks/dialect.hpp"
#include "scenarios/sections/scenario_text.hpp"

namespace foretrain {
namespace {

void put_attention(const LlmShape& shape, MegatronArguments& arguments) {
  const auto put = [&](const char* name, int value) { arguments[name] = std::to_string(value); };
  put("num-attention-heads", shape.heads);
  if (shape.kv_heads != shape.heads && !shape.mla) {
    arguments["group-query-attention"] = "true";
    put("num-query-groups", shape.kv_heads);
  }
  if (shape.head_dim > 0) put("kv-channels", shape.head_dim);
  if (shape.qk_norm || shape.mla) arguments["qk-layernorm"] = "true";
  if (shape.attention_sinks) arguments["softmax-type"] = "learnable";
  if (shape.rotary_scaled) arguments["enable-gpt-oss"] = "true";
  if (shape.window > 0) {
    arguments["window-size"] = fmt::format("{},0", shape.window - 1);
    if (shape.full_attention_every > 0) put("window-attn-skip-freq", shape.full_attention_every);
  }
  if (!shape.mla) return;
  arguments["multi-latent-attention"] = "true";
  if (shape.mla->q_lora_rank > 0) put("q-lora-rank", shape.mla->q_lora_rank);
  put("kv-lora-rank", shape.mla->kv_lora_rank);
  put("qk-head-dim", shape.mla->qk_nope_head_dim);
  put("qk-pos-emb-head-dim", shape.mla->qk_rope_head_dim);
  put("v-head-dim", shape.mla->v_head_dim);
}

void put_experts(const MoeShape& moe, MegatronArguments& arguments) {
  arguments["num-experts"] = std::to_string(moe.experts);
  arguments["moe-router-topk"] = std::to_string(moe.top_k);
  arguments["moe-ffn-hidden-size"] = std::to_string(moe.expert_ffn_hidden);
  if (moe.shared_ffn_hidden > 0)
    arguments["moe-shared-expert-intermediate-size"] = std::to_string(moe.shared_ffn_hidden);
  if (moe.shared_gate) arguments["moe-shared-expert-gate"] = "true";
  if (moe.router_bias) arguments["moe-router-enable-expert-bias"] = "true";
}

/// "[0,1,1]", where patterns of letters do not say it.
void put_frequency(const LlmShape& shape, MegatronArguments& arguments) {
  if (!shape.layer_pattern.empty()) return;
  if (shape.moe->first_dense_layers == 0 && shape.moe->every == 1) return;
  std::string pattern;
  for (int layer = 0; layer < shape.layers; ++layer)
    pattern += fmt::format("{}{}", layer > 0 ? "," : "", shape.is_moe_layer(layer) ? 1 : 0);
  arguments["moe-layer-freq"] = "[" + pattern + "]";
}

void put_scaling(const LlmShape& shape, MegatronArguments& arguments,
                 std::vector<std::string>& lost) {
  const ModelNumbers& numbers = shape.numbers;
  const auto only = [&](int positions) {
    if (numbers.rope_positions != 0 && numbers.rope_positions != positions)
      lost.push_back(fmt::format("embedding.rope_positions: {}; Megatron-LM stretches from {}",
                                 numbers.rope_positions, positions));
  };
  switch (numbers.rope_scaling) {
    case RopeScaling::none:
      return;
    case RopeScaling::linear:
      arguments["rotary-seq-len-interpolation-factor"] = fmt::format("{}", numbers.rope_factor);
      return;
    case RopeScaling::llama3:
      arguments["use-rope-scaling"] = "true";
      arguments["rope-scaling-factor"] = fmt::format("{}", numbers.rope_factor);
      return only(llama_positions);
    case RopeScaling::yarn:
      break;
  }
  if (shape.rotary_scaled) {  // --enable-gpt-oss
    if (numbers.rope_factor != gpt_oss_factor)
      lost.push_back(fmt::format("embedding.rope_factor: {}; --enable-gpt-oss has {}",
                                 numbers.rope_factor, gpt_oss_factor));
    return only(gpt_oss_positions);
  }
  if (!shape.mla) {
    lost.emplace_back(
        "embedding.rope_scaling: yarn, which has arguments with latent attention "
        "alone");
    return;
  }
  arguments["rope-type"] = "yarn";
  arguments["rotary-scaling-factor"] = fmt::format("{}", numbers.rope_factor);
  if (numbers.rope_positions > 0)
    arguments["original-max-position-embeddings"] = std::to_string(numbers.rope_positions);
  lost.emplace_back("YaRN's mscale, of which a scenario knows nothing");
}

/// The numbers inside of its arithmetic.
void put_numbers(const LlmShape& shape, MegatronArguments& arguments,
                 std::vector<std::string>& lost) {
  const ModelNumbers& numbers = shape.numbers;
  if (numbers.norm_epsilon > 0.0)
    arguments["norm-epsilon"] = fmt::format("{}", numbers.norm_epsilon);
  else
    lost.emplace_back("norm.epsilon, which the model does not say; Megatron-LM takes 1e-5");
  if (shape.position != PositionKind::rotary) return;
  if (numbers.rope_theta > 0.0)
    arguments["rotary-base"] = fmt::format("{:.0f}", numbers.rope_theta);
  else
    lost.emplace_back(
        "embedding.rope_theta and scaling, which the model does not say; Megatron-LM takes 10000");
  if (numbers.rope_share != 1.0)
    arguments["rotary-percent"] = fmt::format("{}", numbers.rope_share);
  put_scaling(shape, arguments, lost);
}

}  // namespace

MegatronArguments megatron_shape_arguments(const LlmShape& shape, std::vector<std::string>* lost) {
  MegatronArguments arguments;
  const auto put = [&](const char* name, int value) { arguments[name] = std::to_string(value); };
  put("num-layers", shape.layers);
  put("hidden-size", shape.hidden);
  put("vocab-size", shape.vocabulary);
  arguments["tokenizer-type"] = "given";
  put_attention(shape, arguments);
  if (shape.ffn_hidden > 0) put("ffn-hidden-size", shape.ffn_hidden);
  if (shape.gated_mlp) arguments[shape.mlp_clamp > 0.0 ? "quick-geglu" : "swiglu"] = "true";
  if (shape.mlp_clamp > 0.0) {  // GPT-OSS
    arguments["glu-linear-offset"] = "1.0";
    arguments["activation-func-clamp-value"] = fmt::format("{}", shape.mlp_clamp);
  }
  if (const auto word = word_of(*megatron_dialect().term("position"), name_of(shape.position)))
    arguments["position-embedding-type"] = *word;
  if (shape.positions > 0) put("max-position-embeddings", shape.positions);
  arguments["normalization"] = shape.norm == NormKind::rmsnorm ? "RMSNorm" : "LayerNorm";
  if (!shape.mlp_bias) arguments["disable-bias-linear"] = "true";
  if (shape.qkv_bias && !shape.mlp_bias) arguments["add-qkv-bias"] = "true";
  if (shape.embedding_norm) arguments["embed-layernorm"] = "true";
  if (!shape.tied_embeddings) arguments["untie-embeddings-and-output-weights"] = "true";
  if (shape.mtp_layers > 0) put("mtp-num-layers", shape.mtp_layers);
  if (shape.moe) put_experts(*shape.moe, arguments);
  if (shape.moe) put_frequency(shape, arguments);
  std::vector<std::string> unsaid;
  put_numbers(shape, arguments, lost != nullptr ? *lost : unsaid);
  return arguments;
}

bool shape_has_arguments(const LlmShape& shape) {
  MegatronArguments arguments = megatron_shape_arguments(shape);
  arguments["seq-length"] = "8";
  arguments["micro-batch-size"] = "1";
  MegatronMapping mapping = map_megatron_arguments(arguments, MegatronEnvironment{1, 8, {}});
  if (!mapping.errors.empty()) return false;
  // Read for routing, in megatron_import.cpp.
  if (mapping.job.model.moe && shape.moe)
    mapping.job.model.moe->router_bias = shape.moe->router_bias;
  return may_be_one_model(mapping.job.model, shape);
}

}  // namespace foretrain
