// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <array>
#include <memory>

#include "models/rules/plan_rules.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/exchange/execution_trace.hpp"
#include "planner/exchange/exports.hpp"
#include "planner/exchange/simgrid_platform.hpp"
#include "planner/exchange/tuner_csv.hpp"
#include "planner/forecast/report.hpp"
#include "planner/network/fabric_text.hpp"
#include "planner/serving/serving_deployment.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

struct LaunchExportOptions {
  ScenarioOptions scenario;
  std::string out;
};

const char* help_of(ExportKind kind) {
  // In the order of ExportKind.
  static constexpr std::array<const char*, EnumNames<ExportKind>::names.size()> help{
      "A script of torchrun and Megatron-LM arguments",
      "A launch of a recipe of Megatron-Bridge with the plan over it",
      "A DeepSpeed configuration (JSON)",
      "A torchtitan configuration (TOML)",
      "A nanotron configuration (YAML)",
      "Arguments of the Hugging Face Trainer and TRL (YAML)",
      "An Axolotl configuration (YAML)",
      "A LLaMA-Factory configuration (YAML)",
      "A command of ms-swift",
      "A script of Unsloth (Python)",
      "A configuration of accelerate launch (YAML)",
      "A Slurm script of Megatron-LM with a time limit from the forecast",
      "A command that starts vLLM",
      "A command that starts SGLang"};
  return help.at(static_cast<std::size_t>(kind));
}

/// Says why the plan cannot run; a plan whose time is not modelled may well run, and is noted.
bool cannot_run(const std::vector<Infeasible>& reasons) {
  bool broken = false;
  for (const Infeasible& reason : reasons) {
    const bool unknown = reason.rule == not_modelled_rule;
    write_diagnostic((unknown ? "note      no forecast: " : "infeasible: ") + reason.message +
                     (reason.remedy.empty() ? "" : " (" + reason.remedy + ")"));
    broken = broken || !unknown;
  }
  return broken;
}

int deliver_export(const Exported& exported, const std::string& out) {
  for (const std::string& sentence : exported.left_out) write_diagnostic("omitted   " + sentence);
  return deliver(exported.text, out, FileUse::to_edit);
}

int export_engine(ExportKind kind, const LaunchExportOptions& options) {
  const Scenario scenario = read_scenario(options.scenario, Purpose::serving);
  const Exported exported = export_scenario(kind, scenario, nullptr);
  if (cannot_run(ready_serving(scenario).reasons)) return exit_infeasible;
  return deliver_export(exported, options.out);
}

int run_export(ExportKind kind, const LaunchExportOptions& options) {
  if (starts_engine(kind)) return export_engine(kind, options);
  const Scenario scenario = read_scenario(options.scenario);
  const Prediction prediction = evaluate(scenario).prediction;
  const bool broken = cannot_run(prediction.reasons);
  if (broken && kind == ExportKind::sbatch) return exit_infeasible;  // it has no time limit
  const Exported exported = export_scenario(kind, scenario, &prediction);
  if (broken) return exit_infeasible;
  return deliver_export(exported, options.out);
}

/// What launches a scenario, a command per kind.
std::vector<CommandRow> launch_exports() {
  std::vector<CommandRow> commands;
  for (const auto& [kind, name] : EnumNames<ExportKind>::names) {
    const auto options = std::make_shared<LaunchExportOptions>();
    CommandRow part{std::string(name), help_of(kind)};
    add_scenario_argument(part, options->scenario);
    add_edited_output(part, options->out);
    add_scenario_options(part, options->scenario);
    part.texts = {
        .notes =
            "What the format cannot represent is refused where it changes memory or time; what is "
            "set\n"
            "elsewhere is listed on standard error, and in comments where the format has them.",
        .exits = {{exit_ok, "exported"},
                  {exit_usage, "bad usage or input, or a plan that the format cannot represent"},
                  {exit_infeasible}}};
    part.run = [kind = kind, options] { return run_export(kind, *options); };
    commands.push_back(std::move(part));
  }
  return commands;
}

}  // namespace

CommandRow export_command() {
  CommandRow command{"export", "Turn a scenario into a file of another tool"};
  command.commands = launch_exports();
  for (CommandRow& part : fabric_exports()) command.commands.push_back(std::move(part));
  command.texts = {
      .notes = "foretrain export KIND --help shows the options of a kind.",
      .examples = {"foretrain export megatron run.yaml -o pretrain.sh",
                   "foretrain export sbatch run.yaml -o run.slurm",
                   "foretrain export nccl-tuner run.yaml -o nccl_tuner.conf",
                   "foretrain export vllm chat.yaml -o serve.sh",
                   "foretrain export chakra run.yaml -o 'trace.%d.et'"},
      .exits = {{exit_ok, "exported"},
                {exit_usage, "bad usage or input, or not representable in that format"},
                {exit_infeasible}}};
  return command;
}

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
