// SPDX-License-Identifier: Apache-2.0
#include "planner/own_runs/own_worth.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/cases/step_case.hpp"
#include "calibration/fit/leave_out.hpp"
#include "models/base/ranges.hpp"
#include "planner/evidence/internal/record_files.hpp"
#include "planner/evidence/internal/validate_report.hpp"
#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

constexpr const char* unread_runs = "public_runs.yaml";
constexpr long least_runs = 4;  // three to fit, one to forecast

/// Runs with a job: those that fits read, then those that none reads.
std::vector<StepRun> all_runs(const OwnWorthRequest& request, const RunCatalog& catalog) {
  std::vector<StepRun> runs;
  const auto add = [&](const std::vector<RunRecord>& records, bool read) {
    for (StepRun& run : step_runs(records, catalog)) {
      if (!run.job) continue;
      if (!read) run.fitted = FitScope::none;
      runs.push_back(std::move(run));
    }
  };
  add(shipped_records(request.catalogs), true);
  add(read_runs(record_file("", unread_runs, request.catalogs)), false);
  return runs;
}

bool is_asked(const Fold& fold, const OwnWorthRequest& request) {
  return !fold.part && std::ranges::count(fold.asked, true) >= least_runs &&
         (request.sources.empty() || contains(request.sources, fold.name));
}

/// Mean over sources of one column; sources with too few runs are left out of it.
struct Means {
  double before = 0.0;
  std::vector<double> after;
};

Means means_of(const std::vector<OwnDraws>& sources, std::size_t columns) {
  Means means{0.0, std::vector<double>(columns, 0.0)};
  for (const OwnDraws& line : sources)
    means.before += line.before / static_cast<double>(sources.size());
  for (std::size_t i = 0; i < columns; ++i) {
    int count = 0;
    for (const OwnDraws& line : sources)
      if (line.after[i] >= 0.0) means.after[i] += line.after[i], ++count;
    if (count > 0) means.after[i] /= count;
  }
  return means;
}

std::vector<AnswerCell> cells(const std::string& name, const std::string& runs, double before,
                              const std::vector<double>& after) {
  std::vector<AnswerCell> row{name, runs, short_percent(before)};
  for (const double error : after) row.emplace_back(error < 0.0 ? "-" : short_percent(error));
  return row;
}

AnswerTable table_of(const OwnWorth& worth, const std::vector<OwnDraws>& sources) {
  AnswerTable table{{words_column("source"), number_column("runs"), number_column("before")}};
  if (sources.empty()) return table;
  for (const int fitted : worth.fitted)
    table.columns.push_back(number_column(fmt::format("{} own", fitted)));
  for (const OwnDraws& line : sources)
    table.add(cells(line.source, std::to_string(line.runs), line.before, line.after));
  const Means means = means_of(sources, worth.fitted.size());
  table.add(cells("mean of sources", "", means.before, means.after));
  return table;
}

/// Means over sources that no fit reads, which are most like one's own.
AnswerHead worth_head(const OwnWorth& worth) {
  AnswerHead head;
  head.subject = "What runs of your own are worth";
  const bool unread = !worth.unread_sources.empty();
  const auto& sources = unread ? worth.unread_sources : worth.fitted_sources;
  head.words = "NOTHING COMPARED";
  head.sentence = "No source was finished.";
  if (sources.empty() || worth.fitted.empty()) return head;
  const Means means = means_of(sources, worth.fitted.size());
  head.figures.push_back({"before", short_percent(means.before) + " %"});
  for (std::size_t i = 0; i < worth.fitted.size() && i < 3; ++i)
    head.figures.push_back(
        {fmt::format("{} own", worth.fitted[i]), short_percent(means.after[i]) + " %"});
  const std::string after = short_percent(means.after.back()) + " %";
  head.words = fmt::format("{} WITH {} OWN", after, worth.fitted.back());
  head.sentence = fmt::format(
      "With {} runs of one's own fitted, the mean error of other runs of {} source{} {} goes from "
      "{} % to {}.",
      worth.fitted.back(), sources.size(), sources.size() == 1 ? "" : "s",
      unread ? "that no fit reads" : "left out of the fit", short_percent(means.before), after);
  head.next = "foretrain validate --accuracy --source all";
  return head;
}

}  // namespace

OwnWorth own_worth(const OwnWorthRequest& request) {
  RunCatalog catalog = load_run_catalog(request.catalogs);
  const NamedFitPlan plan = load_fit_plan("", request.catalogs, catalog);
  const std::vector<StepRun> runs = all_runs(request, catalog);
  std::vector<RunFacts> facts;
  for (const StepRun& run : runs) facts.push_back(facts_of(run, plan.plan, catalog));
  std::vector<Fold> folds;
  for (Fold& fold : folds_of(FoldAxis::source, facts))
    if (is_asked(fold, request)) folds.push_back(std::move(fold));
  if (folds.empty())
    throw UsageError(
        fmt::format("no source of that name has {} runs with a step time", least_runs));
  LeaveOutOptions options{request.cache, request.draws.stop, {}};
  if (request.progress)
    options.progress = [&](const Fold& fold, std::size_t done, std::size_t of) {
      request.progress(fold.name, done, of);
    };
  const auto fitted = constants_without(plan.plan, runs, folds, options);
  OwnWorth worth{request.draws.fitted, request.draws.draws, {}, {}, fitted.size() < folds.size()};
  for (const FoldConstants& fold : fitted) {
    OwnDraws drawn = draw_own(plan.plan, runs, fold, request.draws);
    if (request.draws.stop != nullptr && *request.draws.stop) {
      worth.stopped = true;
      break;
    }
    const auto first = std::ranges::find(fold.fold.asked, true);
    const bool read = facts[static_cast<std::size_t>(first - fold.fold.asked.begin())].fitted;
    (read ? worth.fitted_sources : worth.unread_sources).push_back(std::move(drawn));
  }
  return worth;
}

Answer own_worth_answer(const OwnWorth& worth) {
  Answer answer{worth_head(worth)};
  answer.add("Sources that no fit reads: mean absolute error of their other runs, percent",
             table_of(worth, worth.unread_sources));
  answer.add("Sources left out of the fit: mean absolute error of their other runs, percent",
             table_of(worth, worth.fitted_sources));
  answer.add("", AnswerLine{fmt::format(
                     "before: all runs of the source, by constants that have not seen it. N own: "
                     "after a fit to N of its runs; means of {} draws.",
                     worth.draws)});
  return answer;
}

std::string own_worth_json(const OwnWorth& worth) {
  Json tree{{"schema", "own-worth/1"}, {"draws", worth.draws}, {"fitted", worth.fitted}};
  tree["sources"] = Json::array();
  for (const auto* sources : {&worth.unread_sources, &worth.fitted_sources})
    for (const OwnDraws& line : *sources) {
      Json after = Json::array();
      for (const double error : line.after)
        after.push_back(error < 0.0 ? Json(nullptr) : Json(error));
      tree["sources"].push_back({{"source", line.source},
                                 {"runs", line.runs},
                                 {"read", sources == &worth.fitted_sources},
                                 {"before", line.before},
                                 {"after", std::move(after)}});
    }
  return dump(tree);
}

}  // namespace foretrain
