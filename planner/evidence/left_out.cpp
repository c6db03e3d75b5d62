// SPDX-License-Identifier: Apache-2.0

#include "planner/evidence/left_out.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "calibration/cases/step_case.hpp"
#include "calibration/fit/leave_out.hpp"
#include "planner/evidence/internal/record_files.hpp"
#include "planner/evidence/internal/validate_report.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

/// Whether a fold, or the source that it is a part of, is asked for by name.
bool fold_is_asked(const Fold& fold, const std::vector<std::string>& names) {
  return names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
           return fold.name == name || (fold.part && fold.name.starts_with(name + " "));
         });
}

std::vector<Fold> asked_folds(const LeftOutRequest& request, const std::vector<RunFacts>& facts) {
  std::vector<Fold> folds;
  for (const FoldAxis axis : request.axes)
    for (Fold& fold : folds_of(axis, facts))
      if (fold_is_asked(fold, request.records.sources)) folds.push_back(std::move(fold));
  if (folds.empty()) throw UsageError("there is no step time of the sources asked for");
  return folds;
}

/// Every record of whole folds, those of a divided source without their part only.
std::vector<RecordCheck> by_parts(const std::vector<FoldForecast>& folds) {
  std::map<std::string, const RecordCheck*> parts;
  for (const FoldForecast& forecast : folds)
    if (forecast.fold.part)
      for (const RecordCheck& check : forecast.checks) parts[check.id] = &check;
  std::vector<RecordCheck> checks;
  for (const FoldForecast& forecast : folds)
    if (!forecast.fold.part)
      for (const RecordCheck& check : forecast.checks) {
        const auto part = parts.find(check.id);
        checks.push_back(part == parts.end() ? check : *part->second);
      }
  return checks;
}

/// One axis of what was left out; `fitted` are the checks of the folds' rows by shipped profiles.
LeftOutValidation axis_of(FoldAxis axis, const std::vector<FoldForecast>& folds,
                          const std::vector<const RecordCheck*>& fitted) {
  LeftOutValidation validation{axis};
  for (const FoldForecast& forecast : folds) {
    if (forecast.fold.part) continue;
    validation.records.insert(validation.records.end(), forecast.checks.begin(),
                              forecast.checks.end());
    validation.cases.insert(validation.cases.end(), forecast.cases.begin(), forecast.cases.end());
    for (std::size_t row = 0; row < fitted.size(); ++row) {
      if (!forecast.fold.asked[row]) continue;
      validation.fitted_records.push_back(*fitted[row]);
      validation.fitted_records.back().source = forecast.fold.name;
    }
  }
  validation.folds = summarize(validation.records);
  validation.fitted = summarize(validation.fitted_records);
  if (axis == FoldAxis::source) validation.parts = summarize(by_parts(folds));
  return validation;
}

}  // namespace

LeftOut validate_left_out(const LeftOutRequest& request) {
  RunCatalog catalog = load_run_catalog(request.records.catalogs);
  const NamedFitPlan plan = load_fit_plan("", request.records.catalogs, catalog);
  std::vector<StepRun> runs = step_runs(asked_runs(request.records), catalog);
  std::vector<RunFacts> facts;
  std::vector<const RecordCheck*> fitted;
  for (StepRun& run : runs) {
    if (!run.job) continue;
    predict(run);
    facts.push_back(facts_of(run, plan.plan, catalog));
    fitted.push_back(&run.check);
  }
  const std::vector<Fold> folds = asked_folds(request, facts);
  LeaveOutOptions options{request.cache, request.stop, {}};
  if (request.progress)
    options.progress = [&](const Fold& fold, std::size_t done, std::size_t of) {
      request.progress(fold.name, done, of);
    };
  LeaveOut forecasts = leave_out(plan.plan, runs, facts, folds, options);
  LeftOut left_out{plan.name, {}, forecasts.folds.size(), folds.size(), forecasts.stopped};
  left_out.reach = reach_without(facts, {});
  for (const StepRun& run : runs)
    if (run.job) left_out.bands = run.job->stack.bands;
  for (const FoldAxis axis : request.axes) {
    std::vector<FoldForecast> own;
    for (FoldForecast& forecast : forecasts.folds)
      if (forecast.fold.axis == axis) own.push_back(std::move(forecast));
    if (!own.empty()) left_out.axes.push_back(axis_of(axis, own, fitted));
  }
  return left_out;
}

