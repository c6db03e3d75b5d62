// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// A TOML 1.0 document as the tree that YAML becomes: tables are maps, arrays are sequences, dates
/// stay texts. Errors and whatever is over `limits` are reported at `name` and their line.
[[nodiscard]] std::optional<YamlNode> parse_toml(std::string_view text, const std::string& name,
                                                 const YamlLimits& limits,
                                                 Diagnostics& diagnostics);

}  // namespace foretrain
