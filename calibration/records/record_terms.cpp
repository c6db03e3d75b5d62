// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/internal/record_terms.hpp"

#include <array>
#include <cctype>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "calibration/records/internal/words.hpp"
#include "models/base/ranges.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

using Words = std::vector<std::string>;

/// Letters, digits and underscores, in lower case.
Words words_of(const std::string& text) {
  Words words(1);
  for (const char c : lower(text))
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_')
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  if (words.back().empty()) words.pop_back();
  return words;
}

/// The first word that is none of those.
std::string first_unknown(const Words& words, std::initializer_list<std::string_view> known) {
  for (const std::string& word : words)
    if (!contains(known, word)) return word;
  return "";
}

/// Formats of less than 16 bits that are named.
int narrow_words(const Words& words) {
  int named = 0;
  for (const char* const format : {"fp8", "mxfp8", "nvfp4"})
    named += contains(words, format) ? 1 : 0;
  return named;
}

RecordPrecision unstated_precision(bool eight_bits) {
  if (!eight_bits) return {Precision::bf16, Fp8Scaling::tensor, false, {"bf16"}, ""};
  return {Precision::bf16,
          Fp8Scaling::tensor,
          false,
          {},
          "the precision is not stated, and the device has fp8"};
}

/// Parts that a source recomputes one by one, by the names of Megatron-Core, PaddleNLP and JAX.
/// JAX names what is kept instead: the outputs of all matrix multiplications ("dot"), or those of
/// the projections around attention only.
bool add_module(const std::string& name, LayerModules& modules) {
  const bool keeps_products = name == "save_dot_only";
  const bool keeps_projections = name == "save_qkv_out_proj";
  if (keeps_products || keeps_projections) {
    modules.core_attention = modules.attention_norm = modules.mlp_norm = true;
    (keeps_products ? modules.activation : modules.mlp) = true;
  } else if (name == "norm" || name == "layernorm") {
    modules.attention_norm = modules.mlp_norm = true;
  } else if (name == "act" || name == "moe_act") {
    modules.activation = true;
  } else if (name == "core_attn") {
    modules.core_attention = true;
  } else if (name == "mla_up_proj") {
    modules.mla_up_projection = true;
  } else if (name == "mlp") {
    modules.mlp = true;
  } else if (name == "moe") {
    modules.moe = true;
  } else if (name == "shared_expert" || name == "shared_experts") {
    modules.shared_experts = true;
  } else {
    return false;
  }
  return true;
}

RecordRecompute refused_recompute(const std::string& words) {
  RecordRecompute refused;
  refused.why = "recomputation " + in_quotes(words) + " is not modelled";
  return refused;
}

/// "selective: mlp, moe_act" or "partial (norm, act)".
RecordRecompute listed_recompute(const std::string& words, const Words& names) {
  RecordRecompute result;
  result.kind = RecomputeKind::selective;
  result.modules = LayerModules{};
  for (std::size_t i = 1; i < names.size(); ++i)
    if (!add_module(names[i], result.modules)) return refused_recompute(words);
  return result;
}

}  // namespace

namespace {

/// What words that name formats of 16 or 32 bits alone say.
RecordPrecision wide_precision(const std::string& text, const Words& words) {
  RecordPrecision result;
  result.pure = contains(words, "pure");
  if (contains(words, "not")) {
    result.precision = Precision::fp16;
    result.assumptions.emplace_back("fp16");
  } else if (contains(words, "bf16") || contains(words, "amp_bf16")) {
    result.precision = Precision::bf16;
  } else if (contains(words, "fp16") || contains(words, "amp_fp16")) {
    result.precision = Precision::fp16;
  } else if (contains(words, "fp32")) {
    result.precision = Precision::fp32;
  } else if (contains(words, "amp")) {
    result.assumptions.emplace_back("bf16");
  } else {
    result.why = fmt::format("precision {} is not understood", in_quotes(text));
  }
  return result;
}

}  // namespace

