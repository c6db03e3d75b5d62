// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/inputs/job.hpp"
#include "models/inputs/llm.hpp"
#include "scenarios/fields/key_rows.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// The keys of models whose layers differ: patterns, state-space and delta mixers, and what their
/// attention has besides.
[[nodiscard]] KeyRows hybrid_keys();

/// Patterns that name each layer, with the mixers and experts that they need; false: LlmShape's
/// functions of layers must not be called.
bool check_hybrid(const LlmShape& shape, const FieldValues& values, Diagnostics& diagnostics);

/// How files call the members of LayerModules, in their order.
[[nodiscard]] std::vector<std::string> layer_module_names();

/// The names of the members that a set holds.
[[nodiscard]] std::vector<std::string> layer_module_names(const LayerModules& set);

/// The set that holds exactly `names`. @pre every name is one of layer_module_names().
[[nodiscard]] LayerModules layer_modules_of(const std::vector<std::string>& names);

}  // namespace foretrain
