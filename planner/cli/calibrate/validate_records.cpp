// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <utility>

#include "calibration/fit/fold.hpp"
#include "planner/cli/calibrate/validate_options.hpp"
#include "planner/cli/interruption.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/evidence/accuracy.hpp"
#include "planner/evidence/studies.hpp"
#include "planner/scene/scene.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/fields/field_table.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

/// Records of one kind: of the user's file; else of the folder of --measured, which must have them
/// where they are asked for by name; else those that ship (an empty path). Nothing: none are read.
std::optional<fs::path> records_of(const AskedFile& asked, const char* name, bool all,
                                   const ValidateOptions& options) {
  if (!asked && !all) return std::nullopt;
  if (!asked.value_or("").empty() || options.measured.empty()) return asked.value_or("");
  const fs::path own = fs::path(options.measured) / name;
  if (fs::is_regular_file(own)) return own;
  if (asked) throw UsageError("--measured " + in_quotes(options.measured) + " has no " + name);
  return std::nullopt;
}

std::optional<std::vector<fs::path>> vtrain_of(const ValidateOptions& options, bool all) {
  const bool asked = options.vtrain.has_value();
  if (!asked && !all) return std::nullopt;
  std::vector<fs::path> files;
  if (asked) files.assign(options.vtrain->begin(), options.vtrain->end());
  if (!files.empty() || options.measured.empty()) return files;
  for (const char* name : {"vtrain_single.csv", "vtrain_multi.csv"})
    if (const fs::path own = fs::path(options.measured) / name; fs::is_regular_file(own))
      files.push_back(own);
  if (!files.empty()) return files;
  if (asked) throw UsageError("--measured " + in_quotes(options.measured) + " has no vtrain table");
  return std::nullopt;
}

void refuse_ungraded(const ValidateOptions& options) {
  const bool alone = options.kernels || options.collectives;
  if (!options.confidence.empty() && options.memory)
    throw UsageError("--confidence grades training runs; the records of --memory have no grade");
  if (!options.confidence.empty() && alone)
    throw UsageError("--confidence grades training runs; kernels and collectives have no grade");
  if (alone && options.one_kind())
    throw UsageError("--only is about training runs; it leaves --kernels and --collectives out");
}

}  // namespace

bool ValidateOptions::names_records() const {
  return memory || runs || kernels || collectives || vtrain;
}

bool ValidateOptions::only_shipped() const {
  return measured.empty() && memory.value_or("").empty() && runs.value_or("").empty() &&
         kernels.value_or("").empty() && collectives.value_or("").empty() &&
         (!vtrain || vtrain->empty());
}

ValidateRequest request_of(const ValidateOptions& options) {
  refuse_ungraded(options);
  if (!options.measured.empty() && !fs::is_directory(options.measured))
    throw UsageError("--measured " + in_quotes(options.measured) +
                     " is not a folder; --runs, --memory, --vtrain, --kernels and --collectives "
                     "take files");
  ValidateRequest request;
  request.catalogs = own_roots(options.folders);
  const bool all = !options.names_records();
  const bool ungraded = all && options.confidence.empty();  // kinds without grades
  request.memory = records_of(options.memory, "megatron_ci_memory.json", ungraded, options);
  request.runs = records_of(options.runs, "runs.yaml", all, options);
  request.vtrain = vtrain_of(options, all);
  request.kernels = records_of(options.kernels, "kernels.csv", ungraded, options);
  request.collectives = records_of(options.collectives, "nccl_sweeps.csv", ungraded, options);
  if (!request.memory && !request.runs && !request.vtrain && !request.kernels &&
      !request.collectives)
    throw UsageError("--measured " + in_quotes(options.measured) +
                     " has none of runs.yaml, megatron_ci_memory.json, vtrain_single.csv, "
                     "vtrain_multi.csv, kernels.csv and nccl_sweeps.csv");
  request.only = options.only;
  request.sources = options.sources;
  request.confidence = options.confidence;
  return request;
}

