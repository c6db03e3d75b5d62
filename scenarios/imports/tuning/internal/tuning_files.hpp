// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/imports/frameworks/imported_plan.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain::tuning {

/// The files of one configuration.
struct TuningFiles {
  YamlNode root;                       ///< arguments, accelerate and PEFT as one map
  std::optional<YamlNode> deepspeed;   ///< DeepSpeed's JSON, which has keys of its own
  bool megatron = false;               ///< a launch of ms-swift over Megatron-Core
  bool openrlhf = false;               ///< arguments of OpenRLHF
  std::string trainer{};               ///< as a launch names its script
  std::vector<std::string> assumed{};  ///< sentences about a launch
};

/// Reads a source and those beside it; of a script, its launch (tuning_launch.hpp). A key that two
/// of them have must have one value there. DeepSpeed's JSON is known by its keys; where the
/// arguments name one, it is looked for in their folder.
[[nodiscard]] TuningFiles tuning_files(const ImportSource& source, const PlanImportOptions& options,
                                       Diagnostics& diagnostics);

}  // namespace foretrain::tuning
