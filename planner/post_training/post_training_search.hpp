// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/post_training/post_training_study.hpp"

namespace foretrain {

/// One way of dividing the scenario's GPUs between generation and training.
struct PostTrainingSplit {
  std::vector<std::string> settings;  ///< that `simulate --set` takes
  PostTrainingReport report;
};

struct PostTrainingSearch {
  std::string name;
  double asked_s = 0.0;                   ///< the step as the scenario says; 0: it cannot run
  std::vector<PostTrainingSplit> splits;  ///< that can run, the shortest step first
  int tried = 0;
  std::string refused;  ///< why the first that cannot run cannot
  bool stopped = false;
};

/// Tries colocated and separate placements on the scenario's hosts: of separate ones whole hosts
/// for generation, of a single host parts of it; replicas of every tensor size of a scale-up
/// domain; with generation one step ahead where `ahead` allows it, and with partial rollouts. The
/// trainer is cut as in the scenario and as is fastest beside each part: powers of two of tensor
/// ranks and stages, its data degree follows. What else the trainer has stays.
/// @pre as of study_post_training()
[[nodiscard]] PostTrainingSearch search_splits(const Scenario& scenario, bool ahead,
                                               const std::atomic<bool>* stop = nullptr);

/// The same on a machine of another size. @pre hosts >= 1 @throws ScenarioError
[[nodiscard]] PostTrainingSearch search_splits_on(const Scenario& scenario, int hosts,
                                                  const std::atomic<bool>* stop = nullptr);
/// Hosts of the scenario, those that generate and those that train.
[[nodiscard]] int whole_hosts(const Scenario& scenario);

/// Who generates and who trains: "8 + 16, one step ahead", "24 in turn".
[[nodiscard]] std::string division_text(const PostTrainingReport& report);

/// @param file as the user named it, with what the command line changed
[[nodiscard]] Answer post_training_plan_answer(const PostTrainingSearch& search,
                                               const std::string& file, int top);
/// Schema post-training-plan/1.
[[nodiscard]] std::string post_training_plan_json(const PostTrainingSearch& search, int top);

}  // namespace foretrain
