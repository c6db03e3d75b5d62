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

/// Adds what launches a scenario, a command per kind.
std::vector<Command> add_launch_exports(CLI::App& app) {
  std::vector<Command> commands;
  for (const auto& [kind, name] : EnumNames<ExportKind>::names) {
    const auto options = std::make_shared<LaunchExportOptions>();
    CLI::App* part = app.add_subcommand(std::string(name), help_of(kind));
    part->add_option("scenario", options->scenario.file, "Scenario file, or - for standard input")
        ->required()
        ->type_name("SCENARIO");
    part->add_option("-o,--out", options->out, "Write to a file instead of standard output")
        ->type_name("FILE");
    guard_outputs(*part, FileUse::to_edit, {"--out"});
    add_scenario_options(*part, options->scenario);
    part->footer(
        "What the format cannot represent is refused where it changes memory or time; what is set\n"
        "elsewhere is listed on standard error, and in comments where the format has them.\n"
        "Exit codes: 0 exported, 2 bad usage or input, or a plan that the format cannot "
        "represent,\n3 the plan cannot run.");
    commands.push_back({part, [kind = kind, options] { return run_export(kind, *options); }});
  }
  return commands;
}

}  // namespace

Command add_export_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("export", "Turn a scenario into a file of another tool");
  std::vector<Command> parts = add_launch_exports(*app);
  for (Command& part : add_fabric_exports(*app)) parts.push_back(std::move(part));
  app->require_subcommand(1);
  app->footer(
      "Examples:\n"
      "  foretrain export megatron run.yaml -o pretrain.sh\n"
      "  foretrain export sbatch run.yaml -o run.slurm\n"
      "  foretrain export nccl-tuner run.yaml -o nccl_tuner.conf\n"
      "  foretrain export chakra run.yaml -o 'trace.%d.et'\n"
      "foretrain export KIND --help shows the options of a kind.\n"
      "Exit codes: 0 exported, 2 bad usage or input, or not representable in that format, 3 the "
      "plan\n"
      "cannot run.");
  return {app, [parts] { return parsed_command(parts)->run(); }};
}

}  // namespace foretrain
