// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/imports/core/core_recipes.hpp"
#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

/// A run of a framework over Megatron-Core: what it states, and what it starts from.
struct CoreRun {
  std::string recipe;  ///< its name; empty: none is named
  Mark recipe_mark;
  YamlNode stated;  ///< over the recipe
  LaunchSize size;
  std::vector<std::string> assumed;
};

/// How one framework over Megatron-Core is imported.
struct CoreFramework {
  CoreGroups groups;
  std::span<const CoreRecipe> recipes;
  std::string_view unlisted;          ///< `key=value` of all recipes, where one is not in the table
  std::vector<std::string> required;  ///< keys that a recipe of no table needs stated
  std::vector<std::string> harmless;
  std::vector<std::string> taken{};  ///< keys of LaunchSize
  std::string stack;
  std::string stack_reason;
};

/// The scenario of such a run. @throws ScenarioError
[[nodiscard]] ImportedScenario import_core_run(CoreRun run, const CoreFramework& framework,
                                               const ImportSource& source,
                                               const PlanImportOptions& options,
                                               Diagnostics& diagnostics);

/// Parses what stands in a file before its first line that begins with "--", and puts the
/// overrides at its end over it; the words from that line on are left in `words`.
[[nodiscard]] std::optional<YamlNode> read_core_file(const ImportSource& source,
                                                     std::vector<std::string>& words,
                                                     Diagnostics& diagnostics);

/// Whether a source is a YAML file rather than a launch.
[[nodiscard]] bool is_core_file(const ImportSource& source);

}  // namespace foretrain
