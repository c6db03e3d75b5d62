// SPDX-License-Identifier: Apache-2.0
#include "scenarios/huggingface/internal/huggingface_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain::huggingface {
namespace {

double number_in(const YamlNode& group, std::string_view key) {
  const YamlNode* const node = group.find(key);
  return node == nullptr ? 0.0 : parse_number(node->text).value.value_or(0.0);
}

std::string text_in(const YamlNode& group, std::string_view key, std::string_view older) {
  const YamlNode* node = group.find(key);
  if (node == nullptr) node = group.find(older);
  return node == nullptr ? std::string() : node->text;
}

/// `rope_scaling` of version 4, `rope_parameters` of version 5, which holds the base as well, or a
/// group that is called like its form (yarn). Forms that are not known here leave everything
/// unknown.
void read_scaling(Reader& reader, const YamlNode& group, const std::string& key,
                  ModelNumbers& numbers) {
  std::string type = text_in(group, "rope_type", "type");
  if (type.empty() && from_name<RopeScaling>(key)) type = key;
  const double theta = number_in(group, "rope_theta");
  if (theta > 0.0) {
    numbers.rope_theta = theta;
    reader.record("embedding.rope_theta", fmt::format("{}", theta), group.mark.origin());
  }
  if (type.empty() || type == "default") return;
  const auto scaling = from_name<RopeScaling>(type);
  if (!scaling) {
    numbers.rope_theta = 0.0;
    reader.assume(
        fmt::format("rotary angles of rope_type {} are not carried to exports", in_quotes(type)));
    return;
  }
  numbers.rope_scaling = *scaling;
  numbers.rope_factor = number_in(group, "factor");
  numbers.rope_positions =
      static_cast<int>(std::min(1e9, number_in(group, "original_max_position_embeddings")));
  reader.record("embedding.rope_scaling", type, group.mark.origin());
}

constexpr int deepest_default = 8;

/// Keys of the catalog whose meaning depends on others, and those that no forecast reads.
const std::set<std::string, std::less<>> read_together{"attention.window",
                                                       "attention.full_every",
                                                       "attention.chunked",
                                                       "moe.first_dense_layers",
                                                       "moe.every",
                                                       "mtp_layers",
                                                       "layer_pattern",
                                                       "mixer_pattern",
                                                       "embedding.positions",
                                                       "embedding.rope_theta",
                                                       "embedding.rope_share",
                                                       "embedding.rope_scaling",
                                                       "embedding.rope_factor",
                                                       "embedding.rope_positions",
                                                       "norm.epsilon"};

/// KEY=VALUE in two; VALUE is empty where there is none.
std::pair<std::string, std::string> key_and_value(const std::string& written) {
  const auto equals = written.find('=');
  if (equals == std::string::npos) return {written, {}};
  return {written.substr(0, equals), written.substr(equals + 1)};
}

std::optional<double> number_in(const YamlNode& node) {
  return node.is_scalar() && !node.quoted ? parse_number(node.text).value : std::nullopt;
}

/// Items of a list, letters of a text.
std::optional<double> size_of(const YamlNode* node) {
  if (node == nullptr) return std::nullopt;
  return static_cast<double>(node->is_sequence() ? node->items.size() : node->text.size());
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace

void read_numbers(Reader& reader, LlmShape& shape) {
  ModelNumbers& numbers = shape.numbers;
  numbers.norm_epsilon = reader.amount("norm.epsilon");
  const double theta = reader.amount("embedding.rope_theta");
  const double share = reader.amount("embedding.rope_share");
  const YamlNode* const older = reader.take("embedding.rope_scaling");
  const YamlNode* const newer = reader.take("embedding.rope_parameters");
  if (shape.position != PositionKind::rotary) return;
  numbers.rope_theta = theta;
  if (share > 0.0) numbers.rope_share = share;
  for (const auto& [group, name] :
       {std::pair{older, "embedding.rope_scaling"}, {newer, "embedding.rope_parameters"}})
    if (group != nullptr && group->is_map())
      read_scaling(reader, *group, reader.key_of(name), numbers);
}

const YamlNode* node_of(const YamlNode& map, std::string_view path) {
  const auto dot = path.find('.');
  const YamlNode* node = map.find(path.substr(0, dot));
  if (node == nullptr || node->is_null()) return nullptr;
  return dot == std::string_view::npos ? node : node_of(*node, path.substr(dot + 1));
}

Reader::Found Reader::find(std::string_view name) const {
  const auto keys = family_.keys.find(name);
  FORETRAIN_REQUIRE(keys != family_.keys.end());
  // Files of two parts say outside whether the ends of the text part are tied, and how images are
  // projected.
  const bool outside =
      around_ != nullptr && (name == "embedding.tied" || name.starts_with("vision."));
  for (const YamlNode* map : {&map_, outside ? around_ : nullptr})
    for (const std::string& written : keys->second) {
      auto [key, value] = key_and_value(written);
      if (map == nullptr) continue;
      if (const YamlNode* node = node_of(*map, key)) return {node, std::move(value)};
    }
  return {};
}

const YamlNode* Reader::take(std::string_view name) {
  for (const std::string& written : family_.keys.find(name)->second)
    used_.insert(key_and_value(written).first);
  return find(name).node;
}

std::string Reader::key_of(std::string_view name) const {
  const auto keys = family_.keys.find(name);
  if (keys == family_.keys.end() || keys->second.empty()) return std::string(name);
  for (const std::string& written : keys->second)
    if (std::string key = key_and_value(written).first; node_of(map_, key) != nullptr) return key;
  return key_and_value(keys->second.front()).first;
}

const YamlNode* Reader::only_value(const YamlNode& node, std::string_view name) {
  if (!node.is_sequence() || node.items.empty()) return &node;
  const YamlNode& first = node.items.front();
  const bool alike = std::ranges::all_of(
      node.items, [&](const YamlNode& item) { return item.text == first.text; });
  if (alike) return &first;
  refuse(node, key_of(name), "differs between layers, which is not modelled");
  return nullptr;
}

int Reader::number(std::string_view name, const Range& range) {
  const YamlNode* node = take(name);
  if (node == nullptr) return default_number(name, range);
  node = only_value(*node, name);
  if (node == nullptr) return range.least;
  const std::optional<double> value = number_in(*node);
  if (!value || *value != std::trunc(*value) || *value < range.least || *value > range.most) {
    refuse(*node, key_of(name),
           fmt::format("must be a whole number from {} to {:.0f}, not {}", range.least, range.most,
                       in_quotes(node->text)));
    return range.least;
  }
  if (range.recorded) record(name, fmt::format("{:.0f}", *value), node->mark.origin());
  return static_cast<int>(*value);
}

int Reader::default_number(std::string_view name, const Range& range) {
  const auto written = family_.defaults.find(name);
  if (written == family_.defaults.end()) {
    refuse(key_of(name), "is missing");
    return range.least;
  }
  const std::optional<double> value = evaluated(written->second, 0);
  const bool derived = words_of(written->second).size() > 1 || !parse_number(written->second).value;
  if (!value || *value != std::trunc(*value) || *value < range.least || *value > range.most) {
    if (value || diagnostics_.empty())
      refuse(key_of(name), fmt::format("is missing, and {} is {}", written->second,
                                       value ? fmt::format("{:g}", *value) : "not known"));
    return range.least;
  }
  if (range.recorded && *value != 0.0)
    record(name, fmt::format("{:.0f}", *value),
           derived ? "derived: " + written->second : "default of " + family_.type);
  return static_cast<int>(*value);
}

std::optional<double> Reader::given(std::string_view name, int depth) {
  if (family_.keys.count(name) == 0 || depth > deepest_default) return std::nullopt;
  if (const YamlNode* node = take(name)) {
    const bool list = node->is_sequence() && !node->items.empty();
    return number_in(list ? node->items.front() : *node);
  }
  const auto written = family_.defaults.find(name);
  if (written == family_.defaults.end()) return std::nullopt;
  return evaluated(written->second, depth + 1);
}

std::optional<double> Reader::evaluated(const std::string& text, int depth) {
  const std::vector<std::string> words = words_of(text);
  const auto term = [&](const std::string& word) {
    if (word.starts_with('#'))
      return family_.keys.count(word.substr(1)) > 0 ? size_of(take(word.substr(1))) : std::nullopt;
    const std::optional<double> plain = parse_number(word).value;
    return plain ? plain : given(word, depth);
  };
  if (words.size() == 1) return term(words[0]);
  if (words.size() != 3 || words[1].size() != 1) return std::nullopt;
  const std::optional<double> a = term(words[0]);
  const std::optional<double> b = term(words[2]);
  if (!a || !b) return std::nullopt;
  switch (words[1].front()) {
    case '*':
      return *a * *b;
    case '/':
      return *b == 0.0 ? std::nullopt : std::optional(*a / *b);
    case '-':
      return *a - *b;
    case '+':
      return *a + *b;
    default:
      return std::nullopt;
  }
}

bool Reader::says(std::string_view name) const {
  return find(name).node != nullptr || family_.defaults.count(name) > 0;
}

void Reader::pass_over(std::string_view prefix) {
  for (const auto& [name, keys] : family_.keys)
    if (name.starts_with(prefix)) take(name);
}

double Reader::amount(std::string_view name) {
  const YamlNode* node = take(name);
  if (node == nullptr) return 0.0;
  const Parsed<double> parsed = parse_number(node->text);
  if (!node->is_scalar() || !parsed.value || *parsed.value < 0.0 || *parsed.value > 1e12) {
    refuse(*node, key_of(name), "must be a number from 0, not " + in_quotes(node->text));
    return 0.0;
  }
  record(name, node->text, node->mark.origin());
  return *parsed.value;
}

void Reader::fill(std::string_view group, LlmShape& shape) {
  for (const KeyRow& key : inline_model_table().rows()) {
    const std::string& path = key.field.path;
    const auto dot = path.rfind('.');
    const bool inside = group == (dot == std::string::npos ? "" : path.substr(0, dot));
    if (!key.is_set() || !inside || read_together.count(path) > 0 || family_.keys.count(path) == 0)
      continue;
    FieldValue value;
    value.field = &key.field;
    if (key.field.kind == FieldKind::boolean)
      value.boolean = truth(path);
    else if (key.field.kind == FieldKind::choice)
      value.text = choice(key.field);
    else
      value.number = number(path, {static_cast<int>(key.field.min.value_or(0.0)),
                                   key.field.max.value_or(largest_width)});
    key.set(&shape, value);
  }
}

std::string Reader::choice(const Field& field) {
  std::string word = fact(field.path);
  if (contains(field.choices, word)) return word;
  refuse(field.path, "is not understood: " + in_quotes(word));
  return field.choices.front();
}

bool Reader::truth(std::string_view name) {
  take(name);
  const auto [node, wanted] = find(name);
  if (node == nullptr) {
    const bool on = fact(name) == "true";
    if (on) record(name, "true", "default of " + family_.type);
    return on;
  }
  const bool legal = node->is_scalar() && (node->text == "true" || node->text == "false");
  if (wanted.empty() && !legal) {
    refuse(*node, key_of(name), "must be true or false, not " + in_quotes(node->text));
    return false;
  }
  const bool on = node->text == (wanted.empty() ? "true" : wanted);
  record(name, on ? "true" : "false", node->mark.origin());
  return on;
}

std::string Reader::fact(std::string_view name) {
  const auto written = family_.defaults.find(name);
  return written == family_.defaults.end() ? std::string() : written->second;
}

void Reader::record(std::string_view path, const std::string& value, const std::string& origin) {
  if (inline_model_fields().find(path) == nullptr) return;
  std::erase_if(model_.values, [&](const ResolvedValue& known) { return known.path == path; });
  model_.values.push_back({std::string(path), value, origin});
}

void Reader::refuse(const YamlNode& node, std::string_view key, std::string why) {
  diagnostics_.add(node.mark, key, std::move(why));
}

void Reader::refuse(std::string_view key, std::string why) {
  diagnostics_.add(map_.mark, key, std::move(why));
}

void Reader::tell_limits() {
  const auto each = [&](const std::vector<RefusedKeys>& rows, auto&& tell) {
    for (const RefusedKeys& row : rows)
      for (const std::string& key : row.keys) {
        const YamlNode* node = node_of(map_, key);
        const auto inside = used_.lower_bound(key + ".");
        const bool part = inside != used_.end() && inside->starts_with(key + ".");
        const bool read = !used_.insert(key).second || part || family_.idle.count(key) > 0;
        if (!read && node != nullptr && !is_off(*node, row.off)) tell(*node, key, row.missing);
      }
  };
  each(family_.refused, [&](const YamlNode& node, const std::string& key, const std::string& why) {
    refuse(node, key, "is not modelled: " + why);
  });
  each(family_.left_out, [&](const YamlNode&, const std::string& key, const std::string& why) {
    assume(fmt::format("{} is left out: {}", key, why));
  });
}

void Reader::sort(const YamlNode& map, const std::string& group) {
  for (const YamlEntry& entry : map.entries) {
    const std::string key = group + entry.key;
    const auto below = used_.lower_bound(key + ".");
    if (used_.count(key) > 0) continue;
    if (below != used_.end() && below->starts_with(key + "."))
      sort(entry.value, key + ".");
    else
      (family_.idle.count(key) > 0 ? model_.ignored : model_.unknown)
          .push_back(printable_path(key));
  }
}

void Reader::tell_outside() {
  const std::set<std::string> tied(family_.keys.at("embedding.tied").begin(),
                                   family_.keys.at("embedding.tied").end());
  for (const YamlEntry& entry : around_->entries) {
    const YamlNode* inside = map_.find(entry.key);
    const bool read = inside == nullptr && tied.count(entry.key) > 0;
    if (used_.count(entry.key) > 0 && !read &&
        (inside == nullptr || inside->text != entry.value.text))
      assume(printable_path(entry.key) + " outside of text_config is not read");
  }
}

void Reader::finish() {
  tell_limits();
  if (around_ != nullptr) tell_outside();
  used_.insert({"model_type", "text_config", "quantization_config"});
  for (const std::string& key : family_.keys.find("vision")->second) used_.insert(key);
  sort(map_, "");
  if (around_ != nullptr) sort(*around_, "");
}

}  // namespace foretrain::huggingface