RecordPrecision record_precision(const std::string& text, bool eight_bits) {
  const Words words = words_of(text);
  if (words.empty()) return unstated_precision(eight_bits);
  RecordPrecision result;
  const std::string unknown = first_unknown(
      words, {"bf16",    "fp16",      "fp32",    "fp8",      "amp",     "amp_bf16", "amp_fp16",
              "pure",    "optimizer", "states",  "master",   "not",     "stated",   "tensorwise",
              "rowwise", "dynamic",   "delayed", "current",  "scaling", "hybrid",   "all",
              "gather",  "mxfp8",     "nvfp4",   "blockwise"});
  const bool sixteen = contains(words, "bf16") || contains(words, "amp_bf16");
  const bool stated = !contains(words, "not");
  if (!unknown.empty()) {
    result.why = fmt::format(
        "precision {} is not modelled: bf16, fp16, fp32, mxfp8, nvfp4, and fp8 with a scale per "
        "tensor, row or block of 128 are",
        in_quotes(text));
  } else if (narrow_words(words) > 1) {
    result.why = fmt::format("precision {} names two formats of GEMMs", in_quotes(text));
  } else if (narrow_words(words) == 1 && (sixteen || !stated)) {
    result.why =
        fmt::format("precision {} does not say which of the two the GEMMs run in", in_quotes(text));
  } else if (contains(words, "fp8")) {
    result.precision = contains(words, "blockwise") ? Precision::fp8_block : Precision::fp8;
    if (contains(words, "rowwise")) result.scaling = Fp8Scaling::row;
    if (contains(words, "gather"))
      result.assumptions.emplace_back("weights are gathered in 16 bits");
  } else if (contains(words, "mxfp8") || contains(words, "nvfp4")) {
    result.precision = contains(words, "mxfp8") ? Precision::mxfp8 : Precision::nvfp4;
  } else {
    return wide_precision(text, words);
  }
  return result;
}

bool add_scaling(const std::string& word, RecordPrecision& told) {
  const bool of_tensors = told.precision == Precision::fp8 && told.scaling == Fp8Scaling::tensor;
  if (word.empty()) return true;
  if (word == "block") {
    if (of_tensors) told.precision = Precision::fp8_block;
    return true;
  }
  const auto scaling = from_name<Fp8Scaling>(word);
  if (scaling && of_tensors) told.scaling = *scaling;
  return scaling.has_value();
}

RecordRecompute record_recompute(const std::string& text) {
  const Words words = words_of(text);
  RecordRecompute result;
  if (words.empty() || (words.size() == 1 && words.front() == "partial")) {
    result.stated = false;
    return result;
  }
  const bool alone = words.size() == 1;
  if (alone && words.front() == "none") return result;
  if (alone && words.front() == "full") {
    result.kind = RecomputeKind::full;
    return result;
  }
  if (alone && words.front() == "selective") {
    result.kind = RecomputeKind::selective;
    return result;
  }
  if (words == Words{"selective", "op"}) {
    result.kind = RecomputeKind::selective;
    result.every_second_matmul = true;
    return result;
  }
  if (words.front() == "selective" || words.front() == "partial")
    return listed_recompute(text, words);
  return refused_recompute(text);
}

bool is_hybrid_architecture(const std::string& architecture) {
  const std::string name = lower(architecture);
  return has_part(name, "mamba") || has_part(name, "hybrid") || has_part(name, "ssm") ||
         name == "nemotron_h" || name == "qwen3_next";
}

std::string refused_architecture(const std::string& architecture) {
  constexpr auto transformers = std::to_array<std::string_view>(
      {"", "gpt", "llama", "moe", "mla_moe", "nemotron", "grok", "gpt_oss"});
  const std::string name = lower(architecture);
  if (contains(transformers, name)) return "";
  if (is_hybrid_architecture(architecture)) return "";
  return fmt::format("models of architecture {} are not modelled", in_quotes(architecture));
}

}  // namespace foretrain
