// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/commands.hpp"

#include <array>
#include <memory>

#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/exchange/exports.hpp"
#include "planner/forecast/report.hpp"

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
      "A DeepSpeed configuration (JSON)",
      "A torchtitan configuration (TOML)",
      "A nanotron configuration (YAML)",
      "Arguments of the Hugging Face Trainer and TRL (YAML)",
      "An Axolotl configuration (YAML)",
      "A LLaMA-Factory configuration (YAML)",
      "A configuration of accelerate launch (YAML)",
      "A Slurm script of Megatron-LM with a time limit from the forecast"};
  return help.at(static_cast<std::size_t>(kind));
}

/// Says why the plan cannot run; a plan whose time is not modelled may well run, and is noted.
bool cannot_run(const Prediction& prediction) {
  bool broken = false;
  for (const Infeasible& reason : prediction.reasons) {
    const bool unknown = reason.rule == not_modelled_rule;
    write_diagnostic((unknown ? "note      no forecast: " : "infeasible: ") + reason.message +
                     (reason.remedy.empty() ? "" : " (" + reason.remedy + ")"));
    broken = broken || !unknown;
  }
  return broken;
}

int run_export(ExportKind kind, const LaunchExportOptions& options) {
  const Scenario scenario = read_scenario(options.scenario);
  const Prediction prediction = evaluate(scenario).prediction;
  const bool broken = cannot_run(prediction);
  if (broken && kind == ExportKind::sbatch) return exit_infeasible;  // it has no time limit
  const Exported exported = export_scenario(kind, scenario, &prediction);
  if (broken) return exit_infeasible;
  for (const std::string& sentence : exported.left_out) write_diagnostic("omitted   " + sentence);
  return deliver(exported.text, options.out, FileUse::to_edit);
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
                   "foretrain export chakra run.yaml -o 'trace.%d.et'"},
      .exits = {{exit_ok, "exported"},
                {exit_usage, "bad usage or input, or not representable in that format"},
                {exit_infeasible}}};
  return command;
}

}  // namespace foretrain
