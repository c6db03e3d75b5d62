// SPDX-License-Identifier: Apache-2.0
#include "planner/study/study_of.hpp"

#include "models/base/require.hpp"
#include "planner/post_training/post_training_study.hpp"
#include "planner/serving/serving_study.hpp"

namespace foretrain {
namespace {

Study post_training(const Scenario& scenario) {
  const PostTrainingReport report = study_post_training(scenario);
  const bool runs = report.forecast.reasons.empty();
  return {figures_of(post_training_values(), report, runs), report.forecast.reasons,
          post_training_answer(report), post_training_json(report)};
}

}  // namespace

Study study_of(const ServingReport& report) {
  const bool runs = report.ready.reasons.empty() && report.summary.requests > 0;
  return {figures_of(serving_values(), report, runs), report.ready.reasons, serving_answer(report),
          serving_json(report), report.stopped};
}

Study study_of(const Scenario& scenario, const std::atomic<bool>* stop) {
  FORETRAIN_REQUIRE(scenario.work != Work::training);
  if (scenario.work == Work::post_training) return post_training(scenario);
  return study_of(study_serving(scenario, stop));
}

std::vector<StudyFigure> study_figures(Work work) {
  FORETRAIN_REQUIRE(work != Work::training);
  return work == Work::serving ? figures_of(serving_values(), ServingReport{}, false)
                               : figures_of(post_training_values(), PostTrainingReport{}, false);
}

}  // namespace foretrain
