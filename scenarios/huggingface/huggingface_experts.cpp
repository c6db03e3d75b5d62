// SPDX-License-Identifier: Apache-2.0
// `quantization_config` of a config.json: transformers, utils/quantization_config.py.

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "scenarios/huggingface/huggingface.hpp"
#include "scenarios/huggingface/internal/huggingface_reader.hpp"

namespace foretrain::huggingface {
namespace {

const Words with_experts{{"sparse", "moe", "1"}, {"dense", "mlp", "0"}};

/// A list by layer as the two numbers that say where experts are, or refused.
void read_expert_list(Reader& reader, const YamlNode& list, int layers, MoeShape& moe) {
  constexpr const char* name = "moe.layer_list";
  const auto flags = flags_of(reader, name, list, layers, with_experts);
  if (!flags) return;
  const auto first = std::find(flags->begin(), flags->end(), true);
  const auto second = first == flags->end() ? first : std::find(first + 1, flags->end(), true);
  moe.first_dense_layers = static_cast<int>(first - flags->begin());
  moe.every = second == flags->end() ? std::max(1, layers - moe.first_dense_layers)
                                     : static_cast<int>(second - first);
  for (int layer = 0; layer < layers; ++layer) {
    const int after = layer - moe.first_dense_layers;
    if ((*flags)[static_cast<std::size_t>(layer)] == (after >= 0 && after % moe.every == 0))
      continue;
    return reader.refuse(list, reader.key_of(name),
                         "experts are modelled in one layer of every so many, after dense ones");
  }
  reader.record("moe.first_dense_layers", std::to_string(moe.first_dense_layers),
                list.mark.origin());
  reader.record("moe.every", std::to_string(moe.every), list.mark.origin());
}

/// "3,4,5": the layers that have experts, from 0 on.
bool read_expert_numbers(Reader& reader, int layers, MoeShape& moe) {
  constexpr const char* name = "moe.layer_numbers";
  const YamlNode* text = reader.take(name);
  if (text == nullptr) return false;
  YamlNode list = *text;
  list.text.clear();
  list.items.assign(static_cast<std::size_t>(layers), *text);
  for (YamlNode& item : list.items) item.text = "0";
  std::istringstream words(text->text);
  for (std::string word; std::getline(words, word, ',');) {
    const double layer = parse_number(word).value.value_or(-1.0);
    if (layer < 0.0 || layer >= layers || layer != std::trunc(layer)) {
      reader.refuse(*text, reader.key_of(name),
                    fmt::format("{} is no layer from 0 to {}", in_quotes(word), layers - 1));
      return true;
    }
    list.items[static_cast<std::size_t>(layer)].text = "1";
  }
  read_expert_list(reader, list, layers, moe);
  return true;
}

void read_expert_layers(Reader& reader, const LlmShape& shape, MoeShape& moe) {
  if (read_expert_numbers(reader, shape.layers, moe))
    return reader.pass_over("moe.first_dense_layers");
  const YamlNode* list = reader.take("moe.layer_list");
  if (list != nullptr && list->is_sequence()) {
    reader.take("moe.first_dense_layers");
    reader.take("moe.every");
    return read_expert_list(reader, *list, shape.layers, moe);
  }
  moe.first_dense_layers = reader.number("moe.first_dense_layers", {0, shape.layers - 1.0});
  moe.every = reader.number("moe.every", {1, most_counted});
  const int last = reader.number("moe.last_layer", {-1, most_counted, false});
  if (const YamlNode* node = reader.take("moe.last_layer"))
    if (last != -1 && last != shape.layers - 1)
      reader.refuse(*node, reader.key_of("moe.last_layer"),
                    fmt::format("dense layers after {} are not modelled", last));
}

void read_shared_experts(Reader& reader, MoeShape& moe) {
  const int shared = reader.number("moe.shared_experts", {0, 100, false});
  if (shared > 0 && moe.shared_ffn_hidden == 0) {
    moe.shared_ffn_hidden = shared * moe.expert_ffn_hidden;
    reader.record(
        "moe.shared_hidden", std::to_string(moe.shared_ffn_hidden),
        fmt::format("derived: {} * moe.expert_hidden", reader.key_of("moe.shared_experts")));
  }
  moe.shared_gate &= moe.shared_ffn_hidden > 0;
}

}  // namespace

void read_experts(Reader& reader, LlmShape& shape) {
  const bool halves = reader.family().layers == LayerForm::halves;
  if (!reader.family().experts || (halves && shape.layer_pattern.find('E') == std::string::npos))
    return;
  const YamlNode* number = reader.take("moe.experts");
  if (!reader.truth("moe.used") || (number != nullptr && number->text == "0"))
    return reader.pass_over("moe.");
  reader.fill("moe", shape);
  MoeShape& moe = *shape.moe;
  if (moe.top_k > moe.experts)
    reader.refuse(reader.key_of("moe.top_k"),
                  fmt::format("a token cannot use {} of {} experts", moe.top_k, moe.experts));
  read_shared_experts(reader, moe);
  if (!halves) read_expert_layers(reader, shape, moe);
}

}  // namespace foretrain::huggingface

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