void add_record_options(CommandRow& command, ValidateOptions& options) {
  const auto records = [&](const char* name, AskedFile& asked, const char* what) {
    command.option(name, asked, "[FILE]", what, {.values = {{0, 1}}});
  };
  records("--memory", options.memory,
          "Megatron-LM test memory, as megatron_ci_memory.json; without FILE the shipped one");
  records("--runs", options.runs,
          "Training runs, as runs.yaml: step time, memory and whether they fit; without FILE the "
          "shipped ones");
  command.option("--vtrain", options.vtrain, "[FILE...]",
                 "Training iterations, as vtrain_single.csv and "
                 "vtrain_multi.csv; without FILE the shipped ones",
                 {.values = {{0, -1}}});
  command.option("--measured", options.measured, "DIR",
                 "Folder of your own records under the names of calibration/measured, in place of "
                 "the shipped ones: what it has is compared");
  records("--kernels", options.kernels,
          "Kernels run alone, as kernels.csv; without FILE the shipped ones");
  records("--collectives", options.collectives,
          "Sweeps of collectives, as nccl_sweeps.csv; without FILE the shipped ones");
  records("--inference", options.inference,
          "Inference runs, as inference_runs.yaml: tokens per second, times to first and to "
          "further tokens; without FILE the shipped ones");
  command.option("--only", options.only, "WHAT", "Compare time or memory alone");
  command.option("--source", options.sources, "NAME",
                 "Records of this family alone, as the tables call it (may be repeated)",
                 {.repeated = true});
  command.option("--confidence", options.confidence, "GRADE",
                 "Runs of this grade alone: A table or log with nearly full configuration, B some "
                 "of it missing, C inferred or read from a figure, D secondary (may be repeated)",
                 {.repeated = true, .legal = {"A", "B", "C", "D"}});
}

namespace {

namespace fs = std::filesystem;

constexpr const char* every_axis = "all";
constexpr const char* next_left_out = "foretrain validate --accuracy --source all";

/// The axes that --leave-out names. @throws UsageError where it names one of other records
template <class Axis>
std::vector<Axis> asked_axes(const ValidateOptions& options, const char* records) {
  const auto& named = options.left_out;
  for (const std::string& name : named)
    if (name != every_axis && !from_name<Axis>(name))
      throw UsageError("--leave-out " + in_quotes(name) + " is no axis of " + records +
                       "; choose " + fmt::format("{}", fmt::join(choices_of<Axis>(), ", ")) +
                       " or " + every_axis);
  std::vector<Axis> axes;
  for (const auto& [axis, name] : EnumNames<Axis>::names)
    for (const std::string& one : named)
      if (one == name || one == every_axis) {
        axes.push_back(axis);
        break;
      }
  return axes;
}

LeftOutRequest left_out_request(const ValidateOptions& options, ValidateRequest records) {
  LeftOutRequest request;
  request.records = std::move(records);
  request.axes = axes_of(options);
  request.cache = options.cache.empty() ? usual_fold_cache() : fs::path(options.cache);
  request.stop = &Interruption::noted();
  if (error_is_terminal())
    request.progress = [](const std::string& fold, std::size_t done, std::size_t of) {
      std::cerr << fmt::format("\r\033[Kfold {} of {}: without {}{}", done + 1, of, fold,
                               done + 1 == of ? "\n" : "")
                << std::flush;
    };
  return request;
}

/// What bands need, of the forecasts left out, in place of their errors.
int deliver_bands(const ValidateOptions& options, const LeftOut& left_out) {
  if (options.output.json || options.peers)
    throw UsageError("--bands prints no --json; --band-table and --reliability write files");
  if (left_out.axes.empty()) throw UsageError("no fold was finished: there is nothing to fit");
  const BandReport report = band_report(left_out);
  if (!options.band_table.empty())
    write_file(options.band_table, band_report_yaml(report), FileUse::rewrite);
  if (!options.reliability.empty())
    write_file(options.reliability,
               scene_svg(reliability_chart(report, picture_space({}, 540.0, 580.0))));
  return deliver_evidence(options, {"bands", {}, [&] { return band_cases_csv(left_out); }},
                          band_answer(report), next_left_out);
}

int deliver_left_out(const ValidateOptions& options, const LeftOut& left_out) {
  return deliver_evidence(options,
                          {"runs left out of the fit", [&] { return left_out_json(left_out); },
                           [&] { return left_out_csv(left_out_errors(left_out)); }},
                          left_out_answer(left_out), next_left_out);
}

}  // namespace

