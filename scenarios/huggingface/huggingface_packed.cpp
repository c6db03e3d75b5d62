// SPDX-License-Identifier: Apache-2.0
// `quantization_config` of a config.json: transformers, utils/quantization_config.py.
#include "scenarios/huggingface/huggingface.hpp"

#include <charconv>

#include <fmt/format.h>

namespace foretrain {
namespace {

std::string word_of(const YamlNode& map, const char* key) {
  const YamlNode* const node = map.find(key);
  return node != nullptr && node->is_scalar() ? node->text : std::string();
}

int whole_of(const YamlNode& map, const char* key) {
  const std::string text = word_of(map, key);
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

PackedCheckpoint of_bitsandbytes(const YamlNode& map) {
  const auto on = [&](const char* key) { return word_of(map, key) == "true"; };
  if (on("load_in_8bit") || on("_load_in_8bit"))
    return {.words = "8 bits of bitsandbytes", .frozen = FrozenFormat::int8};
  const std::string type = word_of(map, "bnb_4bit_quant_type");
  const bool twice = on("bnb_4bit_use_double_quant");
  return {.words = fmt::format("4 bits of bitsandbytes ({})", type.empty() ? "fp4" : type),
          .frozen = twice ? FrozenFormat::nf4_double : FrozenFormat::nf4};
}

PackedCheckpoint of_groups(const YamlNode& map, const std::string& method) {
  const int bits = whole_of(map, "bits");
  PackedCheckpoint packed{
      .words = fmt::format("{} bits of {}", bits, method == "gptq" ? "GPTQ" : "AWQ")};
  if (bits == 4) packed.serving = "int4";
  if (bits == 4 && method == "gptq") packed.frozen = FrozenFormat::gptq;
  return packed;
}

}  // namespace

std::optional<PackedCheckpoint> packed_checkpoint(const YamlNode& root) {
  const YamlNode* found = root.find("quantization_config");
  const YamlNode* const text = root.find("text_config");
  if (found == nullptr && text != nullptr) found = text->find("quantization_config");
  if (found == nullptr || !found->is_map() || found->entries.empty()) return std::nullopt;
  const YamlNode& map = *found;
  std::string method = word_of(map, "quant_method");
  const bool bits = map.find("load_in_4bit") != nullptr || map.find("load_in_8bit") != nullptr;
  PackedCheckpoint packed;
  if (method == "bitsandbytes" || (method.empty() && bits))
    packed = of_bitsandbytes(map);
  else if (method == "gptq" || method == "awq")
    packed = of_groups(map, method);
  else if (method == "fp8" || method == "fbgemm_fp8")
    packed = {.words = "8-bit floats",
              .serving = map.find("weight_block_size") != nullptr ? "fp8-block" : "fp8",
              .unpacks = true};
  else if (method == "mxfp4")
    packed = {.words = "MXFP4", .serving = "mxfp4", .unpacks = true};
  else
    packed = {.words = method.empty() ? "a format that it does not name" : in_quotes(method)};
  packed.mark = map.mark;
  return packed;
}

std::string PackedCheckpoint::sentence() const {
  std::string ways;
  if (frozen) ways = fmt::format("fine_tuning.frozen_format: {}", name_of(*frozen));
  if (!serving.empty())
    ways += fmt::format("{}serving.precision.weights: {}", ways.empty() ? "" : ", or ", serving);
  return fmt::format(
      "the checkpoint rests in {} (quantization_config); a model's file holds its shape, and the "
      "scenario how weights rest: {}",
      words, ways.empty() ? "no key has this format, so weights are those of the plan" : ways);
}

}  // namespace foretrain