namespace {

using Cells = std::vector<AnswerCell>;

constexpr const char* columns_note =
    "First MAPE and median: with the shipped profiles. Then, with profiles fitted without the "
    "fold: bias, MAPE, median and 90th percentile. Where a fold holds all runs of a framework, "
    "nothing is left to fit its stack on, and the stack is its prior.";
constexpr const char* parts_note =
    "Parts are other machines or models of one source; in these totals they are left out one by "
    "one in place of their whole source.";

const CheckSummary* find(const std::vector<CheckSummary>& lines, const CheckSummary& like) {
  for (const CheckSummary& line : lines)
    if (line.source == like.source && line.group == like.group) return &line;
  return nullptr;
}

/// Name, runs, errors with the profiles fitted on all, and without the source.
Cells row(const CheckSummary* fitted, const CheckSummary& line) {
  Cells cells{source_label(line.source, line.group), std::to_string(line.count),
              fitted != nullptr ? short_percent(fitted->mape) : "",
              fitted != nullptr ? short_percent(fitted->median) : ""};
  add_errors(line, cells);
  return cells;
}

/// One row per line; parts of sources are told apart by the blank in their name.
AnswerTable folds_table(const std::vector<CheckSummary>& lines, const LeftOutValidation& validation,
                        bool only_parts) {
  AnswerTable table{{words_column("fold"), number_column("runs"), number_column("MAPE"),
                     number_column("median")}};
  add_error_columns(table.columns);
  std::string last;
  for (const CheckSummary& line : lines)
    if (!only_parts || line.source == "all" || line.source.find(' ') != std::string::npos)
      add_fold_row(row(find(validation.fitted, line), line), last, table);
  return table;
}

bool has_parts(const LeftOutValidation& validation) {
  return !validation.parts.empty() && validation.parts.size() != validation.folds.size();
}

/// How many of the measurements the bands held though the profiles had not seen their source.
std::string band_note(const LeftOutValidation& validation) {
  double held = 0.0;
  int runs = 0;
  for (const CheckSummary& line : validation.folds) {
    if (line.source == "all") continue;
    held += line.covered * line.count;
    runs += line.count;
  }
  if (runs == 0) return "";
  return fmt::format(" The shipped bands covered {:.0f} % of them.", 100.0 * held / runs);
}

Json left_out_lines(const std::vector<CheckSummary>& lines) {
  Json list = Json::array();
  for (const CheckSummary& line : lines) {
    list.push_back(summary_json(line));
    list.back()["worst"] = line.worst;
    list.back()["worst_id"] = line.worst_id;
  }
  return list;
}

std::string stopped_note(const LeftOut& left_out) {
  if (!left_out.stopped) return "";
  return fmt::format(
      "Stopped after {} of {} folds: totals are of those. The same command goes on from there.",
      left_out.done, left_out.asked);
}

Json axis_json(const LeftOutValidation& axis) {
  Json records = Json::array();
  for (const RecordCheck& check : axis.records)
    records.push_back({{"id", check.id},
                       {"fold", check.source},
                       {"group", check.group},
                       {"measured", check.measured},
                       {"predicted", check.predicted},
                       {"low", check.low},
                       {"high", check.high},
                       {"error", check.error()}});
  return {{"axis", name_of(axis.axis)},
          {"records", std::move(records)},
          {"folds", left_out_lines(axis.folds)},
          {"parts", left_out_lines(axis.parts)},
          {"fitted", left_out_lines(axis.fitted)}};
}

AnswerHead left_out_head(const LeftOut& left_out) {
  AnswerHead head;
  head.subject = "Errors of runs left out of the fit";
  for (const LeftOutValidation& axis : left_out.axes)
    for (const CheckSummary& line : axis.folds) {
      if (line.source != "all" || !line.group.empty() || head.figures.size() == 4) continue;
      head.figures.push_back({told(axis.axis), short_percent(line.median) + " %",
                              "P90 " + short_percent(line.p90) + " %",
                              std::to_string(line.count) + " runs"});
      if (head.figures.size() == 1)
        head.sentence =
            fmt::format("Step times of {} are {} % off in the median, {} % in the mean.",
                        told(axis.axis), short_percent(line.median), short_percent(line.mape));
    }
  head.words =
      head.figures.empty() ? "NOTHING COMPARED" : "MEDIAN ERROR " + head.figures.front().value;
  if (head.sentence.empty()) head.sentence = "No fold was finished.";
  return head;
}

}  // namespace

Answer left_out_answer(const LeftOut& left_out) {
  Answer answer{left_out_head(left_out)};
  for (const LeftOutValidation& axis : left_out.axes) {
    answer.add(
        {std::string("Step time of ") + told(axis.axis) + ", percent",
         {folds_table(axis.folds, axis, false), AnswerLine{columns_note + band_note(axis)}}});
    if (has_parts(axis))
      answer.add(
          {"The same by parts", {folds_table(axis.parts, axis, true), AnswerLine{parts_note}}});
  }
  answer.add("", AnswerLine{stopped_note(left_out)});
  return answer;
}

std::string left_out_json(const LeftOut& left_out) {
  Json axes = Json::array();
  for (const LeftOutValidation& axis : left_out.axes) axes.push_back(axis_json(axis));
  return dump({{"plan", left_out.plan}, {"stopped", left_out.stopped}, {"axes", std::move(axes)}});
}

}  // namespace foretrain
