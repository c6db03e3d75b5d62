// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "calibration/validate/ablations.hpp"
#include "planner/cli/calibrate/validate_left_out.hpp"
#include "planner/cli/command.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/evidence/ablation_text.hpp"
#include "planner/evidence/accuracy.hpp"
#include "planner/evidence/figure_order.hpp"
#include "planner/evidence/hidden_devices.hpp"
#include "planner/evidence/inference.hpp"
#include "planner/evidence/left_out.hpp"
#include "planner/evidence/validate.hpp"
#include "planner/evidence/validate_pictures.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/fields/field_table.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

/// Which kinds of records the command line names.
struct Asked {
  bool memory;
  bool runs;
  bool vtrain;
  bool left_out;
  bool kernels;
  bool collectives;
  bool inference;
  [[nodiscard]] bool none() const {
    return !memory && !runs && !vtrain && !kernels && !collectives;
  }
};

namespace fs = std::filesystem;

/// Records of one kind: of the user's file; else of the folder of --measured, which must have them
/// where they are asked for by name; else those that ship (an empty path). Nothing: none are read.
std::optional<fs::path> records_of(const std::string& file, const char* name, bool asked, bool all,
                                   const ValidateOptions& options) {
  if (!asked && !all) return std::nullopt;
  if (!file.empty() || options.measured.empty()) return file;
  const fs::path own = fs::path(options.measured) / name;
  if (fs::is_regular_file(own)) return own;
  if (asked) throw UsageError("--measured " + in_quotes(options.measured) + " has no " + name);
  return std::nullopt;
}

std::optional<std::vector<fs::path>> vtrain_of(const ValidateOptions& options, bool asked,
                                               bool all) {
  if (!asked && !all) return std::nullopt;
  std::vector<fs::path> files;
  // An option without a value arrives as an empty one.
  for (const std::string& file : options.vtrain)
    if (!file.empty()) files.emplace_back(file);
  if (!files.empty() || options.measured.empty()) return files;
  for (const char* name : {"vtrain_single.csv", "vtrain_multi.csv"})
    if (auto own = records_of("", name, false, true, options)) files.push_back(std::move(*own));
  if (!files.empty()) return files;
  if (asked) throw UsageError("--measured " + in_quotes(options.measured) + " has no vtrain table");
  return std::nullopt;
}

/// Which records are read, by what was asked for.
void choose_records(const ValidateOptions& options, const Asked& asked, bool graded,
                    ValidateRequest& request) {
  if (!options.measured.empty() && !fs::is_directory(options.measured))
    throw UsageError("--measured " + in_quotes(options.measured) +
                     " is not a folder; --runs, --memory, --vtrain, --kernels and --collectives "
                     "take files");
  const bool all = asked.none();
  const bool plain = all && !graded;  // kinds without grades
  request.memory =
      records_of(options.memory, "megatron_ci_memory.json", asked.memory, plain, options);
  request.runs = records_of(options.runs, "runs.yaml", asked.runs, all, options);
  request.vtrain = vtrain_of(options, asked.vtrain, all);
  request.kernels = records_of(options.kernels, "kernels.csv", asked.kernels, plain, options);
  request.collectives =
      records_of(options.collectives, "nccl_sweeps.csv", asked.collectives, plain, options);
  if (!request.memory && !request.runs && !request.vtrain && !request.kernels &&
      !request.collectives)
    throw UsageError("--measured " + in_quotes(options.measured) +
                     " has none of runs.yaml, megatron_ci_memory.json, vtrain_single.csv, "
                     "vtrain_multi.csv, kernels.csv and nccl_sweeps.csv");
}

ValidateRequest request_of(const ValidateOptions& options, const Asked& asked) {
  ValidateRequest request;
  request.catalogs = own_roots(options.folders);
  const bool graded = !options.confidence.empty();
  if (graded && asked.memory)
    throw UsageError("--confidence grades training runs; the records of --memory have no grade");
  if (graded && (asked.kernels || asked.collectives))
    throw UsageError("--confidence grades training runs; kernels and collectives have no grade");
  if ((asked.kernels || asked.collectives) && options.only != name_of(ValidateOnly::all))
    throw UsageError("--only is about training runs; it leaves --kernels and --collectives out");
  choose_records(options, asked, graded, request);
  if (const auto only = from_name<ValidateOnly>(options.only)) request.only = *only;
  request.sources = options.sources;
  request.confidence = options.confidence;
  return request;
}

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
  if (options.only == name_of(ValidateOnly::memory))
    throw UsageError("--scatter and --residuals show step times, --only memory leaves them out");
}

void write_pictures(const ValidateOptions& options, const Validation& validation) {
  if (options.scatter.empty() && options.residuals.empty()) return;
  if (!has_step_times(validation))
    throw UsageError("no step time could be compared: there is nothing to draw");
  if (!options.scatter.empty()) write_file(options.scatter, validation_scatter_svg(validation));
  if (!options.residuals.empty())
    write_file(options.residuals, validation_residuals_svg(validation));
}

