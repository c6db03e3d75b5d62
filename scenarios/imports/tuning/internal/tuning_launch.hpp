// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/imports/frameworks/imported_plan.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain::tuning {

/// The arguments of a launch as a configuration file would hold them.
struct TuningLaunch {
  YamlNode arguments;                ///< with accelerate's own, and the size that a launcher states
  std::vector<YamlNode> files;       ///< names of further files, in the order of the words
  bool megatron = false;             ///< `megatron sft` of ms-swift
  std::string trainer;               ///< of TRL, as the script that is started is called
  std::vector<std::string> assumed;  ///< sentences
};

/// Whether a source is a command line or a script, no YAML or JSON.
[[nodiscard]] bool is_launch(const ImportSource& source);

/// Reads the last launch of a script: `accelerate launch`, torchrun, deepspeed or python with a
/// script and its arguments, or the command lines of TRL, ms-swift, LLaMA-Factory and Axolotl.
/// Nothing after reporting that there is none.
[[nodiscard]] std::optional<TuningLaunch> read_launch(const ImportSource& source,
                                                      const PlanImportOptions& options,
                                                      Diagnostics& diagnostics);

}  // namespace foretrain::tuning
