// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// Reads Python that builds configurations, as data: nothing is run. Calls become maps of their
/// keywords, with the name of what is called as text and positional arguments as items; sums and
/// products of numbers are computed. `NAME = call(...)` at the top and functions that return one
/// (`config = other(); config.part.key = value; return config`) are configurations by name; a
/// function with branches or loops is none. What else an expression is stays as its text.
/// Nothing after reporting a text that is too long or too deep.
[[nodiscard]] std::optional<std::map<std::string, YamlNode>> python_configurations(
    const std::string& text, const std::string& name, Diagnostics& diagnostics);

}  // namespace foretrain
