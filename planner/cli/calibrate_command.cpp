// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <stdexcept>

#include "planner/calibrate.hpp"
#include "planner/cli/calibrate_commands.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/usage_error.hpp"

namespace foretrain {
namespace {

struct FitOptions {
  std::vector<std::string> profiles;
  std::vector<std::string> catalogs;
  std::string plan;
  std::string out;
  bool check = false;
  bool write = false;
  bool json = false;
};

int run_fit(const FitOptions& options) {
  ScenarioOptions folders;
  folders.catalogs = options.catalogs;
  CalibrateRequest request;
  request.catalogs = load_options(folders).catalogs;
  request.plan = options.plan;
  request.profiles = options.profiles;
  const Calibration calibration = calibrate(request);
  const TextStyle style = options.out.empty() ? output_style() : TextStyle{};
  const int told =
      deliver(options.json ? calibration_json(calibration) : calibration_text(calibration, style),
              options.out);
  bool same = true;
  for (const ProfileFile& file : calibration.files) {
    if (!file.changed()) continue;
    same = false;
    if (options.write) write_file(file.path, file.after);
  }
  if (!calibration.fit.converged) throw UsageError("the fit did not converge");
  if (!options.check || same) return told;
  write_diagnostic("foretrain: the fit gives other constants than the profiles have");
  return exit_budget;
}

}  // namespace

Command add_calibrate_fit(CLI::App& calibrate) {
  const auto options = std::make_shared<FitOptions>();
  CLI::App* fit = calibrate.add_subcommand(
      "fit", "Fit the constants of stacks, sites and devices to the measured step times");
  fit->add_option("--profile", options->profiles,
                  "Report and write this profile alone, e.g. stack/megatron-core; all are fitted "
                  "(may be repeated)")
      ->type_name("LAYER/NAME")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  fit->add_option("--plan", options->plan,
                  "What is free, with priors; default calibration/fits/steps.yaml")
      ->type_name("FILE");
  auto* check = fit->add_flag("--check", options->check,
                              "Fail when the profiles are not what the fit gives, to the digit");
  fit->add_flag("--write", options->write, "Put the fitted constants into the profiles' files")
      ->excludes(check);
  fit->add_flag("--json", options->json, "Print constants, bands and errors as JSON");
  fit->add_option("--catalog", options->catalogs,
                  "Folder with catalogs of your own, searched first (may be repeated)")
      ->type_name("DIR")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  fit->add_option("--out", options->out, "Write to a file instead of standard output")
      ->type_name("FILE");
  fit->footer(
      "Examples:\n"
      "  foretrain calibrate fit\n"
      "  foretrain calibrate fit --check\n"
      "  foretrain calibrate fit --profile stack/nanotron --profile site/nanotron\n"
      "Exit codes: 0 ok, 2 bad usage or input, 4 --check found a difference.");
  return {fit, [options] { return run_fit(*options); }};
}

Command add_calibrate_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "calibrate", "Measure a machine, read logs, and fit profiles to measured records");
  app->require_subcommand(1);
  const std::vector<Command> parts{add_calibrate_fit(*app), add_calibrate_import(*app)};
  return {app, [parts] {
            for (const Command& part : parts)
              if (part.app->parsed()) return part.run();
            throw std::logic_error("no subcommand of calibrate ran");
          }};
}

}  // namespace foretrain
