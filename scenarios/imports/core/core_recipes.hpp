// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/imports/core/core_config.hpp"

namespace foretrain {

/// What a recipe of NVIDIA's sets before overrides, of what decides memory or time.
struct CoreRecipe {
  std::string name;   ///< what launches call it
  std::string model;  ///< of the catalog
  int tensor = 1;
  int pipeline = 1;
  int virtual_stages = 1;
  int context = 1;
  int expert = 1;
  bool sequence_parallel = false;
  int sequence = 0;  ///< tokens
  int global = 0;    ///< sequences
  int micro = 0;
  std::vector<std::string> settings;  ///< further `key=value`
  std::string source;                 ///< file, and the commit that it was read at
};

/// Library recipes of Megatron-Bridge and pre-training recipes of NeMo 2:
/// scenarios/dialects/recipes.
[[nodiscard]] std::span<const CoreRecipe> bridge_recipes();
[[nodiscard]] std::span<const CoreRecipe> nemo_recipes();

/// The recipe of that name; null pointer where it is not in the table.
[[nodiscard]] const CoreRecipe* find_recipe(std::span<const CoreRecipe> recipes,
                                            std::string_view name);

/// Puts what a recipe sets at the paths of its framework.
void put_recipe(const CoreRecipe& recipe, const CoreGroups& groups, YamlNode& root);

/// "tensor 4, pipeline 4, ... (NVIDIA-NeMo/Megatron-Bridge, llama3.py at 0d5f5558)".
[[nodiscard]] std::string recipe_words(const CoreRecipe& recipe);

}  // namespace foretrain
