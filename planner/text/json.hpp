// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

using Json = nlohmann::ordered_json;

/// Follows a dotted path; list elements by number: "memory.stages.0.peak_bytes". Null pointer when
/// nothing is there.
[[nodiscard]] const Json* find_path(const Json& tree, std::string_view path);
/// Every path that ends in a value (null included), in document order.
[[nodiscard]] std::vector<std::string> leaf_paths(const Json& tree);
/// Two-space indentation and a final line feed; text that is not UTF-8 is mended, never thrown at.
[[nodiscard]] std::string dump(const Json& tree);
/// Whole numbers below 2^53 without a fraction, others shortest; null when absent or not finite.
[[nodiscard]] Json number_or_null(std::optional<double> value);

}  // namespace foretrain
