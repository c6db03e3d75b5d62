// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace foretrain {

/// Which layer of constants a number rests on besides its inputs.
enum class ConstantSource { none, device, kernels, collectives, stack };

/// Where one number of the forecast comes from. The one table behind `foretrain explain`.
struct Explanation {
  std::string_view path;     ///< of the JSON; "*" stands for a list index
  std::string_view meaning;  ///< what the number is, with its unit
  std::string_view formula;  ///< in words and symbols
  /// Paths it is computed from, separated by blanks: scenario keys, or "@" and a forecast path.
  std::string_view inputs;
  ConstantSource first = ConstantSource::none;
  ConstantSource second = ConstantSource::none;
};

/// Every number of schema prediction/1 except the resolved scenario, in its order.
[[nodiscard]] std::span<const Explanation> explanations();

/// The entry that fits a dotted path, list indices included.
[[nodiscard]] const Explanation* find_explanation(std::string_view path);

/// The path whose last word is `word`, its unit left out or not ("bubble", "bubble_s"), when there
/// is just one; else empty.
[[nodiscard]] std::string_view find_by_last_word(std::string_view word);

/// A short name ("step", "memory", "flops", "run", "cost") as the path it stands for; other text
/// as it is.
[[nodiscard]] std::string_view expand_quantity(std::string_view quantity);

}  // namespace foretrain
