// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace foretrain {

/// Whether a plan with this schedule says how many chunks of layers a stage has; of names that no
/// schedule has, as of the default.
[[nodiscard]] bool runs_chosen_chunks(std::string_view schedule);

/// The schedule that frameworks run in its place with several chunks per stage, or with one.
[[nodiscard]] std::string schedule_for_chunks(std::string_view schedule, bool several);

}  // namespace foretrain
