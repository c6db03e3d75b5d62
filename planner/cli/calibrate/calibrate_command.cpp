// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "calibration/fit/fit_stop.hpp"
#include "planner/cli/answer_output.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/constants/calibrate.hpp"
#include "planner/constants/measured_profile.hpp"
#include "planner/evidence/inference.hpp"
#include "planner/own_runs/own_runs.hpp"
#include "planner/text/quoting.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

struct FitOptions {
  std::vector<std::string> profiles;
  OwnFolders folders;
  std::string plan;
  std::string out;
  bool check = false;
  bool write = false;
  AnswerOutput output;  ///< but its `out`, which is not of the answer alone
  LogOptions measured;  ///< files: those of --measured
  std::string device;
  int hold_out = 0;
  int starts = CalibrateRequest{}.starts;
  std::vector<std::string> runs;  ///< of one's own
  std::string around;
  std::optional<std::string> inference;  ///< runs of engines; empty: those that ship
};

std::string today() {
  return fmt::format(
      "{:%Y-%m-%d}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

void write_told(const std::vector<TextFile>& files) {
  write_files(files, FileUse::to_edit);
  for (const TextFile& file : files) write_diagnostic("wrote " + file.path.string());
}

/// Profiles around the shipped ones from runs of one's own, into the folder --out.
int run_own(const FitOptions& options) {
  namespace fs = std::filesystem;
  if (!options.plan.empty() || !options.profiles.empty() || options.check || options.write ||
      !options.device.empty() || options.hold_out != 0)
    throw UsageError(
        "--runs fits the profiles of your runs; --plan, --profile, --check and --write are of the "
        "fit to shipped runs, --device and --hold-out of --measured");
  OwnRunsRequest request;
  request.files = {options.runs.begin(), options.runs.end()};
  request.around = options.around;
  request.catalogs = own_roots(options.folders);
  request.today = today();
  const OwnRunsFit fit = fit_own_runs(request);
  if (!options.out.empty()) {
    const fs::path folder = options.out;
    std::error_code error;
    if (fs::exists(folder, error) && !fs::is_directory(folder, error))
      throw UsageError("--out " + in_quotes(options.out) +
                       " is a file; with --runs it is the folder of the profiles");
    std::vector<TextFile> files;
    for (const OwnProfileFile& file : fit.made) {
      files.push_back({folder / file.path, file.text});
      const fs::path parent = files.back().path.parent_path();
      fs::create_directories(parent, error);
      if (error) throw UsageError("cannot make " + parent.string() + ": " + error.message());
    }
    write_told(files);
  }
  return deliver_answer(
      options.output, {"fit of own runs", [&] { return own_runs_json(fit); }}, [&] {
        Answer answer = own_runs_answer(fit);
        answer.head.next =
            options.out.empty()
                ? "foretrain calibrate fit --runs " + shell_words(options.runs) +
                      " --out my-profiles"
                : "foretrain simulate SCENARIO --profiles " + shell_word(options.out);
        return answer;
      });
}

/// Profiles from measurements alone, into --out and files beside it.
int run_measured(const FitOptions& options) {
  namespace fs = std::filesystem;
  if (options.device.empty())
    throw UsageError("--measured needs --device: the catalog device that was measured");
  if (!options.plan.empty() || !options.profiles.empty() || options.check || options.write)
    throw UsageError(
        "--measured makes new profiles; --plan, --profile, --check and --write are of "
        "the fit to training runs");
  ProfileRequest request;
  request.logs = log_request(options.measured);
  request.catalogs = own_roots(options.folders);
  request.fit = {options.device, options.measured.fabric, options.hold_out};
  const fs::path out =
      options.out.empty() ? fs::path(options.device + "-measured.yaml") : fs::path(options.out);
  if (out.extension() != ".yaml")
    throw UsageError("--out " + in_quotes(out.string()) + ": a profile is a file NAME.yaml");
  request.name = out.stem().string();
  request.today = today();
  const MadeProfiles made = make_profiles(request);
  tell_flagged(made.logs);
  std::vector<TextFile> files;
  for (const MadeProfile& file : made.files)
    files.push_back({out.parent_path() / (request.name + file.suffix + ".yaml"), file.text});
  if (!options.out.empty()) write_told(files);
  return deliver_answer(options.output,
                        {"measured profiles", [&] { return made_profiles_json(made); }},
                        [&] { return made_profiles_answer(made); });
}

/// Where --out is the file that the answer goes to.
AnswerOutput with_file(const FitOptions& options) {
  AnswerOutput output = options.output;
  output.out = options.out;
  return output;
}

/// Constants of inference engines; with --write into their files.
int run_engines(const FitOptions& options) {
  if (!options.runs.empty() || !options.measured.files.empty() || !options.plan.empty() ||
      !options.profiles.empty() || options.check || options.output.json || !options.device.empty())
    throw UsageError("--inference takes --write and --out beside it");
  const InferenceRequest request{
      *options.inference, own_roots(options.folders), {}, &Interruption::noted()};
  const EngineCalibration calibration = calibrate_engines(request);
  if (Interruption::noted().load()) throw FitStopped{};
  std::vector<TextFile> changed;
  for (const EngineFile& file : calibration.files)
    if (options.write && file.after != file.before) changed.push_back({file.path, file.after});
  write_files(changed, FileUse::rewrite);
  return deliver_answer(with_file(options), {"fit of engines"},
                        [&] { return engine_calibration_answer(calibration); });
}

void require_convergence(const Calibration& calibration) {
  for (const auto* groups : {&calibration.kernels.residuals, &calibration.collectives.residuals})
    for (const FitResiduals& group : *groups)
      if (!group.converged) throw UsageError("the fit of " + group.what + " did not converge");
  if (!calibration.fit.converged) throw UsageError("the fit to runs did not converge");
}

int run_shipped(const FitOptions& options) {
  CalibrateRequest request;
  request.catalogs = own_roots(options.folders);
  request.plan = options.plan;
  request.profiles = options.profiles;
  request.starts = options.starts;
  const Calibration calibration = calibrate(request);
  const int told = deliver_answer(with_file(options),
                                  {"calibration", [&] { return calibration_json(calibration); }},
                                  [&] { return calibration_answer(calibration); });
  bool same = true;
  std::vector<TextFile> changed;
  const auto put = [&](const ProfileFile& file) {
    same = same && !file.changed();
    if (options.write && file.after != file.before) changed.push_back({file.path, file.after});
  };
  for (const ProfileFile& file : calibration.files) put(file);
  if (options.profiles.empty()) {
    put(calibration.plan_file);
    put(calibration.constants_file);
  }
  write_files(changed, FileUse::rewrite);
  require_convergence(calibration);
  if (!options.check || same) return told;
  write_diagnostic("foretrain: the fit gives other constants than the profiles have");
  return exit_budget;
}

int run_asked(const FitOptions& options) {
  if (options.inference) return run_engines(options);
  if (!options.runs.empty() && !options.measured.files.empty())
    throw UsageError(
        "--measured and --runs are two fits: make profiles of --measured first, then fit --runs "
        "with --profiles FOLDER of them");
  if (!options.measured.files.empty()) return run_measured(options);
  if (!options.runs.empty()) return run_own(options);
  if (!options.around.empty()) throw UsageError("--around goes with --runs");
  if (!options.device.empty() || options.hold_out != 0)
    throw UsageError("--device and --hold-out go with --measured");
  return run_shipped(options);
}

/// Files are written when the whole fit is there, so that a signal before leaves all as it was.
int run_fit(const FitOptions& options) {
  const Interruption interruption;
  const FitStop stop{Interruption::noted()};
  try {
    return run_asked(options);
  } catch (const FitStopped&) {
    write_diagnostic("stopped: the fit did not end; no constant and no file was changed");
    return Interruption::exit_code();
  }
}

// What is fitted, and what becomes of it.
void add_what_is_fitted(CommandRow& fit, FitOptions& options) {
  fit.option("--profile", options.profiles, "LAYER/NAME",
             "Report and write this profile alone, e.g. stack/megatron-core; all are fitted "
             "(may be repeated)",
             {.repeated = true});
  fit.option("--plan", options.plan, "FILE",
             "What is free, with priors; default calibration/fits/steps.yaml");
  fit.flag("--check", options.check,
           "Fail when a constant is not what the fit gives, within a tenth of its "
           "standard deviation, or the plan's minimum not what it reaches, to 1e-6");
  fit.flag("--write", options.write, "Put the fitted constants into the profiles' files",
           {.excludes = {"--check"}});
  fit.option("--starts", options.starts, "N",
             "Places that the fit to training runs starts from: the priors, and places beside "
             "them; the best end counts",
             {.shows_default = true, .range = {{1, 100}}});
}

}  // namespace

CommandRow calibrate_fit_command() {
  const auto options = std::make_shared<FitOptions>();
  CommandRow fit{"fit",
                 "Fit the constants of devices, fabrics, stacks and sites to what was measured"};
  add_what_is_fitted(fit, *options);
  add_answer_forms(fit, options->output, "with constants, bands and errors");
  add_folder_options(fit, options->folders);
  fit.option("--out", options->out, "FILE|DIR",
             "Write to a file instead of standard output; with --measured, the profile "
             "NAME.yaml, and NAME-fabric.yaml and NAME-site.yaml beside it; with --runs, the "
             "folder of device/, stack/ and site/ profiles",
             {.writes = FileUse::to_edit});
  fit.option("--measured", options->measured.files, "FILE|DIR...",
             "Make new profiles of one device from these logs or records alone, or from "
             "folders of calibrate import or calibrate run");
  fit.option("--device", options->device, "NAME", "Catalog device that was measured");
  fit.option("--hold-out", options->hold_out, "N",
             "Leave one record of N out of the fit, for `calibrate check`; 0: none",
             {.range = {{0, 1000}}});
  add_log_options(fit, options->measured);
  fit.option("--runs", options->runs, "FILE...",
             "Fit the stack, site and device of your own training runs to them, around the "
             "shipped constants: records as measured/runs.yaml or of import log; profiles go "
             "into the folder --out, for --profiles");
  fit.option("--inference", options->inference, "[FILE]",
             "Fit the constants of inference engines to these runs, as "
             "inference_runs.yaml; without FILE the shipped ones",
             {.values = {{0, 1}}});
  fit.option("--around", options->around, "PROFILES",
             "Profiles to start from in place of those of the records: "
             "stack/X,site/Y,device/Z");
  fit.texts = {
      .examples =
          {"foretrain calibrate fit", "foretrain calibrate fit --check",
           "foretrain calibrate fit --profile stack/nanotron --profile site/nanotron",
           "foretrain calibrate fit --measured gpubench.jsonl all_gather.log",
           "    --device h100-sxm5-80gb --fabric ib-ndr --out my-h100.yaml",
           "foretrain calibrate fit --measured run1 --device h100-sxm5-80gb --out my-h100.yaml",
           "foretrain calibrate fit --runs mine.yaml --around stack/fsdp2,site/default --out my",
           "foretrain calibrate fit --inference"},
      .exits = {{exit_budget, "--check found a difference"},
                {128, "+ N stopped by signal N (Ctrl-C: 130): nothing was changed"}}};
  fit.run = [options] { return run_fit(*options); };
  return fit;
}

CommandRow calibrate_command() {
  CommandRow command{"calibrate",
                     "Measure a machine, read logs, and fit profiles to measured records"};
  command.commands = {calibrate_fit_command(),     calibrate_import_command(),
                      calibrate_run_command(),     calibrate_check_command(),
                      calibrate_compare_command(), calibrate_constants_command(),
                      calibrate_worth_command(),   calibrate_suggest_command()};
  return command;
}

}  // namespace foretrain
