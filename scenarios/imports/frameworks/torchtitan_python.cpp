// SPDX-License-Identifier: Apache-2.0
// torchtitan's config_registry.py: torchtitan/trainer.py, torchtitan/config/configs.py, as of
// August 2026, and the names that its first Python configurations shared with the TOML.
#include "scenarios/imports/frameworks/internal/torchtitan_python.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/frameworks/python_tree.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

/// What the tree of a Trainer.Config calls a key of the TOML.
struct MovedKey {
  const char* from;
  const char* to;
};

constexpr auto moved_keys = std::to_array<MovedKey>(
    {{"training.max_context_length", "training.seq_len"},
     {"compile.enable_async_tensor_parallel", "parallelism.enable_async_tensor_parallel"},
     {"profiler", "profiling"},
     {"validator", "validation"}});

/// Keys whose class says what they are.
constexpr auto classes = std::to_array<std::string_view>(
    {"training", "parallelism", "compile", "checkpoint", "metrics", "profiler", "validator", "comm",
     "debug", "lr_scheduler", "optimizer"});

constexpr auto families = std::to_array<std::string_view>(
    {"llama3", "llama4", "qwen3", "qwen3_vl", "deepseek_v3", "gpt_oss", "kimi_k2_7"});

YamlEntry* entry_at(YamlNode& map, std::string_view key) {
  const auto found =
      std::ranges::find_if(map.entries, [&](const YamlEntry& entry) { return entry.key == key; });
  return found == map.entries.end() ? nullptr : &*found;
}

std::optional<double> number_at(const YamlNode& root, std::string_view path) {
  const YamlNode* const node = node_at(root, path);
  return node == nullptr ? std::nullopt : parse_number(node->text).value;
}

/// Tokens become sequences; micro-batches of a pipeline are counted apart.
void turn_batch(YamlNode& root, Diagnostics& diagnostics) {
  const auto tokens = take_out(root, "training.num_tokens_per_microbatch_per_dp_rank");
  const auto step = take_out(root, "training.num_tokens_per_train_step");
  const auto passes = take_out(root, "parallelism.num_pp_microbatches");
  if (!tokens) return;
  const double rows = number_at(root, "training.max_context_length").value_or(2048.0);
  const auto sequences = [&](const YamlNode& node) -> std::optional<int> {
    const auto count = parse_number(node.text).value;
    const double value = count ? *count / rows : 0.0;
    if (value >= 1.0 && value <= 1e8 && value == static_cast<int>(value))
      return static_cast<int>(value);
    diagnostics.add(
        node.mark, "training",
        fmt::format("{} tokens are no whole number of rows of {:.0f}", in_quotes(node.text), rows));
    return std::nullopt;
  };
  const auto micro = sequences(*tokens);
  const auto count = passes ? parse_number(passes->text).value : std::nullopt;
  if (!micro) return;
  const double local = *micro * count.value_or(1.0);
  put_value(root, "training.local_batch_size",
            text_node(fmt::format("{:.0f}", local), tokens->mark));
  put_value(root, "parallelism.pipeline_parallel_microbatch_size",
            text_node(std::to_string(*micro), tokens->mark));
  if (!step || step->text == "-1") return;
  if (const auto all = sequences(*step))
    put_value(root, "training.global_batch_size", text_node(std::to_string(*all), step->mark));
}

/// `FullAC.Config()`, `SelectiveAC.Config()`, or the class with a mode of its own before.
void turn_recomputation(YamlNode& root) {
  YamlEntry* const entry = entry_at(root, "activation_checkpoint");
  YamlNode mode = text_node("selective", root.mark);
  if (entry != nullptr) {
    YamlNode& node = entry->value;
    mode.mark = node.mark;
    const std::string kind = node.text;
    if (node.find("mode") != nullptr) return;
    if (node.is_null())
      mode.text = "none";
    else if (kind.starts_with("FullAC"))
      mode.text = "full";
    else if (!kind.starts_with("SelectiveAC"))
      mode.text = kind;
  }
  const bool operators = mode.text == "selective";
  put_value(root, "activation_checkpoint.mode", std::move(mode));
  if (operators)
    put_value(root, "activation_checkpoint.selective_ac_option", text_node("op", root.mark));
}