/// Devices as if their relatives and datasheets were all that is known.
int run_hidden(const ValidateOptions& options, const Asked& asked) {
  if (asked.left_out || asked.memory || options.only != name_of(ValidateOnly::all) ||
      options.accuracy || options.peers || options.figures || options.markdown || options.skipped ||
      !options.scatter.empty() || !options.residuals.empty() || !options.sources.empty() ||
      !options.confidence.empty())
    throw UsageError(
        "--hide-device takes --runs, --vtrain, --kernels, --collectives, --measured, --json, --csv "
        "and --out beside it");
  std::vector<HiddenPair> pairs;
  for (const std::string& text : options.hidden) {
    const std::size_t equals = text.find('=');
    pairs.push_back(
        {text.substr(0, equals), equals == std::string::npos ? "" : text.substr(equals + 1)});
  }
  const auto errors = validate_hidden(request_of(options, asked), pairs);
  if (options.json) return deliver(hidden_json(errors), options.out);
  if (options.csv) return deliver(hidden_csv(errors), options.out);
  const TextStyle style = options.out.empty() ? output_style() : TextStyle{};
  return deliver(hidden_text(errors, style), options.out);
}

/// What --leave-out found when the profiles were fitted; nothing is computed.
int run_accuracy(const ValidateOptions& options, const ValidateRequest& request) {
  const auto lines = shipped_left_out(request.catalogs);
  if (!options.figure.empty()) write_file(options.figure, accuracy_svg(lines));
  if (options.csv) return deliver(left_out_csv(lines), options.out);
  const TextStyle style = options.out.empty() ? output_style() : TextStyle{};
  return deliver(accuracy_text(lines, {axes_of(options), options.sources}, style), options.out);
}

std::string validation_report(const ValidateOptions& options, const Validation& validation) {
  if (options.json) return validation_json(validation);
  if (options.csv) return validation_csv(validation);
  if (options.markdown) return validation_markdown(validation, options.skipped);
  const TextStyle style = options.out.empty() ? output_style() : TextStyle{};
  std::string text = validation_text(validation, options.skipped, style);
  if (options.figures) text += figure_orders_text(figure_orders(validation.records), style);
  return text;
}

/// Runs that one's own profiles were fitted to differ from them by what the fit left, each by its
/// own: what all have in common is known better than any of them, by the root of their number.
class CommonShift {
 public:
  void add(const RecordCheck& check) {
    sum_ += std::log(check.measured / check.predicted);
    below_ = std::hypot(below_, std::log(check.stack_low));
    above_ = std::hypot(above_, std::log(check.stack_high));
    ++count_;
  }
  /// Of the mean of ln(measured / forecast).
  [[nodiscard]] bool outside() const { return count_ > 1 && (sum_ > above_ || sum_ < -below_); }
  [[nodiscard]] std::string text() const {
    const double shift = std::exp(sum_ / count_) - 1.0;
    return fmt::format(
        "all {} runs together: {:.0f} % {} than their own profiles expect ({:+.0f} to {:+.0f} %)",
        count_, 100.0 * std::abs(shift), shift > 0.0 ? "slower" : "faster",
        100.0 * (std::exp(-below_ / count_) - 1.0), 100.0 * (std::exp(above_ / count_) - 1.0));
  }

 private:
  double sum_ = 0.0;
  double below_ = 0.0;
  double above_ = 0.0;
  int count_ = 0;
};

/// Steps that were measured outside of the band of their forecast, each told.
/// @param own they are priced by profiles of one's own
/// @return exit code
int check_steps(const Validation& validation, bool own) {
  int outside = 0;
  int compared = 0;
  CommonShift shift;
  for (const RecordCheck& check : validation.records) {
    if (check.skipped || check.quantity != step_quantity) continue;
    ++compared;
    shift.add(check);
    if (check.measured >= check.low && check.measured <= check.high) continue;
    ++outside;
    write_diagnostic(fmt::format(
        "{}: measured {:.4g} s, {} than the forecast expects: {:.4g} s ({:.4g} to {:.4g} s)",
        check.id, check.measured, check.measured > check.high ? "slower" : "faster",
        check.predicted, check.low, check.high));
  }
  if (compared == 0) throw UsageError("--check: no step time could be compared");
  if (own && shift.outside()) {
    ++outside;
    write_diagnostic(shift.text());
  }
  return outside > 0 ? int{exit_budget} : int{exit_ok};
}

int deliver_ablations(const ValidateOptions& options, const std::vector<RecordCheck>& records) {
  const auto checks = check_ablations(ablation_pairs(), records);
  if (options.json) return deliver(ablations_json(checks), options.out);
  const TextStyle style = options.out.empty() ? output_style() : TextStyle{};
  return deliver(ablations_text(checks, style), options.out);
}

