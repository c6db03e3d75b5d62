// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/inputs/job.hpp"
#include "planner/forecast/report.hpp"

namespace foretrain {

/// A stretch of the waterfall in two plans.
struct PartDifference {
  std::string key;  ///< WaterfallPart::key
  std::string label;
  double seconds;  ///< other less first, over the sequences of the first one's step
};

/// Where the other plan loses time (or gains it: negative), the most first.
/// @pre both forecasts have a step
[[nodiscard]] std::vector<PartDifference> part_differences(const Report& first,
                                                           const Report& other);

/// Settings of the first plan that the other has not, "parallel.tensor=8 instead of 4, ...".
[[nodiscard]] std::string differing_settings(const std::vector<std::string>& first,
                                             const std::vector<std::string>& other);

/// "Its step is 1.2 s (4.01 %) shorter for the same sequences. It saves ... It pays ..."
[[nodiscard]] std::string difference_sentences(const Report& first, const Report& other);

/// What decides whether the gain of one plan over another is real: each large part that it saves
/// or pays, with the property of model or machine that the forecast of it rests on.
[[nodiscard]] std::vector<std::string> conditions_of_gain(const Report& first, const Report& other);
/// The same of the large parts of one forecast's step.
[[nodiscard]] std::vector<std::string> conditions_of_step(const Report& report);

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
