// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/fields/shipped_table.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/imported_plan.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// Why a key of a configuration changes neither memory nor time of a step.
enum class NoEffect {
  naming,      ///< names, places, accounts
  reporting,   ///< logs, trackers, profilers
  saving,      ///< checkpoints of the source: their rate is `operations`' to say
  evaluation,  ///< what passes between steps compute
  contents,    ///< which samples and tokens, not how many
  amounts,     ///< numbers inside of the same arithmetic: rates, decays, scales, seeds
  starting,    ///< launch, loading, first values
  elsewhere    ///< a plan or device that is read from other keys or that the run does not use
};
FORETRAIN_ENUM_NAMES(NoEffect, {NoEffect::naming, "naming"}, {NoEffect::reporting, "reporting"},
                     {NoEffect::saving, "saving"}, {NoEffect::evaluation, "evaluation"},
                     {NoEffect::contents, "contents"}, {NoEffect::amounts, "amounts"},
                     {NoEffect::starting, "starting"}, {NoEffect::elsewhere, "elsewhere"});

/// Keys with one reason; "group.*" stands for everything under a group.
struct NoEffectKeys {
  NoEffect why;
  std::vector<std::string> keys;
};

/// What is known of a framework's keys that its importer does not read.
struct KeyTable {
  std::vector<NoEffectKeys> idle;
  std::vector<std::string> approximated;  ///< change memory or time a little, not modelled
  /// Keys that stop training for evaluation where they are on; those that then say how often and
  /// how large; those that count examples, and so decide the length of a run.
  std::vector<std::string> pausing, paced, lengthening;
  std::vector<RefusedKeys> refused;
};

enum class Framework;

/// Takes values out of a parsed configuration by dotted path, and keeps the books on it: what
/// nothing took and nobody declared harmless is refused by name in the end.
class TreeReader {
 public:
  /// @param left_out keys that the user passes over: they are as if they were not there
  TreeReader(const YamlNode& root, Diagnostics& diagnostics,
             std::vector<std::string> left_out = {});

  /// The value at a path, unless it is absent or null.
  [[nodiscard]] const YamlNode* take(std::string_view path);
  /// The value of the first path that has one: new and old names of the same thing. Several that
  /// differ are reported.
  [[nodiscard]] const YamlNode* take_first(const std::vector<std::string_view>& paths);

  /// A whole number from `least` to `most`; others are reported at their line.
  [[nodiscard]] std::optional<int> integer(const std::vector<std::string_view>& paths, int least,
                                           int most);
  /// Reports a configuration that has none of these.
  void require(const std::vector<std::string_view>& paths, const char* meaning);
  /// A whole number of a configuration that must have it.
  [[nodiscard]] int required(const std::vector<std::string_view>& paths, int least, int most,
                             const char* meaning);
  [[nodiscard]] std::optional<double> number(const std::vector<std::string_view>& paths);
  [[nodiscard]] bool truth(const std::vector<std::string_view>& paths, bool otherwise);
  /// In lower case.
  [[nodiscard]] std::string text(const std::vector<std::string_view>& paths,
                                 const std::string& otherwise = {});

  /// Declares keys to change neither memory nor time. A path is that key alone, "path.*"
  /// everything below it as well.
  void harmless(const std::vector<std::string_view>& paths);
  /// The same for what is known of a framework's keys; those that matter where they are on are
  /// refused unless they are off (NoEffect).
  void harmless(Framework framework) { framework_ = framework; }
  /// The same for those of another dialect, which only some configurations of it have.
  void harmless_group(std::string group) { groups_.push_back(std::move(group)); }
  /// The same for what changes memory or time a little and is not modelled.
  void approximate(const std::vector<std::string_view>& paths);
  /// Reports a value at the line of its path.
  void refuse(std::string_view path, std::string message);

  /// Sorts every key into the notes; keys that nothing took and that the user does not leave out
  /// are refused with the nearest known one.
  void finish(const PlanImportOptions& options, PlanNotes& notes);

 private:
  struct Leaf {
    std::string path;
    const YamlNode* node = nullptr;
  };

  void add_leaves(const YamlNode& node, const std::string& path);
  [[nodiscard]] const YamlNode* find(std::string_view path) const;
  void require_same(std::string_view path, const YamlNode& first, const YamlNode& other);

  const YamlNode& root_;
  Diagnostics& diagnostics_;
  std::vector<std::string> left_out_;
  std::vector<Leaf> leaves_;
  std::set<std::string, std::less<>> taken_;
  std::set<std::string, std::less<>> asked_;
  std::vector<std::string> harmless_;
  std::vector<std::string> approximated_;
  std::optional<Framework> framework_;
  std::vector<std::string> groups_;
};

}  // namespace foretrain
