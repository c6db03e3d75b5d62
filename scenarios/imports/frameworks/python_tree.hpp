// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

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

/// A call somewhere in a text.
struct PythonCall {
  YamlNode call;             ///< as above
  bool conditional = false;  ///< in a branch or a loop: whether it runs is not known
  bool later = false;        ///< one argument, which a statement behind the call sets
};

/// Whether a call by this name is asked for.
using WantedCall = std::function<bool(const std::string&)>;

/// Calls in Python that builds what it trains, in order, with variables that statements before
/// them set outside of branches; calls within calls follow those around them. Branches of `if
/// False` are passed over.
[[nodiscard]] std::optional<std::vector<PythonCall>> python_calls(const std::string& text,
                                                                  const std::string& name,
                                                                  const WantedCall& wanted,
                                                                  Diagnostics& diagnostics);

}  // namespace foretrain
