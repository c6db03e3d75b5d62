// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/names.hpp"

/// Every pipeline schedule, in the order in which they are listed: the registry line of a schedule.
/// `identifier` names its enumerator and its traits, which models/schedules/registry.hpp explains.
// clang-format off
#define FORETRAIN_SCHEDULES(entry) \
  entry(gpipe, "gpipe") \
  entry(one_f_one_b, "1f1b") \
  entry(interleaved, "interleaved") \
  entry(zb_h1, "zb-h1") \
  entry(zb_2p, "zb-2p") \
  entry(zb_v, "zb-v") \
  entry(v_half, "v-half") \
  entry(v_min, "v-min") \
  entry(dualpipe, "dualpipe") \
  entry(naive, "naive")
// clang-format on

namespace foretrain {

#define FORETRAIN_ENUMERATOR(identifier, name) identifier,
enum class ScheduleKind { FORETRAIN_SCHEDULES(FORETRAIN_ENUMERATOR) };
#undef FORETRAIN_ENUMERATOR

template <>
struct EnumNames<ScheduleKind> {
  using Entry = std::pair<ScheduleKind, std::string_view>;
#define FORETRAIN_ENTRY(identifier, name) Entry{ScheduleKind::identifier, name},
  static constexpr auto names = std::to_array<Entry>({FORETRAIN_SCHEDULES(FORETRAIN_ENTRY)});
#undef FORETRAIN_ENTRY
};

/// What runs where nothing else is asked for.
inline constexpr ScheduleKind default_schedule = ScheduleKind::one_f_one_b;

}  // namespace foretrain
