// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/commands.hpp"

#include <fmt/format.h>

#include <memory>

#include "models/rules/plan_rules.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/exchange/execution_trace.hpp"
#include "planner/exchange/simgrid_platform.hpp"
#include "planner/exchange/tuner_csv.hpp"
#include "planner/network/fabric_text.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

struct FabricExportOptions {
  ScenarioOptions scenario;
  std::string out;
  bool one_replica = false;
};

using TextExport = std::string (*)(const Scenario&);

std::string tuner_of(const Scenario& scenario) { return tuner_csv(scenario.job); }
std::string platform_of(const Scenario& scenario) {
  return simgrid_platform(fabric_of(scenario), scenario.job.cluster, scenario.job.name,
                          scenario.job.simulation.seed);
}
std::string dot_of(const Scenario& scenario) { return fabric_dot(judge_fabric(scenario, {})); }

CLI::App* add_subcommand(CLI::App& exports, const char* name, const char* help,
                         FabricExportOptions& options) {
  CLI::App* app = exports.add_subcommand(name, help);
  app->add_option("scenario", options.scenario.file, "Scenario file, or - for standard input")
      ->required()
      ->type_name("SCENARIO");
  add_scenario_options(*app, options.scenario);
  return app;
}

Command add_text_export(CLI::App& exports, const char* name, const char* help, TextExport text) {
  const auto options = std::make_shared<FabricExportOptions>();
  CLI::App* app = add_subcommand(exports, name, help, *options);
  app->add_option("-o,--out", options->out, "Write to a file instead of standard output")
      ->type_name("FILE");
  guard_outputs(*app, FileUse::to_edit, {"--out"});
  return {app, [options, text] {
            return deliver(text(read_scenario(options->scenario)), options->out, FileUse::to_edit);
          }};
}

int export_chakra(const FabricExportOptions& options) {
  if (!knows_chakra()) (void)chakra_files({});  // says what is missing
  (void)rank_file(options.out, 0);
  const Scenario scenario = read_scenario(options.scenario);
  const Job& job = scenario.job;
  auto broken = broken_rules(job);
  const auto unknown = not_modelled(job);
  broken.insert(broken.end(), unknown.begin(), unknown.end());
  for (const Infeasible& reason : broken) write_diagnostic("infeasible: " + reason.message);
  if (!broken.empty()) return exit_infeasible;
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const StepPath path = step_path(job, layout, Detail::pass);
  const ExecutionTrace trace =
      trace_of_step(job, path, options.one_replica ? TraceRanks::one_replica : TraceRanks::all);
  std::vector<TextFile> files;
  for (std::string& text : chakra_files(trace))
    files.push_back({rank_file(options.out, static_cast<int>(files.size())), std::move(text)});
  write_files(files, FileUse::to_edit);
  write_diagnostic(fmt::format("wrote    {} files, {} to {}", files.size(),
                               rank_file(options.out, 0),
                               rank_file(options.out, static_cast<int>(files.size()) - 1)));
  if (path.graph.staggered)
    write_diagnostic(
        "note     stages begin their next step by themselves: the last end of the "
        "trace is not the time of a step");
  return exit_ok;
}

}  // namespace

std::vector<Command> add_fabric_exports(CLI::App& exports) {
  std::vector<Command> commands;
  commands.push_back(add_text_export(exports, "nccl-tuner",
                                     "Configuration of NCCL's example tuner plug-in", tuner_of));
  commands.push_back(
      add_text_export(exports, "simgrid", "The fabric as a platform of SimGrid", platform_of));
  commands.push_back(add_text_export(exports, "dot", "The fabric for Graphviz", dot_of));
  const auto options = std::make_shared<FabricExportOptions>();
  CLI::App* app = add_subcommand(exports, "chakra",
                                 "One step as MLCommons Chakra traces, a file per rank", *options);
  app->add_option("-o,--out", options->out, "Name of the files, with %d for the rank")
      ->type_name("PATTERN")
      ->required();
  guard_outputs(*app, FileUse::to_edit, {"--out"});
  app->add_flag("--one-replica", options->one_replica,
                "One rank per pipeline stage instead of all ranks");
  commands.push_back({app, [options] { return export_chakra(*options); }});
  return commands;
}

}  // namespace foretrain
