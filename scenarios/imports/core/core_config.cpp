// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/core/core_config.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "scenarios/imports/core/internal/core_fields.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/shell/argument_reader.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {

using core::CoreReader;

namespace core {
namespace {

std::string dashed(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

bool is_argument(const std::string& name) {
  const auto& known = known_megatron_arguments();
  return std::binary_search(known.begin(), known.end(), name) || leaves_memory_alone(name) ||
         is_field("conditional", name);
}

bool lies_under(std::string_view path, std::string_view group) {
  return path == group || (path.starts_with(group) && path[group.size()] == '.');
}

/// "[[embedding, decoder], [decoder, loss]]" in the letters of Megatron-LM's layouts, "Et|tL".
std::string layout_letters(const YamlNode& stages) {
  std::string letters;
  for (const YamlNode& stage : stages.items) {
    if (!letters.empty() || &stage != &stages.items.front()) letters += '|';
    for (const YamlNode& layer : stage.items)
      letters += layer.text == "embedding" ? 'E'
                 : layer.text == "decoder" ? 't'
                 : layer.text == "mtp"     ? 'm'
                 : layer.text == "loss"    ? 'L'
                                           : '?';
  }
  return letters;
}

}  // namespace

std::string core_text(const YamlNode& node) {
  if (node.is_sequence()) {
    std::string text;
    for (const YamlNode& item : node.items) text += (text.empty() ? "" : ",") + core_text(item);
    return "[" + text + "]";
  }
  std::string text = node.text;
  for (const char* key : {"_target_", "_name_"})
    if (const YamlNode* word = node.find(key)) text = word->text;
  for (const char* start : {"torch.", "AttnBackend."})
    if (text.starts_with(start)) text.erase(0, std::string_view(start).size());
  return text == "None" ? "" : text;
}

bool CoreReader::left(const std::string& path) const {
  return std::ranges::any_of(left_out_,
                             [&](const std::string& group) { return lies_under(path, group); });
}

const YamlNode* CoreReader::take(const std::string& path) {
  return left(path) ? nullptr : in_.take(path);
}

void CoreReader::set(const std::string& argument, std::string value, const std::string& path) {
  MegatronSource& found = config_.found;
  found.arguments[argument] = std::move(value);
  found.keys[argument] = path;
  const YamlNode* node = node_at(root_, path);
  if (node != nullptr && node->mark.line > 0) found.lines[argument] = node->mark.line;
}

void CoreReader::put(const std::string& argument, const std::string& path) {
  const YamlNode* node = take(path);
  const std::string text = node == nullptr ? std::string() : core_text(*node);
  const bool off = text == "false" || text == "False";
  if (text.empty() || off)
    config_.found.arguments.erase(argument);
  else
    set(argument, text == "True" ? "true" : text, path);
}

bool CoreReader::on(const std::string& path, bool otherwise) {
  if (path.empty() || left(path) || node_at(root_, path) == nullptr) return otherwise;
  return in_.truth({path}, otherwise);
}

void CoreReader::read_field(const std::string& group, const std::string& name) {
  const std::string path = group + "." + name;
  if (left(path)) return;
  if (is_field("shape", name) && config_.shape_key.empty()) config_.shape_key = path;
  if (const auto argument = argument_of("renamed", name); !argument.empty())
    return put(std::string(argument), path);
  if (const auto argument = argument_of("inverse", name); !argument.empty()) {
    if (on(path, true))
      config_.found.arguments.erase(std::string(argument));
    else
      set(std::string(argument), "true", path);
    return;
  }
  const std::string argument = dashed(name);
  if (is_argument(argument) || is_field("shape", name)) put(argument, path);
}

/// Fields of models that mean something else than the argument of their name, or several.
void CoreReader::read_model_field(const std::string& group, const std::string& name) {
  static const std::array<std::string_view, 12> apart{"seq_length",
                                                      "vocab_size",
                                                      "num_query_groups",
                                                      "activation_func",
                                                      "bf16",
                                                      "gated_linear_unit",
                                                      "tp_comm_overlap",
                                                      "position_embedding_type",
                                                      "fp16",
                                                      "overlap_p2p_comm",
                                                      "pipeline_model_parallel_layout",
                                                      "ddp"};
  const bool precision = name.starts_with("fp8") || name.starts_with("fp4") ||
                         name.starts_with("num_layers_at_") || name == "first_last_layers_bf16";
  if (precision || contains(apart, name)) return;
  read_field(group, name);
}

void CoreReader::refuse_if(const std::string& path, bool side) {
  const YamlNode* const node = left(path) ? nullptr : node_at(root_, path);
  if (node == nullptr) return;
  const std::string text = core_text(*node);
  const bool on = text == "true" || text == "True";
  const bool off = text == "false" || text == "False";
  if (side ? on : off) in_.refuse(path, in_quotes(text) + " is not modelled");
}

void CoreReader::read_model() {
  for (const std::string& group : groups_.model) {
    const YamlNode* node = node_at(root_, group);
    if (node == nullptr) continue;
    for (const YamlEntry& entry : node->entries) read_model_field(group, entry.key);
    for (const std::string_view name : fields_of("harmless.model"))
      in_.harmless({group + "." + std::string(name) + ".*"});
    for (const std::string_view name : fields_of("approximate.model"))
      in_.approximate({group + "." + std::string(name) + ".*"});
    read_shape(group);
    refuse_if(group + ".fp8_wgrad", false);
    refuse_if(group + ".batch_invariant_mode", true);
  }
  const auto stated = [&](const char* name) {
    return std::ranges::any_of(groups_.model, [&](const std::string& group) {
      const YamlNode* node = node_at(root_, group + "." + name);
      return node != nullptr && !node->is_null();
    });
  };
  config_.whole_shape =
      stated("num_layers") && stated("hidden_size") && stated("num_attention_heads");
}

/// Fields that decide several arguments of the shape, or a value of another form.
void CoreReader::read_shape(const std::string& group) {
  MegatronArguments& arguments = config_.found.arguments;
  const auto path = [&](const char* name) { return group + "." + name; };
  const auto there = [&](const char* name) {
    return node_at(root_, path(name)) != nullptr && !left(path(name));
  };
  const auto mark_shape = [&](const char* name) {
    if (config_.shape_key.empty()) config_.shape_key = path(name);
  };
  if (there("num_query_groups")) {
    mark_shape("num_query_groups");
    put("num-query-groups", path("num_query_groups"));
    if (arguments.count("num-query-groups") > 0)
      arguments["group-query-attention"] = "true";
    else
      arguments.erase("group-query-attention");
  }
  if (there("gated_linear_unit") || there("activation_func")) {
    mark_shape(there("gated_linear_unit") ? "gated_linear_unit" : "activation_func");
    const bool was = arguments.count("swiglu") > 0 || arguments.count("quick-geglu") > 0;
    const bool gated = on(path("gated_linear_unit"), was);
    const YamlNode* node = take(path("activation_func"));
    const std::string function = node == nullptr ? std::string() : core_text(*node);
    for (const char* name : {"swiglu", "quick-geglu", "squared-relu"}) arguments.erase(name);
    if (function.find("squared_relu") != std::string::npos) arguments["squared-relu"] = "true";
    if (gated) arguments[function.ends_with("gelu") ? "quick-geglu" : "swiglu"] = "true";
  }
  if (there("position_embedding_type")) {
    mark_shape("position_embedding_type");
    put("position-embedding-type", path("position_embedding_type"));
    if (arguments["position-embedding-type"] == "yarn") {
      arguments["position-embedding-type"] = "rope";
      if (arguments.count("multi-latent-attention") == 0) arguments["enable-gpt-oss"] = "true";
    }
  }
  if (there("vocab_size")) {
    mark_shape("vocab_size");
    put("vocab-size", path("vocab_size"));
  }
  if (const YamlNode* layout = take(path("pipeline_model_parallel_layout")); layout != nullptr)
    set("pipeline-model-parallel-layout",
        layout->is_sequence() ? layout_letters(*layout) : core_text(*layout),
        path("pipeline_model_parallel_layout"));
}

/// The vocabulary of the tokenizer where the model takes that, padded only where it is.
void CoreReader::read_vocabulary() {
  MegatronArguments& arguments = config_.found.arguments;
  bool pads = groups_.nemo;
  for (const std::string& group : groups_.model) pads = on(group + ".should_pad_vocab", pads);
  const std::string tokenizers = groups_.tokenizer + ".vocab_size";
  if (!groups_.tokenizer.empty() && on(groups_.tokenizer + ".use_tokenizer_vocab_size", false)) {
    const YamlNode* size = take(tokenizers);
    if (size != nullptr) {
      set("vocab-size", core_text(*size), tokenizers);
      pads = true;
    } else {
      in_.refuse(groups_.tokenizer + ".use_tokenizer_vocab_size",
                 "takes the vocabulary of a tokenizer, which is not known here; state " +
                     tokenizers + ", or " + groups_.model.front() +
                     ".vocab_size and leave this key out (--leave-out)");
    }
  }
  arguments["tokenizer-type"] = "given";
  const auto size = arguments.find("vocab-size");
  if (pads || size == arguments.end()) return;
  const std::string as_is = size->second;
  if (const auto key = config_.found.keys.find("vocab-size"); key != config_.found.keys.end())
    config_.found.keys["padded-vocab-size"] = key->second;
  arguments["padded-vocab-size"] = as_is;
  arguments.erase("vocab-size");
}

void CoreReader::read_batch() {
  const std::string& batch = groups_.batch;
  for (const char* name : {"global_batch_size", "micro_batch_size", "rampup_batch_size"})
    if (node_at(root_, batch + "." + name) != nullptr) read_field(batch, name);
  if (node_at(root_, groups_.steps) != nullptr) {
    const YamlNode* steps = take(groups_.steps);
    if (steps != nullptr && !steps->text.starts_with('-')) put("train-iters", groups_.steps);
  }
  if (node_at(root_, batch + ".train_samples") != nullptr)
    put("train-samples", batch + ".train_samples");
  constexpr int longest = 100'000'000;
  const std::vector<std::string> keys{groups_.data + ".seq_length",
                                      groups_.data + ".sequence_length"};
  std::optional<int> rows;
  std::string where = keys.front();
  for (const std::string& key : keys) {
    const auto value = left(key) ? std::nullopt : in_.integer({key}, 1, longest);
    if (value && !rows) where = key;
    if (value && !rows) rows = value;
  }
  for (const std::string& group : groups_.model) {
    const std::string key = group + ".seq_length";
    const auto value = left(key) ? std::nullopt : in_.integer({key}, 1, longest);
    if (!value) continue;
    if (rows && *rows != *value)
      in_.refuse(key, fmt::format("is {}, but {} is {}, which is what training takes; state both",
                                  *value, where, *rows));
    else
      where = key;
    rows = value;
  }
  if (rows) set("seq-length", std::to_string(*rows), where);
  const bool packs = node_at(root_, groups_.data + ".packed_sequence_specs") != nullptr ||
                     node_at(root_, groups_.data + ".offline_packing_specs") != nullptr ||
                     on(groups_.data + ".enable_offline_packing", false);
  if (packs)
    config_.assumed.emplace_back(
        "every row is one sample: the source does not say how long packed samples are "
        "(training.samples)");
}

}  // namespace core

void read_core_config(const CoreGroups& groups, const YamlNode& root,
                      const std::vector<std::string>& left_out, TreeReader& in,
                      CoreConfig& config) {
  CoreReader reader(groups, root, left_out, in, config);
  reader.read_model();
  reader.read_vocabulary();
  reader.read_batch();
  reader.read_precision();
  reader.read_data_parallel();
  reader.read_optimizer();
  reader.read_adapter();
  config.found.arguments["no-create-attention-mask-in-dataloader"] = "true";
}

void sort_core_notes(const MegatronSource& found, const PlanNotes& plan, PlanNotes& notes) {
  const auto move = [&](const std::vector<std::string>& arguments, std::vector<std::string>& to) {
    for (const std::string& argument : arguments) {
      const auto key = found.keys.find(argument);
      if (key == found.keys.end() || std::erase(notes.read, key->second) == 0) continue;
      to.push_back(key->second);
    }
  };
  move(plan.ignored, notes.ignored);
  move(plan.approximated, notes.approximated);
  move(plan.unknown, notes.unknown);
}

}  // namespace foretrain
