// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/imports/frameworks/imported_plan.hpp"
#include "scenarios/imports/megatron/megatron_arguments.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// Megatron-LM arguments wherever they stood, and what stood around them.
struct MegatronSource {
  MegatronArguments arguments;
  std::map<std::string, int> lines;  ///< of arguments, where they have one of their own
  /// What the source calls arguments, where that is not "--name": "model.seq_length".
  std::map<std::string, std::string> keys;
  int line = 0;                                  ///< of the launch
  std::map<std::string, std::string> variables;  ///< environment
  LaunchSize size;
  std::vector<std::string> assumed;
};

/// Reads an argument list ("--num-layers 32 ..."), a shell or Slurm script that launches a training
/// script, or a YAML or JSON map of arguments (alone, or under MODEL_ARGS or args, with ENV_VARS or
/// env beside it), or a file of --yaml-cfg (is_megatron_yaml()). Nothing after reporting what
/// cannot be read.
[[nodiscard]] std::optional<MegatronSource> read_megatron_source(const ImportSource& source,
                                                                 const PlanImportOptions& options,
                                                                 Diagnostics& diagnostics);

/// Whether a map is a file of Megatron-LM's --yaml-cfg: arguments at its top, fields of
/// TransformerConfig under `language_model` and of ModelParallelConfig under `model_parallel`.
[[nodiscard]] bool is_megatron_yaml(const YamlNode& root);

/// The arguments that such a file stands for (megatron/training/yaml_arguments.py).
[[nodiscard]] MegatronSource megatron_yaml_source(const YamlNode& root);

}  // namespace foretrain