/// Engines fitted without what is asked about.
int run_inference_left_out(const ValidateOptions& options, const InferenceRequest& request) {
  if (options.csv || options.skipped)
    throw UsageError("--inference --leave-out takes --json and --out");
  const auto left_out = validate_inference_left_out(request, engine_axes_of(options));
  if (Interruption::noted().load()) return Interruption::exit_code();
  if (options.json) {
    Validation all;
    for (const InferenceLeftOut& part : left_out)
      for (RecordCheck check : part.checks) {
        check.source = std::string(name_of(part.axis)) + "/" + check.source;
        all.records.push_back(std::move(check));
      }
    all.summary = summarize(all.records);
    return deliver(validation_json(all), options.out);
  }
  const TextStyle style = options.out.empty() ? output_style() : TextStyle{};
  return deliver(inference_left_out_text(left_out, style), options.out);
}

/// Inference runs have tables of their own: quantities and groups differ.
int run_inference(const ValidateOptions& options, const Asked& asked) {
  if (!asked.none() || options.check || options.markdown || options.figures || options.accuracy ||
      options.peers || !options.hidden.empty() || !options.scatter.empty() ||
      !options.residuals.empty() || !options.confidence.empty() || !options.measured.empty() ||
      options.only != name_of(ValidateOnly::all))
    throw UsageError(
        "--inference takes --source, --leave-out, --skipped, --json, --csv and --out beside it");
  const Interruption interruption;
  const InferenceRequest request{options.inference, own_roots(options.folders), options.sources,
                                 &Interruption::noted()};
  if (asked.left_out) return run_inference_left_out(options, request);
  const Validation validation = validate_inference(request);
  if (Interruption::noted().load()) return Interruption::exit_code();
  if (options.json) return deliver(validation_json(validation), options.out);
  if (options.csv) return deliver(validation_csv(validation), options.out);
  const TextStyle style = options.out.empty() ? output_style() : TextStyle{};
  return deliver(inference_text(validation, options.skipped, style), options.out);
}

int run_validate(const ValidateOptions& options, const Asked& asked) {
  if (asked.inference) return run_inference(options, asked);
  if (options.check && (!options.hidden.empty() || options.accuracy || asked.left_out ||
                        options.peers || options.only == name_of(ValidateOnly::memory)))
    throw UsageError("--check judges measured steps by their forecasts' bands, as --runs does");
  if (!options.hidden.empty()) return run_hidden(options, asked);
  if (options.accuracy) return run_accuracy(options, request_of(options, asked));
  if (asked.left_out) return run_left_out(options, request_of(options, asked));
  check_pictures(options);
  ValidateRequest request = request_of(options, asked);
  if (options.ablations) request.only = ValidateOnly::time;
  const Validation validation = validate(request);
  write_pictures(options, validation);
  if (options.peers) return deliver_peers(options, validation.records, false, request.catalogs);
  if (options.ablations) return deliver_ablations(options, validation.records);
  const int delivered = deliver(validation_report(options, validation), options.out);
  return options.check && delivered == exit_ok
             ? check_steps(validation, !options.folders.profiles.empty())
             : delivered;
}

void add_record_filters(CLI::App& app, ValidateOptions& options) {
  app.add_option("--only", options.only, "Compare time or memory alone")
      ->type_name("WHAT")
      ->check(CLI::IsMember(choices_of<ValidateOnly>()));
  app.add_option("--source", options.sources,
                 "Records of this family alone, as the tables call it (may be repeated)")
      ->type_name("NAME")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--confidence", options.confidence,
                 "Runs of this grade alone: A table or log with nearly full configuration, B some "
                 "of it missing, C inferred or read from a figure, D secondary (may be repeated)")
      ->type_name("GRADE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->check(CLI::IsMember(std::vector<std::string>{"A", "B", "C", "D"}));
}

