// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/left_out.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "calibration/cases/step_case.hpp"
#include "calibration/fit/leave_out.hpp"
#include "planner/evidence/internal/record_files.hpp"
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

}  // namespace foretrain
