// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "planner/post_training/post_training_study.hpp"
#include "planner/serving/internal/serving_words.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"

namespace foretrain {
std::string post_training_json(const PostTrainingReport& report) {
  const PostTrainingForecast& forecast = report.forecast;
  const bool runs = forecast.reasons.empty();
  Json tree{{"schema", "post-training/1"},
            {"foretrain_version", version},
            {"name", report.name},
            {"model", report.setup.policy.model.name},
            {"algorithm", name_of(report.setup.plan.algorithm)},
            {"feasible", runs},
            {"reasons", serving_words::reasons_tree(forecast.reasons)}};
  if (!runs) return dump(tree);
  put_figures(figures_of(post_training_figure_rows(), report, true), tree);
  tree["rollout"].update(serving_words::layout_tree(report.setup.rollout.layout));
  tree["rollout"]["engine"] = report.setup.rollout.engine.name;
  if (!report.cost) tree["cost"] = nullptr;
  tree["warnings"] = serving_words::warnings_tree(forecast.warnings);
  return dump(tree);
}

}  // namespace foretrain
