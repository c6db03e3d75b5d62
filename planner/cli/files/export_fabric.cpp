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

CommandRow export_row(const char* name, const char* help, FabricExportOptions& options) {
  CommandRow command{name, help};
  add_scenario_argument(command, options.scenario);
  add_scenario_options(command, options.scenario);
  return command;
}

CommandRow text_export(const char* name, const char* help, TextExport text) {
  const auto options = std::make_shared<FabricExportOptions>();
  CommandRow command = export_row(name, help, *options);
  add_edited_output(command, options->out);
  command.run = [options, text] {
    return deliver(text(read_scenario(options->scenario)), options->out, FileUse::to_edit);
  };
  return command;
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

std::vector<CommandRow> fabric_exports() {
  const auto options = std::make_shared<FabricExportOptions>();
  CommandRow chakra =
      export_row("chakra", "One step as MLCommons Chakra traces, a file per rank", *options);
  chakra.option("-o,--out", options->out, "PATTERN", "Name of the files, with %d for the rank",
                {.required = true, .writes = FileUse::to_edit});
  chakra.flag("--one-replica", options->one_replica,
              "One rank per pipeline stage instead of all ranks");
  chakra.run = [options] { return export_chakra(*options); };
  return {text_export("nccl-tuner", "Configuration of NCCL's example tuner plug-in", tuner_of),
          text_export("simgrid", "The fabric as a platform of SimGrid", platform_of),
          text_export("dot", "The fabric for Graphviz", dot_of), std::move(chakra)};
}

}  // namespace foretrain
