// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "calibration/validate/ablations.hpp"
#include "planner/cli/calibrate/validate_options.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/evidence/accuracy.hpp"
#include "planner/evidence/inference.hpp"
#include "planner/evidence/studies.hpp"
#include "planner/evidence/validate_pictures.hpp"
#include "planner/scene/scene.hpp"
#include "planner/text/quoting.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

constexpr const char* next_accuracy = "foretrain validate --accuracy --source all";
constexpr const char* next_steps = "foretrain validate --only time";

/// What cannot become a picture is told before the records are forecast.
void check_pictures(const ValidateOptions& options) {
  for (const auto& [name, file] :
       {std::pair{"--scatter ", &options.scatter}, {"--residuals ", &options.residuals}})
    if (!file->empty() && !file->ends_with(".svg"))
      throw UsageError(name + in_quotes(*file) +
                       ": the picture is an SVG file, its name ends in .svg");
  if (options.scatter.empty() && options.residuals.empty()) return;
  if (options.scatter == options.residuals)
    throw UsageError("--scatter and --residuals name the same file");
  if (options.only == ValidateOnly::memory)
    throw UsageError("--scatter and --residuals show step times, --only memory leaves them out");
}

void write_pictures(const ValidateOptions& options, const Validation& validation) {
  if (options.scatter.empty() && options.residuals.empty()) return;
  if (!has_step_times(validation))
    throw UsageError("no step time could be compared: there is nothing to draw");
  if (!options.scatter.empty())
    write_file(options.scatter,
               scene_svg(scatter_chart(validation, picture_space({}, 1100.0, 800.0))));
  if (!options.residuals.empty())
    write_file(options.residuals,
               scene_svg(residuals_chart(validation, picture_space({}, 1160.0))));
}

/// Devices as if their relatives and datasheets were all that is known.
int run_hidden(const ValidateOptions& options) {
  if (!options.left_out.empty() || options.memory || options.one_kind() || options.accuracy ||
      options.peers || options.figures || options.skipped || options.draws() ||
      !options.sources.empty() || !options.confidence.empty())
    throw UsageError(
        "--hide-device takes --runs, --vtrain, --kernels, --collectives, --measured and the forms "
        "of output beside it");
  std::vector<HiddenPair> pairs;
  for (const std::string& text : options.hidden) {
    const std::size_t equals = text.find('=');
    pairs.push_back(
        {text.substr(0, equals), equals == std::string::npos ? "" : text.substr(equals + 1)});
  }
  const auto errors = validate_hidden(request_of(options), pairs);
  return deliver_evidence(options,
                          {"devices hidden from the fit", [&] { return hidden_json(errors); },
                           [&] { return hidden_csv(errors); }},
                          hidden_answer(errors), next_accuracy);
}

/// What --leave-out found when the profiles were fitted; nothing is computed.
int run_accuracy(const ValidateOptions& options, const ValidateRequest& request) {
  const auto lines = shipped_left_out(request.catalogs);
  if (!options.figure.empty())
    write_file(options.figure, scene_svg(left_out_chart(lines, picture_space({}, 980.0))));
  const AccuracyFilter filter{axes_of(options), options.sources};
  return deliver_evidence(options, {"accuracy", {}, [&] { return left_out_csv(lines); }},
                          accuracy_answer(lines, filter), next_steps);
}

int deliver_ablations(const ValidateOptions& options, const std::vector<RecordCheck>& records) {
  const auto checks = check_ablations(ablation_pairs(), records);
  return deliver_evidence(options,
                          {"pairs of measured runs", [&] { return ablations_json(checks); }},
                          ablations_answer(checks), next_accuracy);
}

/// Engines fitted without what is asked about.
int run_inference_left_out(const ValidateOptions& options, const InferenceRequest& request) {
  if (options.output.csv || options.skipped)
    throw UsageError("--inference --leave-out takes no --csv and no --skipped");
  const auto left_out = validate_inference_left_out(request, engine_axes_of(options));
  if (Interruption::noted().load()) return Interruption::exit_code();
  const auto json = [&] {
    Validation all;
    for (const InferenceLeftOut& part : left_out)
      for (RecordCheck check : part.checks) {
        check.source = std::string(name_of(part.axis)) + "/" + check.source;
        all.records.push_back(std::move(check));
      }
    all.summary = summarize(all.records);
    return validation_json(all);
  };
  return deliver_evidence(options, {"inference left out", json},
                          inference_left_out_answer(left_out), "foretrain validate --inference");
}