void add_output_options(CLI::App& app, ValidateOptions& options) {
  auto* json = app.add_flag("--json", options.json, "Print every record and the summary as JSON");
  auto* csv = app.add_flag("--csv", options.csv, "Print one line per record")->excludes(json);
  app.add_flag("--markdown", options.markdown, "Print the tables as Markdown")
      ->excludes(json)
      ->excludes(csv);
  app.add_option("--scatter", options.scatter,
                 "Draw predicted against measured step times into FILE.svg")
      ->type_name("FILE.svg");
  app.add_option("--residuals", options.residuals,
                 "Draw the errors of step times by source into FILE.svg")
      ->type_name("FILE.svg");
  app.add_flag("--figures", options.figures,
               "Text: how well runs of one published figure or table are ordered");
  app.add_flag("--accuracy", options.accuracy,
               "Only the errors of sources left out of the fit, as the profiles ship with them")
      ->excludes("--json")
      ->excludes("--markdown")
      ->excludes("--figures");
  app.add_option("--figure", options.figure,
                 "With --accuracy: draw the errors by fold and kind of run into FILE.svg")
      ->type_name("FILE.svg")
      ->needs("--accuracy");
  app.add_flag("--peers", options.peers,
               "Only the comparison with other tools on the same published runs");
  app.add_flag("--ablations", options.ablations,
               "Only pairs of runs that differ in one choice (routing, dispatcher, overlap, "
               "recomputation): measured and forecast change")
      ->excludes("--csv")
      ->excludes("--markdown")
      ->excludes("--peers")
      ->excludes("--accuracy")
      ->excludes("--figures");
  app.add_flag("--check", options.check,
               "Fail (4) where a measured step is outside of its forecast's band: your own runs "
               "after a new release of your framework, with --runs and --profiles");
  app.add_flag("--skipped", options.skipped, "List the records that were left out, and why");
  add_report_output(app, options.out, {"--scatter", "--residuals", "--reliability", "--figure"});
}

constexpr const char* examples =
    "Examples:\n"
    "  foretrain validate                     every shipped record\n"
    "  foretrain validate --only time --source sc21 --csv\n"
    "  foretrain validate --only time --source sc21 --figures\n"
    "  foretrain validate --runs --skipped\n"
    "  foretrain validate --kernels --collectives\n"
    "  foretrain validate --only time --scatter steps.svg --residuals errors.svg\n"
    "  foretrain validate --confidence A --confidence B --markdown --out accuracy.md\n"
    "  foretrain validate --runs my-runs.yaml --json\n"
    "  foretrain validate --runs my-runs.yaml --profiles my --check\n"
    "  foretrain validate --accuracy --source all\n"
    "  foretrain validate --measured records\n"
    "  foretrain validate --inference runs.yaml --json\n"
    "  foretrain validate --leave-out source --leave-out device\n"
    "  foretrain validate --leave-out all --csv --out left_out.csv\n"
    "  foretrain validate --hide-device b200=h100-sxm5-80gb --hide-device gb300\n"
    "  foretrain validate --only time --peers\n"
    "  foretrain validate --ablations\n"
    "Exit codes: 0 ok, 2 bad usage or input, 4 --check found a step outside, 130 interrupted.";

}  // namespace

Command add_validate_command(CLI::App& program) {
  const auto options = std::make_shared<ValidateOptions>();
  CLI::App* app = program.add_subcommand(
      "validate", "Compare forecasts with measured steps, memory, kernels and collectives");
  const auto records = [&](const char* name, std::string& file, const char* what) {
    return app->add_option(name, file, what)->type_name("[FILE]")->expected(0, 1);
  };
  const auto* memory =
      records("--memory", options->memory,
              "Megatron-LM test memory, as megatron_ci_memory.json; without FILE the shipped one");
  const auto* runs = records("--runs", options->runs,
                             "Training runs, as runs.yaml: step time, memory and whether they fit; "
                             "without FILE the shipped ones");
  const auto* vtrain = app->add_option("--vtrain", options->vtrain,
                                       "Training iterations, as vtrain_single.csv and "
                                       "vtrain_multi.csv; without FILE the shipped ones")
                           ->type_name("[FILE...]")
                           ->expected(0, -1);
  app->add_option("--measured", options->measured,
                  "Folder of your own records under the names of calibration/measured, in place of "
                  "the shipped ones: what it has is compared")
      ->type_name("DIR");
  const auto* left_out = add_left_out_options(*app, *options);
  app->add_option("--hide-device", options->hidden,
                  "Forecast the kernels, collectives and steps of DEVICE from RELATIVE and its "
                  "datasheet alone, everything fitted without its records (may be repeated)")
      ->type_name("DEVICE[=RELATIVE]")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  const auto* kernels = records("--kernels", options->kernels,
                                "Kernels run alone, as kernels.csv; without FILE the shipped ones");
  const auto* collectives =
      records("--collectives", options->collectives,
              "Sweeps of collectives, as nccl_sweeps.csv; without FILE the shipped ones");
  const auto* inference =
      records("--inference", options->inference,
              "Inference runs, as inference_runs.yaml: tokens per second, times to first and to "
              "further tokens; without FILE the shipped ones");
  add_record_filters(*app, *options);
  add_output_options(*app, *options);
  add_folder_options(*app, options->folders);
  app->footer(examples);
  return {app, [options, memory, runs, vtrain, left_out, kernels, collectives, inference] {
            return run_validate(
                *options,
                {memory->count() > 0, runs->count() > 0, vtrain->count() > 0, left_out->count() > 0,
                 kernels->count() > 0, collectives->count() > 0, inference->count() > 0});
          }};
}

}  // namespace foretrain
