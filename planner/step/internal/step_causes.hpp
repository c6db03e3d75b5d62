// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "planner/step/step_losses.hpp"

namespace foretrain {

/// Why a part of the step takes its time, as one sentence with the numbers of this job. `key` is
/// that of a waterfall part.
[[nodiscard]] std::string cause_of(std::string_view key, const Report& report);

/// The setting that shortens this part and gives the fastest step among those that are legal,
/// modelled and fit.
[[nodiscard]] std::optional<Lever> lever_for(std::string_view key, const Job& job);

}  // namespace foretrain
