// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "calibration/fit/internal/fit_problem.hpp"
#include "calibration/fit/internal/robust_fit.hpp"
#include "calibration/fit/profile_fit.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

using Rows = std::vector<bool>;

/// Refits without some rows, starting from the fit of all.
class Refitter {
 public:
  Refitter(const FitPlan& plan, const std::vector<StepRun>& runs)
      : problem_{plan, runs},
        weights_{problem_.weights()},
        all_{robust_fit(problem_.with(weights_), problem_.priors(), {}).x} {}

  [[nodiscard]] const FitProblem& problem() const { return problem_; }

  /// Seconds of every row, fitted without those in `out`.
  std::vector<double> seconds_without(const Rows& out) {
    constexpr double step = 0.05;  // of deviations: a hundredth of what a forecast may be off by
    constexpr double close_by = 0.03;  // slopes hold that far
    VectorXd weights = weights_;
    const Rows near = problem_.connected(out);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i] || !near[i]) weights[static_cast<Index>(i)] = 0.0;
    const RobustProblem robust = problem_.with(weights, close_by);
    return problem_.seconds(robust_fit(robust, all_, {.step = step, .derivatives = 20}).x);
  }

 private:
  FitProblem problem_;
  VectorXd weights_;
  VectorXd all_;
};

std::string part_of(const FitPlan& plan, const RecordCheck& check) {
  bool divided = false;
  for (const SourcePart& part : plan.parts) {
    if (part.source != check.source) continue;
    divided = true;
    for (const std::string& text : part.contains)
      if (check.id.find(text) != std::string::npos) return part.name;
  }
  return divided ? "other" : "";
}

/// Of the rows of a problem with these runs, with the shipped profiles.
std::vector<const Job*> jobs_of(const std::vector<StepRun>& runs) {
  std::vector<const Job*> jobs;
  for (const StepRun& run : runs)
    if (run.job) jobs.push_back(&*run.job);
  return jobs;
}

/// The forecast with the band that a cluster gets which nobody measured, as wide in percent as with
/// the shipped profiles.
void set_forecast(RecordCheck& check, const Job& job, double predicted) {
  Job elsewhere = job;
  if (elsewhere.site.provenance.trust == Trust::measured)
    elsewhere.site.provenance.trust = Trust::interpolated;
  const StepForecast step = predict_step(elsewhere);
  check.predicted = predicted;
  check.low = predicted * (step.low / step.time);
  check.high = predicted * (step.high / step.time);
}

}  // namespace

LeaveOneOut leave_one_out(const FitPlan& plan, const std::vector<StepRun>& runs,
                          const std::vector<std::string>& only) {
  Refitter refitter(plan, runs);
  const FitProblem& problem = refitter.problem();
  std::map<std::string, Rows> sources;
  std::map<std::pair<std::string, std::string>, Rows> parts;
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    const RecordCheck& check = problem.check(row);
    const bool asked =
        only.empty() || std::find(only.begin(), only.end(), check.source) != only.end();
    if (!asked) continue;
    const auto mark = [&](Rows& rows) {
      rows.resize(problem.rows(), false);
      rows[row] = true;
    };
    mark(sources[check.source]);
    if (const std::string part = part_of(plan, check); !part.empty())
      mark(parts[{check.source, part}]);
  }
  std::vector<double> whole(problem.rows(), 0.0);
  std::vector<double> by_part(problem.rows(), 0.0);
  const auto predict_without = [&](const Rows& rows, std::vector<double>& seconds) {
    const std::vector<double> all = refitter.seconds_without(rows);
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (rows[row]) seconds[row] = all[row];
  };
  for (const auto& [source, rows] : sources) predict_without(rows, whole);
  for (const auto& [part, rows] : parts) predict_without(rows, by_part);
  const std::vector<const Job*> jobs = jobs_of(runs);
  FORETRAIN_REQUIRE(jobs.size() == problem.rows());
  LeaveOneOut result;
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    if (!(whole[row] > 0.0)) continue;
    RecordCheck check = problem.check(row);
    const std::string part = part_of(plan, check);
    set_forecast(check, *jobs[row], whole[row]);
    result.whole.push_back(check);
    if (!part.empty()) {
      set_forecast(check, *jobs[row], by_part[row]);
      check.source += " " + part;
    }
    result.parts.push_back(std::move(check));
  }
  return result;
}

}  // namespace foretrain
