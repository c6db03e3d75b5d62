// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "planner/search/search.hpp"
#include "planner/search/search_space.hpp"
#include "tests/planner/small_run.hpp"

namespace foretrain::fixtures {

/// Some hundred plans of small_scenario(): a search over them ends in milliseconds.
inline SearchSpace small_space(const Job& job) {
  SearchSpace space = default_space(job);
  set_axis(space, job, "parallel.pipeline=1,2,3,4");
  set_axis(space, job, "parallel.virtual_stages=1,2,4");
  set_axis(space, job, "parallel.zero=0,1");
  set_axis(space, job, "parallel.schedule=1f1b,interleaved,zb-h1,zb-v");
  set_axis(space, job, "training.micro_batch=1,2");
  return space;
}

/// Why a combination is refused before memory and time are looked at.
inline std::optional<Infeasible> refusal_of(const Job& job, const SearchSpace& space) {
  if (auto reason = layout_refusal(job, space)) return reason;
  return refusal(job);
}

/// Combinations that were tried, whatever became of them.
inline std::int64_t sum_of(const SearchResult& result) {
  std::int64_t sum = result.feasible;
  for (const auto& [rule, rejection] : result.rejected) sum += rejection.count;
  return sum;
}

}  // namespace foretrain::fixtures