std::vector<FoldAxis> axes_of(const ValidateOptions& options) {
  return asked_axes<FoldAxis>(options, "training runs");
}

std::vector<EngineAxis> engine_axes_of(const ValidateOptions& options) {
  return asked_axes<EngineAxis>(options, "engines");
}

int deliver_peers(const ValidateOptions& options, const std::vector<RecordCheck>& records,
                  bool left_out, const std::vector<std::filesystem::path>& catalogs) {
  if (options.output.csv || options.skipped || options.figures)
    throw UsageError("--peers takes no --csv, --skipped or --figures");
  const auto lines = compare_with_peers(records, catalogs);
  return deliver_evidence(options, {"other tools", [&] { return peers_json(lines, left_out); }},
                          peers_answer(lines, left_out), next_left_out);
}

int run_left_out(const ValidateOptions& options, ValidateRequest records) {
  if (options.only == ValidateOnly::memory)
    throw UsageError("--leave-out refits step times, --only memory leaves them out");
  if (options.skipped || options.draws())
    throw UsageError("--leave-out takes no --skipped, --scatter or --residuals");
  const auto catalogs = records.catalogs;
  const LeftOutRequest request = left_out_request(options, std::move(records));
  if (options.peers && request.axes != std::vector{FoldAxis::source})
    throw UsageError("--peers compares sources: --leave-out source");
  const Interruption interruption;
  const LeftOut left_out = validate_left_out(request);
  for (const std::string& file : {options.output.out, options.band_table, options.reliability})
    if (left_out.stopped && !file.empty())
      throw UsageError(fmt::format(
          "stopped after {} of {} folds: {} is not written; the same command goes on from there",
          left_out.done, left_out.asked, file));
  if (options.peers && !left_out.stopped)
    return deliver_peers(options, left_out.axes.front().records, true, catalogs);
  const int delivered =
      options.bands ? deliver_bands(options, left_out) : deliver_left_out(options, left_out);
  return left_out.stopped ? Interruption::exit_code() : delivered;
}

void add_left_out_options(CommandRow& command, ValidateOptions& options) {
  std::vector<std::string> axes = choices_of<FoldAxis>();
  axes.emplace_back(every_axis);
  for (const EngineAxis axis : {EngineAxis::engine, EngineAxis::load})
    axes.emplace_back(name_of(axis));
  command.option("--leave-out", options.left_out, "AXIS",
                 "Refit the profiles without each source, without each device of a stack, "
                 "without what is larger than most people can measure, without a year and "
                 "later ones, or without each schedule (with --inference: the engines without "
                 "each source, device, engine or load), and show how far off the step times "
                 "left out then are (may be repeated; --source names folds). Folds are kept "
                 "in --cache: killed or interrupted, it goes on from there",
                 {.repeated = true, .legal = axes});
  command.option("--cache", options.cache, "DIR",
                 "Folder that --leave-out keeps its folds in (by default foretrain/folds of "
                 "$XDG_CACHE_HOME, else of ~/.cache); a change of records, plan or equations "
                 "fits them anew",
                 {.needs = {"--leave-out"}});
  command.flag("--bands", options.bands,
               "With --leave-out: widths of bands by what is not known of a plan, fitted on the "
               "forecasts left out, and what bands then hold; --csv: every forecast and what its "
               "band did not know",
               {.needs = {"--leave-out"}});
  command.option("--band-table", options.band_table, "FILE",
                 "With --bands: write the widths to FILE, as calibration/fits/bands.yaml",
                 {.needs = {"--bands"}});
  command.option("--reliability", options.reliability, "FILE.svg",
                 "With --bands: draw nominal against observed coverage into FILE.svg",
                 {.needs = {"--bands"}, .writes = FileUse::report});
}

}  // namespace foretrain
