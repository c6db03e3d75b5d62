// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

#include "models/post_training/post_training_step.hpp"
#include "planner/answer/answer.hpp"
#include "planner/answer/study.hpp"
#include "planner/serving/serving_deployment.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// What a step of post-training costs, where the scenario has a price.
struct PostTrainingCost {
  double per_step = 0.0;              ///< dollars
  double per_thousand_samples = 0.0;  ///< answers that are trained on
};

/// One step of post-training.
struct PostTrainingReport {
  std::string name;
  std::string machine;  ///< title of the host
  PostTrainingSetup setup;
  PostTrainingForecast forecast;
  std::optional<PostTrainingCost> cost;
};

/// The engine that generates, made ready for the step's prompts and answers.
/// @pre as of study_post_training()
[[nodiscard]] ReadyServing ready_rollout(const Scenario& scenario);

/// @pre scenario.post_training, scenario.serving and scenario.engine
[[nodiscard]] PostTrainingReport study_post_training(const Scenario& scenario);

/// The numbers of a step, a row each.
[[nodiscard]] const ValueTable<PostTrainingReport>& post_training_values();
[[nodiscard]] Answer post_training_answer(const PostTrainingReport& report);
/// Schema post-training/1.
[[nodiscard]] std::string post_training_json(const PostTrainingReport& report);
[[nodiscard]] const ValueRows& post_training_document();

}  // namespace foretrain