/// Inference runs have tables of their own: quantities and groups differ.
int run_inference(const ValidateOptions& options) {
  if (options.names_records() || options.check || options.figures || options.accuracy ||
      options.peers || !options.hidden.empty() || options.draws() || !options.confidence.empty() ||
      !options.measured.empty() || options.one_kind())
    throw UsageError(
        "--inference takes --source, --leave-out, --skipped and the forms of output beside it");
  const Interruption interruption;
  const InferenceRequest request{*options.inference, own_roots(options.folders), options.sources,
                                 &Interruption::noted()};
  if (!options.left_out.empty()) return run_inference_left_out(options, request);
  const Validation validation = validate_inference(request);
  if (Interruption::noted().load()) return Interruption::exit_code();
  return deliver_evidence(options,
                          {"inference measured", [&] { return validation_json(validation); },
                           [&] { return validation_csv(validation); }},
                          inference_answer(validation, options.skipped),
                          "foretrain validate --inference --leave-out source");
}

/// Measured steps and memory against their bands, each that is outside told.
/// @return exit code
int tell_check(const RecordsCheck& check) {
  for (const std::string& sentence : check.outside) write_diagnostic(sentence);
  return check.outside.empty() ? int{exit_ok} : exit_budget;
}

/// Own runs are fitted next; of what ships, what it says of runs that no fit has seen.
std::string next_of(const ValidateOptions& options, const Validation& validation) {
  if (options.runs.value_or("").empty()) return next_accuracy;
  std::vector<std::string> words{"foretrain", "validate", "--runs", *options.runs, "--skipped"};
  if (has_step_times(validation)) words = {"foretrain", "calibrate", "fit", "--runs", words[3]};
  return shell_words(words);
}

int run_records(const ValidateOptions& options) {
  check_pictures(options);
  ValidateRequest request = request_of(options);
  if (options.ablations) request.only = ValidateOnly::time;
  const Validation validation = validate(request);
  write_pictures(options, validation);
  if (options.peers) return deliver_peers(options, validation.records, false, request.catalogs);
  if (options.ablations) return deliver_ablations(options, validation.records);
  ValidationView view{options.skipped, options.figures, options.only_shipped()};
  if (options.check) view.check = check_records(validation, !options.folders.profiles.empty());
  if (view.check && view.check->steps + view.check->memory == 0)
    throw UsageError("--check: neither a step time nor memory could be compared");
  const int delivered =
      deliver_evidence(options,
                       {"validation", [&] { return validation_json(validation); },
                        [&] { return validation_csv(validation); }},
                       validation_answer(validation, view), next_of(options, validation));
  return view.check && delivered == exit_ok ? tell_check(*view.check) : delivered;
}

/// Power has measurements and runs of its own.
int run_power(const ValidateOptions& options) {
  if (options.names_records() || options.inference || options.check || !options.hidden.empty() ||
      !options.left_out.empty() || options.draws() || options.skipped || !options.sources.empty() ||
      !options.confidence.empty() || !options.measured.empty() || options.one_kind())
    throw UsageError("--power takes the forms of output alone beside it");
  const PowerStudy study = validate_power(own_roots(options.folders));
  return deliver_evidence(options, {"power measured", [&] { return power_json(study); }},
                          power_answer(study), next_accuracy);
}

int run_validate(const ValidateOptions& options) {
  if (options.power) return run_power(options);
  if (options.inference) return run_inference(options);
  if (options.check &&
      (!options.hidden.empty() || options.accuracy || !options.left_out.empty() || options.peers))
    throw UsageError(
        "--check judges measured steps and memory by their forecasts' bands, as --runs does");
  if (!options.hidden.empty()) return run_hidden(options);
  if (options.accuracy) return run_accuracy(options, request_of(options));
  if (!options.left_out.empty()) return run_left_out(options, request_of(options));
  return run_records(options);
}

