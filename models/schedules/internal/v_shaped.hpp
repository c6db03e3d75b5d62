// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "models/schedules/internal/pass_list.hpp"
#include "models/schedules/schedule.hpp"

namespace foretrain::schedule_detail {

/// When one micro-batch takes its passes on a stage, in units of a pass, where every micro-batch
/// does the same `v_interval` units after the one before it: forward through chunk 0 and 1, input
/// gradients of chunk 1 and 0. Weight gradients take the units that are left.
using VBlock = std::array<int, 4>;
inline constexpr int v_interval = 6;

/// The building block repeated, then squeezed and reordered (arXiv 2405.15362 section 3): in every
/// unit of time a stage takes the first pass of the repeated blocks whose input is there, and a
/// weight gradient where there is none. A forward pass may overtake others only while those that it
/// overtakes keep room: at most `alive` chunk activations at any time, so that nothing deadlocks.
/// In the steady state the blocks keep their order, so that it has no bubbles where they have none.
/// The choice in warm-up and cool-down is ours; bubbles are those of the authors' code within a few
/// units.
/// @pre two folded chunks; the blocks, repeated, never meet on a stage and hold at most `alive`
/// activations between forward pass and input gradient.
[[nodiscard]] std::vector<std::vector<Pass>> v_shaped_order(const ScheduleShape& shape,
                                                            VBlock (*block)(int stages, int stage),
                                                            int alive);

/// What such schedules have in common.
[[nodiscard]] constexpr ScheduleTraits v_shaped_traits(decltype(ScheduleTraits::order) order,
                                                       std::string_view aliases) {
  return {.order = order,
          .citation = "arXiv 2405.15362 section 3",
          .aliases = aliases,
          .chunks = 2,
          .placement = Placement::folded,
          .splits_backward = true,
          .lean = true,
          .sends_beside_passes = true};
}

}  // namespace foretrain::schedule_detail
