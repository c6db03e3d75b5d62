// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// A place in a text; both from 1.
struct TextPlace {
  int line = 1;
  int column = 1;
};

/// The first place at which a TOML document nests tables and arrays deeper than `most` levels,
/// dotted keys and table headers counted by their parts. Looks at brackets, dots and quotes alone
/// and does not recurse, so that toml++, which recurses over what it has built, is asked only about
/// documents that its stack holds. A document is judged as far as it is TOML.
[[nodiscard]] std::optional<TextPlace> too_deep_toml(std::string_view text, std::size_t most);

/// A TOML 1.0 document as the tree that YAML becomes: tables are maps, arrays are sequences, dates
/// stay texts. Errors and whatever is over `limits` are reported at `name` and their line.
[[nodiscard]] std::optional<YamlNode> parse_toml(std::string_view text, const std::string& name,
                                                 const YamlLimits& limits,
                                                 Diagnostics& diagnostics);

}  // namespace foretrain
