// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "scenarios/yaml/units_text.hpp"

namespace foretrain {

/// Units that are read beside units_of() and never written: of time, weeks, months of 30 days,
/// years of 365 days, and spelled-out names ("days").
[[nodiscard]] std::span<const Unit> words_of(Dimension dimension);
/// The unit of that name, in units_of() or words_of(); null when there is none.
[[nodiscard]] const Unit* find_unit(std::string_view name, Dimension dimension);

}  // namespace foretrain
