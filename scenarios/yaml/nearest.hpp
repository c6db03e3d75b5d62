// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

/// Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours
/// (Damerau 1964, restricted form). Case counts.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate that `text` probably meant: the nearest one, ignoring case and `_` versus `-`, if
/// at most a third of its letters differ, or one that extends or is extended by `text`. Never one
/// that names another chip or size: h200 is not b200, 12b not 1b.
[[nodiscard]] std::optional<std::string> nearest(std::string_view text,
                                                 const std::vector<std::string>& candidates);

/// "; did you mean 'tensor'?", or the names with the same chip where none is near, or "; of other
/// sizes there are 'qwen3-8b'.", or nothing.
[[nodiscard]] std::string nearest_hint(std::string_view text,
                                       const std::vector<std::string>& candidates);

}  // namespace foretrain
