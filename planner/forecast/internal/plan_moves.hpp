// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/inputs/job.hpp"

namespace foretrain {

/// A job on its way to fit, with the settings that lead there, as for --set.
struct Candidate {
  Job job;
  std::vector<std::string> settings;

  void set(const std::string& key, const std::string& value);
  void set(const std::string& key, int value) { set(key, std::to_string(value)); }
};

/// Of a move that is free in general.
inline constexpr std::string_view costs_nothing = "nothing";

/// A change of a plan that people try.
struct PlanMove {
  std::function<bool(Candidate&)> apply;  ///< false where it does not apply to this job
  std::string_view name{};                ///< in people's words; empty: its settings
  std::string_view costs{};               ///< what is known of it, time or room
  std::string_view gives_up{};            ///< of what is learnt; empty: nothing
};

/// What gives up nothing of what is learnt, in the order of its cost in work.
[[nodiscard]] std::vector<PlanMove> moves_on_this_machine();

/// What people try on GPUs of their own, in that order; both ways where a choice has two. Those of
/// fine-tuning alone where the job is one.
[[nodiscard]] std::vector<PlanMove> moves_on_one_host(const Job& job);

}  // namespace foretrain
