// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "planner/cli/answer_output.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/plan_options.hpp"
#include "planner/solve/procure.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

struct ProcureCommandOptions {
  std::vector<std::string> clusters;
  std::vector<std::string> workloads;
  ScenarioOptions scenario;  ///< its file is not used
  RoomOptions room;
  RankBy by = RankBy::time;
  AnswerOutput output;
  int threads = 2;
  bool search = false;
};

std::vector<Scenario> scenarios_of(const std::vector<std::string>& files,
                                   const ScenarioOptions& common) {
  std::vector<Scenario> scenarios;
  for (const std::string& file : files) {
    ScenarioOptions options = common;
    options.file = file;
    if (file == "-") throw UsageError("procure reads files, not standard input");
    scenarios.push_back(while_noting([&] { return read_scenario(options); }));
  }
  return scenarios;
}

/// Names are what the tables tell candidates apart by.
void refuse_same_names(const std::vector<Scenario>& scenarios, const char* what) {
  std::vector<std::string> names;
  for (const Scenario& scenario : scenarios) names.push_back(scenario.job.name);
  std::ranges::sort(names);
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    throw UsageError(fmt::format("two {}s have the name {}; give each its own", what, *twice));
}

int run_procure(const ProcureCommandOptions& options) {
  const auto by = options.by;
  if (options.clusters.empty() || options.workloads.empty())
    throw UsageError("procure needs at least one --cluster and one --workload");
  const auto clusters = scenarios_of(options.clusters, options.scenario);
  const auto workloads = scenarios_of(options.workloads, options.scenario);
  refuse_same_names(clusters, "cluster");
  refuse_same_names(workloads, "workload");
  if (options.room.given() && !options.search)
    throw UsageError(
        "--max-memory-share and --headroom are for plans that are searched: give "
        "--search as well");
  const Interruption interruption;
  const Procurement result = procure(
      clusters, workloads,
      {by, options.search, options.threads, room_limits(options.room), &Interruption::noted()});
  const AnswerForms forms{"procurement", [&] { return procure_json(result); },
                          [&] { return procure_csv(result); }};
  const int delivered =
      deliver_answer(options.output, forms, [&] { return procure_answer(result); });
  if (delivered != exit_ok) return delivered;
  if (Interruption::noted()) return Interruption::exit_code();
  const bool any = std::ranges::any_of(
      result.clusters, [](const ProcureCluster& cluster) { return cluster.runs(); });
  return any ? exit_ok : exit_infeasible;
}

}  // namespace

CommandRow procure_command() {
  const auto options = std::make_shared<ProcureCommandOptions>();
  CommandRow command{"procure", "Rank clusters by the workloads they are for"};
  const auto files = [&](const char* name, std::vector<std::string>& values, const char* help) {
    command.option(name, values, "SCENARIO...", help, {.values = {{1, -1}}});
  };
  files("--cluster", options->clusters,
        "Candidates: of these scenarios cluster, site and operations count");
  files("--workload", options->workloads,
        "What is trained: of these scenarios everything else counts");
  command.option("--by", options->by, "NAME",
                 "What clusters are ranked by: time, cost, energy or gpus");
  command.flag("--search", options->search, "Take the best plan of every cell");
  add_room_options(command, options->room, "with --search: ");
  add_threads_option(command, options->threads);
  add_answer_output(command, options->output, "schema procure/1", "one row per cell");
  add_scenario_options(command, options->scenario);
  command.texts = {
      .examples =
          {"foretrain procure --cluster h100.yaml b200.yaml --workload 8b.yaml 70b.yaml --search",
           "foretrain procure --cluster h100.yaml a100.yaml --workload 70b.yaml --by cost --csv"},
      .exits = {{exit_infeasible, "no cluster runs all workloads"}}};
  command.run = [options] { return run_procure(*options); };
  return command;
}

}  // namespace foretrain
