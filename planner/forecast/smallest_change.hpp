// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/forecast/report.hpp"
#include "planner/forecast/search_limits.hpp"

namespace foretrain {

/// What people try, in the order of its cost in work, when a plan runs out of memory: every axis of
/// a plan before a larger machine. Single changes; two and three where none fits, and the fastest
/// layout beside them where it takes less than 0.8 of their steps; every layout of the machine;
/// layouts of twice to eight times the machine, its network resolved anew (not for jobs that no
/// scenario was read for). Each is judged by judge_plan(), so that what comes back runs, and timed
/// with the closed form: fastest step first, what gives up something of what is learnt (adapters,
/// weights and moments of few bits, for jobs of fine-tuning alone) behind what does not. Where
/// nothing fits and the time of the plan as it is is not modelled, by memory alone. Empty when
/// nothing of all that fits.
/// @pre the plan of the scenario's job is legal
[[nodiscard]] std::vector<Change> changes_that_fit(const Scenario& scenario,
                                                   const SearchLimits& limits = {});

/// Settings that take away what the plan `now` states and the plan `then` has no use for, so that a
/// scenario reads it: "parallel.zero_group=null".
[[nodiscard]] std::vector<std::string> stranded_settings(const Parallel& now, const Parallel& then);

/// A single change on one host, whether it fits or not.
struct TriedChange {
  Change change;
  std::string name;   ///< in people's words
  std::string costs;  ///< what is known of it
  bool fits = false;
};

/// Whether the job is one of fine-tuning, or of a framework that people fine-tune with.
[[nodiscard]] bool fine_tunes(const Job& job);

/// What people with a host of GPUs or less try, in that order, one at a time: memory, time and what
/// each costs. Empty for more hosts, and where the time of the plan is not modelled.
/// @pre the plan of the scenario's job is legal
[[nodiscard]] std::vector<TriedChange> one_at_a_time(const Scenario& scenario);

/// What is said where changes_that_fit() has nothing.
inline constexpr std::string_view no_change_fits =
    "no plan fits with room to spare, neither on this machine nor on up to eight times as many "
    "hosts, with any tensor, pipeline, context and expert ranks, recomputation, micro-batch, ZeRO "
    "stage and offloading";

}  // namespace foretrain
