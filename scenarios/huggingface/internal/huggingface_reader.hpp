// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/inputs/llm.hpp"
#include "scenarios/huggingface/huggingface.hpp"
#include "scenarios/huggingface/internal/huggingface_families.hpp"
#include "scenarios/sections/model_keys.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain::huggingface {

inline constexpr double most_counted = 1e4;

/// Takes concepts out of a configuration, by the keys and defaults of its family, and keeps the
/// books on it. Every concept that is asked for stands in the head of families.yaml.
class Reader {
 public:
  /// @param around the configuration that `map` is the text part of; null: none
  Reader(const YamlNode& map, const YamlNode* around, const Family& family, HuggingFaceModel& model,
         Diagnostics& diagnostics)
      : map_{map}, around_{around}, family_{family}, model_{model}, diagnostics_{diagnostics} {}

  /// The value of the first of a concept's keys that is there and not null.
  const YamlNode* take(std::string_view name);

  struct Range {
    int least = 0;
    double most = 0.0;
    bool recorded = true;
  };
  /// A whole number, of the file or the family's default. A list of one value per layer counts as
  /// that value.
  int number(std::string_view name, const Range& range);
  int width(std::string_view name, int least = 1) { return number(name, {least, largest_width}); }
  /// Whether the file or the family says something of a concept.
  [[nodiscard]] bool says(std::string_view name) const;
  /// What no forecast reads: keys of all concepts whose name begins so.
  void pass_over(std::string_view prefix);
  /// A number from 0 on; 0 where nothing says it.
  double amount(std::string_view name);
  bool truth(std::string_view name);
  /// Takes the catalog's keys of a group ("": those of none) and sets what they are bound to, but
  /// keys that decide with others together (`attention.window`).
  void fill(std::string_view group, LlmShape& shape);

  /// Only what the catalog has a key for is recorded.
  void record(std::string_view path, const std::string& value, const std::string& origin);
  void assume(std::string sentence) { model_.assumed.push_back(std::move(sentence)); }
  void refuse(const YamlNode& node, std::string_view key, std::string why);
  void refuse(std::string_view key, std::string why);
  /// What messages call a concept: the key that the file has for it, else its first one.
  [[nodiscard]] std::string key_of(std::string_view name) const;
  [[nodiscard]] const Family& family() const { return family_; }

  /// Refuses and tells what the family does not cover, and sorts the keys that nothing took.
  void finish();

 private:
  struct Found {
    const YamlNode* node = nullptr;
    std::string value;  ///< of KEY=VALUE
  };
  [[nodiscard]] Found find(std::string_view name) const;
  [[nodiscard]] std::string fact(std::string_view name);
  [[nodiscard]] std::string choice(const Field& field);
  /// A number of the file, or by the family's default; nothing where there is none.
  [[nodiscard]] std::optional<double> given(std::string_view name, int depth = 0);
  [[nodiscard]] std::optional<double> evaluated(const std::string& text, int depth);
  [[nodiscard]] const YamlNode* only_value(const YamlNode& node, std::string_view name);
  int default_number(std::string_view name, const Range& range);
  void tell_limits();
  void tell_outside();
  void sort(const YamlNode& map, const std::string& group);

  const YamlNode& map_;
  const YamlNode* around_;
  const Family& family_;
  HuggingFaceModel& model_;
  Diagnostics& diagnostics_;
  std::set<std::string, std::less<>> used_;
};

/// By layer, whether an item of a list is one of `yes`; letters of a text are repeated. Nothing
/// after refusing other items and another number of layers.
struct Words {
  std::set<std::string_view> yes;
  std::set<std::string_view> no;
};
[[nodiscard]] std::optional<std::vector<bool>> flags_of(Reader& reader, std::string_view name,
                                                        const YamlNode& list, int layers,
                                                        const Words& words);

/// By layer.
using LayerFlags = std::vector<bool>;

/// Which layers see a window only, where all of them or all but every Nth do; others, and those
/// that have more of their own than the window, are returned. @pre layers of both halves with
/// attention
[[nodiscard]] LayerFlags read_windows(Reader& reader, LlmShape& shape);

/// Layers of other sizes than the model's own. @pre everything else is read
/// @param windowed of read_windows(); empty: none
void read_special_layers(Reader& reader, const LayerFlags& windowed, LlmShape& shape);

/// The shortest pattern that repeats to the same layers.
[[nodiscard]] std::string shortest_period(const std::string& pattern);

/// Experts, and which layers have them. @pre the MLP is read
void read_experts(Reader& reader, LlmShape& shape);

/// Layers with other mixers than attention, or with one half alone.
void read_hybrid(Reader& reader, LlmShape& shape);

/// Bases, scalings and epsilons: numbers that launches need and no forecast.
void read_numbers(Reader& reader, LlmShape& shape);

/// Types of rows of vision towers end so: theirs is that of a vision_config.
inline constexpr std::string_view tower_suffix = ".vision";

/// Reads a vision tower, or tells that it is left out. @pre the language model is read
void read_towers(const YamlNode& root, const Family& family, const Families& known,
                 HuggingFaceModel& model);

/// The node of a dotted path; null pointer where there is none, or null.
[[nodiscard]] const YamlNode* node_of(const YamlNode& map, std::string_view path);

}  // namespace foretrain::huggingface
