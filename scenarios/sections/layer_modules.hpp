// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/inputs/job.hpp"

namespace foretrain {

/// How files call the members of LayerModules, in their order.
[[nodiscard]] std::vector<std::string> layer_module_names();

/// The names of the members that a set holds.
[[nodiscard]] std::vector<std::string> layer_module_names(const LayerModules& set);

/// The set that holds exactly `names`. @pre every name is one of layer_module_names().
[[nodiscard]] LayerModules layer_modules_of(const std::vector<std::string>& names);

}  // namespace foretrain
