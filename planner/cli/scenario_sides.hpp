// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/cli/command.hpp"

namespace foretrain {

/// Scenarios that are held against each other: file after file; a single file stands for as many
/// sides as --set names ("B:key=value"). Settings without a side hold for all. Standard input may
/// be several sides. `options.file` is not used.
/// @throws UsageError for sides that are not there or more than 26; ScenarioError
[[nodiscard]] std::vector<Scenario> read_sides(const std::vector<std::string>& files,
                                               const ScenarioOptions& options);

}  // namespace foretrain
