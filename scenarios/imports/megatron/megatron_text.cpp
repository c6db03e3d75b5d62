// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string_view>

#include "models/base/ranges.hpp"
#include "scenarios/imports/core/internal/core_fields.hpp"
#include "scenarios/imports/megatron/megatron_arguments.hpp"
#include "scenarios/imports/megatron/megatron_source.hpp"

namespace foretrain {
namespace {

/// Recursive descent over the two small expression languages of Megatron's arguments.
class Cursor {
 public:
  explicit Cursor(const std::string& text) {
    for (const char c : text)
      if (!std::isspace(static_cast<unsigned char>(c)) && c != ',') text_ += c;
  }
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return done() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  char next() { return done() ? '\0' : text_[at_++]; }
  /// `*count` behind an item; 1 without one; empty when no number follows the star.
  std::optional<int> repeat() {
    if (!take('*')) return 1;
    int count = 0;
    bool any = false;
    while (std::isdigit(static_cast<unsigned char>(peek()))) {
      count = 10 * count + (next() - '0');
      any = true;
      if (count > 10000) return std::nullopt;
    }
    return any ? std::optional<int>(count) : std::nullopt;
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

constexpr int deepest = 16;                  ///< parentheses inside parentheses
constexpr std::size_t most_items = 100'000;  ///< of an expanded text

/// Expands stars and parentheses of a layout; false when malformed or too large.
bool expand(Cursor& cursor, int depth, std::string& out) {
  while (!cursor.done()) {
    if (cursor.peek() == ')') return depth > 0;
    std::string item;
    if (cursor.take('(')) {
      if (depth == deepest || !expand(cursor, depth + 1, item) || !cursor.take(')')) return false;
    } else {
      item = cursor.next();
      if (std::string("Etdm|LI").find(item) == std::string::npos) return false;
    }
    const std::optional<int> count = cursor.repeat();
    if (!count) return false;
    if (out.size() + item.size() * static_cast<std::size_t>(*count) > most_items) return false;
    for (int i = 0; i < *count; ++i) out += item;
  }
  return depth == 0;
}

/// Adds a list `count` times; false when it gets too large.
bool repeat_list(const std::vector<int>& list, int count, std::vector<int>& out) {
  if (out.size() + list.size() * static_cast<std::size_t>(count) > most_items) return false;
  for (int i = 0; i < count; ++i) out.insert(out.end(), list.begin(), list.end());
  return true;
}

bool add_list(Cursor& cursor, std::vector<int>& out) {
  std::vector<int> list;
  if (!cursor.take('[')) return false;
  while (!cursor.take(']')) {
    const char c = cursor.next();
    if (c != '0' && c != '1') return false;
    list.push_back(c - '0');
  }
  const std::optional<int> count = cursor.repeat();
  return count && repeat_list(list, *count, out);
}

bool add_sum(Cursor& cursor, int depth, std::vector<int>& out) {
  do {
    if (cursor.take('(')) {
      std::vector<int> inner;
      if (depth == deepest || !add_sum(cursor, depth + 1, inner) || !cursor.take(')')) return false;
      const std::optional<int> count = cursor.repeat();
      if (!count || !repeat_list(inner, *count, out)) return false;
    } else if (!add_list(cursor, out)) {
      return false;
    }
  } while (cursor.take('+'));
  return true;
}

}  // namespace

std::vector<int> megatron_pipeline_layout(const std::string& text) {
  Cursor cursor(text);
  std::string expanded;
  if (!expand(cursor, 0, expanded)) return {};
  std::vector<int> layers{0};
  for (const char c : expanded) {
    if (c == '|') layers.push_back(0);
    if (c == 't' || c == 'd') ++layers.back();
  }
  return layers;
}

std::optional<int> megatron_prediction_chunk(const std::string& text) {
  Cursor cursor(text);
  std::string expanded;
  if (!expand(cursor, 0, expanded)) return std::nullopt;
  const auto module = expanded.find('m');
  if (module == std::string::npos) return std::nullopt;
  return static_cast<int>(
      std::count(expanded.begin(), expanded.begin() + static_cast<std::ptrdiff_t>(module), '|'));
}

std::vector<int> megatron_layer_pattern(const std::string& text, int layers) {
  std::vector<int> pattern;
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos) {
    if (text.size() > 6 || std::stoi(text) < 1) return {};
    for (int layer = 0; layer < layers; ++layer)
      pattern.push_back(layer % std::stoi(text) == 0 ? 1 : 0);
    return pattern;
  }
  Cursor cursor(text);
  if (!add_sum(cursor, 0, pattern) || !cursor.done()) return {};
  return static_cast<int>(pattern.size()) == layers ? pattern : std::vector<int>{};
}

namespace {

/// Keys at the top that no pre-training of a GPT reads, or that change neither memory nor time.
constexpr auto passed_over = std::to_array<std::string_view>({"add_position_embedding",
                                                              "bert_binary_head",
                                                              "data_parallel_random_init",
                                                              "decoder_num_layers",
                                                              "decoder_seq_length",
                                                              "delay_grad_reduce",
                                                              "delay_param_gather",
                                                              "enable_one_logger",
                                                              "encoder_num_layers",
                                                              "encoder_seq_length",
                                                              "finetune",
                                                              "lazy_mpu_init",
                                                              "mask_prob",
                                                              "mock_data",
                                                              "onnx_safe",
                                                              "override_opt_param_scheduler",
                                                              "retriever_seq_length",
                                                              "sample_rate",
                                                              "sgd_momentum",
                                                              "short_seq_prob",
                                                              "skip_train",
                                                              "squared_relu",
                                                              "swiglu",
                                                              "vocab_extra_ids"});

/// Fields of the groups that no argument of their name sets.
constexpr auto without_argument = std::to_array<std::string_view>(
    {"_cpu_offloading_context", "async_tensor_model_parallel_allreduce", "perform_initialization",
     "rotary_interleaved"});

bool is_false(const std::string& text) { return text == "false" || text == "False"; }
bool is_true(const std::string& text) { return text == "true" || text == "True"; }

/// Builds the arguments of one file.
class YamlArguments {
 public:
  MegatronSource read(const YamlNode& root) {
    for (const YamlEntry& entry : root.entries) {
      const bool group = entry.key == "language_model" || entry.key == "model_parallel";
      if (!group) put_argument(entry);
      for (const YamlEntry& field : entry.value.entries)
        if (group) put_field(entry.key, field);
    }
    return std::move(found_);
  }

