// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "scenarios/imports/frameworks/core_config.hpp"

namespace foretrain {

/// What a recipe of NVIDIA's sets before overrides, of what decides memory or time.
struct CoreRecipe {
  std::string_view name;   ///< what launches call it
  std::string_view model;  ///< of the catalog
  int tensor = 1;
  int pipeline = 1;
  int virtual_stages = 1;
  int context = 1;
  int expert = 1;
  bool sequence_parallel = false;
  int sequence = 0;  ///< tokens
  int global = 0;    ///< sequences
  int micro = 0;
  std::array<std::string_view, 6> more;  ///< further `key=value`, separated by blanks
  std::string_view source;               ///< file, and the commit that it was read at
};

/// Library recipes of Megatron-Bridge (NVIDIA-NeMo/Megatron-Bridge, src/megatron/bridge/recipes),
/// read on 2026-11-24 at the commits that they name. What all of them share: recipes/common.py at
/// 0eca073e6f14.
[[nodiscard]] std::span<const CoreRecipe> bridge_recipes();

/// Pre-training recipes of NeMo 2 (NVIDIA/NeMo, nemo/collections/llm/recipes), read likewise; the
/// trainer's plugin and optimizer: precision/mixed_precision.py at 0a07447c2962, optim/adam.py at
/// 06cca550af61.
[[nodiscard]] std::span<const CoreRecipe> nemo_recipes();

/// The recipe of that name; null pointer where it is not in the table.
[[nodiscard]] const CoreRecipe* find_recipe(std::span<const CoreRecipe> recipes,
                                            std::string_view name);

/// Puts what a recipe sets at the paths of its framework.
void put_recipe(const CoreRecipe& recipe, const CoreGroups& groups, YamlNode& root);

/// "tensor 4, pipeline 4, ... (NVIDIA-NeMo/Megatron-Bridge, llama3.py at 0d5f5558)".
[[nodiscard]] std::string recipe_words(const CoreRecipe& recipe);

}  // namespace foretrain