void add_picture_options(CommandRow& command, ValidateOptions& options) {
  command.option("--scatter", options.scatter, "FILE.svg",
                 "Draw predicted against measured step times into FILE.svg",
                 {.writes = FileUse::report});
  command.option("--residuals", options.residuals, "FILE.svg",
                 "Draw the errors of step times by source into FILE.svg",
                 {.writes = FileUse::report});
  command.option("--figure", options.figure, "FILE.svg",
                 "With --accuracy: draw the errors by fold and kind of run into FILE.svg",
                 {.needs = {"--accuracy"}, .writes = FileUse::report});
}

void add_views(CommandRow& command, ValidateOptions& options) {
  command.flag("--figures", options.figures,
               "How well runs of one published figure or table are ordered, too");
  command.flag("--accuracy", options.accuracy,
               "Only the errors of sources left out of the fit, as the profiles ship with them",
               {.excludes = {"--json", "--figures"}});
  command.flag("--peers", options.peers,
               "Only the comparison with other tools on the same published runs");
  command.flag("--ablations", options.ablations,
               "Only pairs of runs that differ in one choice (routing, dispatcher, overlap, "
               "recomputation): measured and forecast change",
               {.excludes = {"--csv", "--peers", "--accuracy", "--figures"}});
  command.flag("--power", options.power,
               "Only watts of nodes and GPUs that train: measured and forecast",
               {.excludes = {"--csv", "--ablations", "--peers", "--accuracy", "--figures"}});
  command.flag("--check", options.check,
               "Fail (4) where a measured step is outside of its forecast's band: your own runs "
               "after a new release of your framework, with --runs and --profiles");
  command.flag("--skipped", options.skipped, "List the records that were left out, and why");
}

}  // namespace

int deliver_evidence(const ValidateOptions& options, const AnswerForms& forms, Answer answer,
                     const std::string& next) {
  answer.head.next = next;
  return deliver_answer(options.output, forms, [&] { return answer; });
}

CommandRow validate_command() {
  const auto options = std::make_shared<ValidateOptions>();
  CommandRow command{"validate",
                     "Compare forecasts with measured steps, memory, kernels and collectives"};
  add_record_options(command, *options);
  add_left_out_options(command, *options);
  command.option("--hide-device", options->hidden, "DEVICE[=RELATIVE]",
                 "Forecast the kernels, collectives and steps of DEVICE from RELATIVE and its "
                 "datasheet alone, everything fitted without its records (may be repeated)",
                 {.repeated = true});
  add_picture_options(command, *options);
  add_answer_output(command, options->output, "every record and the summary",
                    "one line per record");
  add_views(command, *options);
  add_folder_options(command, options->folders);
  command.texts = {
      .examples = {"foretrain validate                     every shipped record",
                   "foretrain validate --only time --source sc21 --csv",
                   "foretrain validate --only time --source sc21 --figures",
                   "foretrain validate --runs --skipped",
                   "foretrain validate --kernels --collectives",
                   "foretrain validate --only time --scatter steps.svg --residuals errors.svg",
                   "foretrain validate --confidence A --confidence B --markdown --out accuracy.md",
                   "foretrain validate --runs my-runs.yaml --json",
                   "foretrain validate --runs my-runs.yaml --profiles my --check",
                   "foretrain validate --accuracy --source all",
                   "foretrain validate --measured records",
                   "foretrain validate --inference runs.yaml --json",
                   "foretrain validate --leave-out source --leave-out device",
                   "foretrain validate --leave-out all --csv --out left_out.csv",
                   "foretrain validate --hide-device b200=h100-sxm5-80gb --hide-device gb300",
                   "foretrain validate --only time --peers", "foretrain validate --ablations",
                   "foretrain validate --power"},
      .exits = {{exit_budget, "--check found a step outside"}, {exit_interrupted}}};
  command.run = [options] { return run_validate(*options); };
  return command;
}

}  // namespace foretrain
