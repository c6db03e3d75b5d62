// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <tuple>

#include "planner/search/search.hpp"

namespace foretrain::search_detail {

[[nodiscard]] inline bool lighter(const ScoredPlan& a, const ScoredPlan& b) {
  return std::tuple{a.peak.value(), a.index} < std::tuple{b.peak.value(), b.index};
}

[[nodiscard]] inline bool lighter(const NearPlan& a, const NearPlan& b) {
  return lighter(a.plan, b.plan);
}

[[nodiscard]] inline bool nearer(const NearPlan& a, const NearPlan& b) {
  return std::tuple{a.excess.ratio, a.plan.index} < std::tuple{b.excess.ratio, b.plan.index};
}

using Order = bool (*)(const NearPlan&, const NearPlan&);

inline void keep_first(std::optional<NearPlan>& kept, const std::optional<NearPlan>& plan,
                       Order before) {
  if (plan && (!kept || before(*plan, *kept))) kept = plan;
}

}  // namespace foretrain::search_detail
