// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

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

}  // namespace foretrain
