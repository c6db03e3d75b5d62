// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/registry.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "models/schedules/internal/pass_list.hpp"

namespace foretrain {

constexpr std::array<const ScheduleTraits*, EnumNames<ScheduleKind>::names.size()>
    registered_schedules{
#define FORETRAIN_TRAITS(identifier, name) &schedule_detail::identifier##_traits,
        FORETRAIN_SCHEDULES(FORETRAIN_TRAITS)
#undef FORETRAIN_TRAITS
    };

namespace {

/// Length of the longest of the names that stand in the text, which are apart by blanks.
std::size_t longest_name_in(std::string_view text, std::string_view names) {
  std::size_t longest = 0;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    if (end > longest && text.find(names.substr(0, end)) != std::string_view::npos) longest = end;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return longest;
}

}  // namespace

bool holds_mirror(const Parallel& plan) {
  return plan.pipeline > 1 && traits_of(plan.schedule).placement == Placement::mirrored;
}

bool folds(const Parallel& plan) {
  return plan.pipeline > 1 && traits_of(plan.schedule).placement == Placement::folded;
}

int weight_copies(const Parallel& plan) {
  if (plan.pipeline == 1) return 1;
  ScheduleShape shape;
  shape.kind = plan.schedule;
  shape.stages = plan.pipeline;
  shape.chunks = traits_of(plan.schedule).chunks;
  if (shape.chunks == chunks_chosen) shape.chunks = plan.virtual_stages;
  return shape.stages * shape.chunks / positions(shape);
}

std::vector<ScheduleKind> common_schedules() {
  std::vector<ScheduleKind> common;
  for (const auto& [kind, name] : EnumNames<ScheduleKind>::names)
    if (traits_of(kind).common) common.push_back(kind);
  return common;
}

std::optional<ScheduleKind> schedule_called(std::string_view text) {
  std::optional<ScheduleKind> called;
  std::size_t longest = 0;
  for (const auto& [kind, name] : EnumNames<ScheduleKind>::names)
    for (const std::string_view names : {name, traits_of(kind).aliases})
      if (const std::size_t length = longest_name_in(text, names); length > longest) {
        longest = length;
        called = kind;
      }
  return called;
}

}  // namespace foretrain
