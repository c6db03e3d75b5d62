// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain::tuning {

/// Turns the keys of LLaMA-Factory's second trainer (src/llamafactory/v1) into those of its first;
/// any other tree stays as it is.
/// @param assumed gets what the file leaves to its command
void turn_factory_keys(YamlNode& root, std::vector<std::string>& assumed);

}  // namespace foretrain::tuning