/// `model_registry("8B", converters=[Float8LinearConverter.Config()])`.
void turn_model(YamlNode& root, const std::string& config) {
  const auto spec = take_out(root, "model_spec");
  std::string family;
  for (const std::string_view known : families)
    if (config.starts_with(known) && known.size() > family.size()) family = known;
  if (!spec) return;
  if (!family.empty()) put_value(root, "model.name", text_node(family, spec->mark));
  if (!spec->items.empty()) put_value(root, "model.flavor", spec->items.front());
  YamlNode names;
  names.kind = YamlNode::Kind::sequence;
  names.mark = spec->mark;
  for (const YamlEntry& entry : spec->entries) {
    if (entry.key != "converters") put_value(root, "model." + entry.key, entry.value);
    if (entry.key == "converters")
      for (const YamlNode& converter : entry.value.items) {
        const bool eight = converter.text.starts_with("Float8LinearConverter");
        const std::string kind = converter.text.substr(0, converter.text.find('.'));
        names.items.push_back(text_node(eight ? "float8" : kind, converter.mark));
        for (const YamlEntry& key : converter.entries)
          if (eight) put_value(root, "float8." + key.key, key.value);
      }
  }
  if (!names.items.empty()) put_value(root, "model.converters", std::move(names));
}

void turn_loss(YamlNode& root) {
  const auto loss = take_out(root, "loss");
  if (!loss) return;
  const bool chunked = loss->text.starts_with("ChunkedLossWrapper");
  const bool plain = loss->text.starts_with("CrossEntropyLoss");
  put_value(root, "loss.name",
            text_node(chunked ? "chunked"
                      : plain ? "plain"
                              : loss->text,
                      loss->mark));
}

void turn_optimizer(YamlNode& root) {
  YamlEntry* const entry = entry_at(root, "optimizer");
  if (entry == nullptr || !entry->value.is_map() || entry->value.find("name") != nullptr) return;
  const std::string kind = entry->value.text;
  put_value(root, "optimizer.name",
            text_node(kind == "default_adamw" ? "AdamW" : kind, entry->value.mark));
}

/// The lines behind a text that are `key=value` alone.
std::vector<std::string> taken_overrides(std::string& text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto end = text.find_last_not_of(" \n\r");
    if (end == std::string::npos) break;
    const auto start = text.rfind('\n', end);
    std::string line =
        text.substr(start == std::string::npos ? 0 : start + 1, 1 + end - (start + 1));
    if (!is_override(line) || line.find_first_of(" (") != std::string::npos) break;
    words.push_back(std::move(line));
    text.resize(start == std::string::npos ? 0 : start);
  }
  std::ranges::reverse(words);
  return words;
}

/// The configuration that is asked for, or the only one.
const std::pair<const std::string, YamlNode>* chosen(const std::map<std::string, YamlNode>& all,
                                                     const std::string& asked, const Mark& top,
                                                     Diagnostics& diagnostics) {
  const auto found = all.find(asked);
  if (found != all.end()) return &*found;
  if (asked.empty() && all.size() == 1) return &*all.begin();
  std::vector<std::string> names;
  for (const auto& [name, value] : all)
    if (names.size() < 40) names.push_back(name);
  diagnostics.add(top, "config",
                  all.empty() ? "holds no Trainer.Config that can be read without running it"
                              : fmt::format("is to be one of {}: write config=NAME behind the file",
                                            joined(names)));
  return nullptr;
}

}  // namespace

bool is_torchtitan_python(const ImportSource& source) {
  return source.text.find("Trainer.Config(") != std::string::npos &&
         source.text.find("model_spec") != std::string::npos;
}

std::optional<YamlNode> torchtitan_python(const ImportSource& source, Diagnostics& diagnostics) {
  const Mark top{std::make_shared<const std::string>(source.name), 1, 1};
  std::string text = source.text;
  std::vector<std::string> overrides = taken_overrides(text);
  std::string asked;
  std::erase_if(overrides, [&](const std::string& word) {
    const bool name = word.starts_with("config=");
    if (name) asked = word.substr(7);
    return name;
  });
  auto all = python_configurations(text, source.name, diagnostics);
  if (!all) return std::nullopt;
  std::erase_if(*all, [](const auto& entry) { return entry.second.find("model_spec") == nullptr; });
  const auto* const found = chosen(*all, asked, top, diagnostics);
  if (found == nullptr) return std::nullopt;
  YamlNode root = found->second;
  root.text.clear();
  root.mark = top;
  for (const std::string& word : overrides) put_override(root, word, top);
  turn_batch(root, diagnostics);
  turn_recomputation(root);
  turn_model(root, found->first);
  turn_loss(root);
  turn_optimizer(root);
  for (const MovedKey& key : moved_keys)
    if (auto value = take_out(root, key.from)) put_value(root, key.to, std::move(*value));
  for (YamlEntry& entry : root.entries)
    if (contains(classes, entry.key) && entry.value.is_map()) entry.value.text.clear();
  return root;
}

}  // namespace foretrain
