// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/cli/answer_output.hpp"
#include "planner/cli/command.hpp"
#include "planner/cli/machine_options.hpp"
#include "planner/search/plan_report.hpp"

namespace foretrain {

/// The command line of `foretrain plan`.
struct PlanOptions {
  ScenarioOptions scenario;
  std::vector<std::string> fixed;
  std::vector<std::string> varied;
  std::string gpus;
  std::string device;  ///< in place of the scenario's
  RankBy by = RankBy::time;
  RoomOptions room;
  std::optional<double> max_step;
  std::string deadline;
  std::string start;
  std::string budget;
  std::string power_cap;
  std::string rank_of;
  std::optional<double> time_box;
  int top = 10;
  int on_fabric = 0;
  int threads = 2;
  std::vector<std::string> emit;  ///< number, file
  AnswerOutput output;
  bool all_schedules = false;
  bool waterfalls = false;
  bool timing = false;
};

void add_space_options(CommandRow& command, PlanOptions& options);
void add_limit_options(CommandRow& command, PlanOptions& options);
void add_search_options(CommandRow& command, PlanOptions& options);

// What the options ask for. All throw UsageError where they make no sense.

/// What is tried: the axes by default, then --gpus, --all-schedules, --fix and --vary.
[[nodiscard]] SearchSpace space_of(const PlanOptions& options, const Scenario& scenario);
/// Ranking, size and time-box; not the limits.
[[nodiscard]] SearchOptions search_options(const PlanOptions& options);
[[nodiscard]] SearchLimits limits_of(const PlanOptions& options, const Job& job);
/// The plan of --rank-of.
[[nodiscard]] std::optional<PlanQuestion> plan_question(const PlanOptions& options,
                                                        const Scenario& scenario);

}  // namespace foretrain
