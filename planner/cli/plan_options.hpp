// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/cli/answer_output.hpp"
#include "planner/cli/command.hpp"
#include "planner/forecast/search_limits.hpp"
#include "planner/search/plan_report.hpp"

namespace foretrain {

/// Adds --host, and --device in its place: the host that comes with a GPU.
void add_host_options(CommandRow& command, std::string& host, std::string& device,
                      const std::string& host_help);
/// Adds --device alone, for commands that read a scenario.
void add_device_option(CommandRow& command, std::string& device);

/// The host that comes with a device. @throws ScenarioError with the nearest and the known names
[[nodiscard]] std::string host_of_device(const std::string& device, const LoadOptions& options);

/// The scenario on another device: its host and the fabric of its NICs, with as many GPUs as the
/// scenario has, or as many as are asked for. They stand before the user's own --set.
/// @throws ScenarioError, UsageError
[[nodiscard]] ScenarioOptions on_device(ScenarioOptions options, const std::string& device,
                                        std::optional<int> gpus = std::nullopt);

/// How much memory of a GPU the plans that a command proposes leave free. Where neither is given,
/// they keep the default room (planner/forecast/search_limits.hpp).
struct RoomOptions {
  std::optional<double> share;
  std::string headroom;

  [[nodiscard]] bool given() const { return share || !headroom.empty(); }
};

/// --max-memory-share and --headroom. `what` is in front of the help: "gpus, model: ", or empty.
void add_room_options(CommandRow& command, RoomOptions& options, const std::string& what = "",
                      const OptionRules& rules = {});

/// Their limits. @throws UsageError for shares that are none
[[nodiscard]] SearchLimits room_limits(const RoomOptions& options);

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