 private:
  void set(std::string argument, std::string value, const YamlEntry& entry,
           const std::string& group = {}) {
    found_.keys[argument] = group.empty() ? entry.key : group + "." + entry.key;
    found_.lines[argument] = entry.mark.line;
    found_.arguments[std::move(argument)] = is_true(value) ? "true" : std::move(value);
  }

  static std::string dashed(std::string name) {
    std::ranges::replace(name, '_', '-');
    return name;
  }

  void put_argument(const YamlEntry& entry) {
    const std::string text = core::core_text(entry.value);
    if (text.empty() || contains(passed_over, entry.key)) return;
    if (const auto argument = core::argument_of("inverse", entry.key); !argument.empty()) {
      if (is_false(text)) set(std::string(argument), "true", entry);
    } else if (!is_false(text)) {
      set(dashed(entry.key), text, entry);
    }
  }

  void put_field(const std::string& group, const YamlEntry& entry) {
    const std::string text = core::core_text(entry.value);
    const std::string& name = entry.key;
    if (text.empty()) return;
    const bool harmless =
        core::is_field("harmless.model", name) || core::is_field("approximate.model", name);
    if (const auto renamed = core::argument_of("renamed", name); !renamed.empty()) {
      set(std::string(renamed), text, entry, group);
    } else if (const auto off = core::argument_of("inverse", name); !off.empty()) {
      if (is_false(text)) set(std::string(off), "true", entry, group);
    } else if (name == "activation_func") {
      put_activation(text, entry, group);
    } else if (name == "fp8") {
      set("fp8-format", text, entry, group);
    } else if (name == "num_query_groups") {
      set("num-query-groups", text, entry, group);
      set("group-query-attention", "true", entry, group);
    } else if (name == "overlap_p2p_comm") {
      if (is_false(text)) set("no-overlap-p2p-communication", "true", entry, group);
    } else if (!is_false(text) && name != "gated_linear_unit" && !harmless &&
               !contains(without_argument, name)) {
      set(dashed(name), text, entry, group);
    }
  }

  /// By name: core_config_from_args() gates the MLP for "swiglu" alone.
  void put_activation(const std::string& text, const YamlEntry& entry, const std::string& group) {
    if (text == "swiglu")
      set("swiglu", "true", entry, group);
    else if (text == "squaredrelu" || text == "squared_relu")
      set("squared-relu", "true", entry, group);
    else if (text != "gelu")
      set("activation-func " + text, "true", entry, group);
  }

  MegatronSource found_;
};

}  // namespace

bool is_megatron_yaml(const YamlNode& root) {
  const YamlNode* model = root.find("language_model");
  const YamlNode* parallel = root.find("model_parallel");
  return (model != nullptr && model->is_map()) || (parallel != nullptr && parallel->is_map());
}

MegatronSource megatron_yaml_source(const YamlNode& root) { return YamlArguments{}.read(root); }

}  // namespace foretrain
