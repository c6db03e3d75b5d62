// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/inputs/job.hpp"
#include "models/inputs/llm.hpp"
#include "models/post_training/post_training_plan.hpp"
#include "models/serving/serving_plan.hpp"

namespace foretrain {

/// A scenario about to be written. Of the job's machine and profiles only names and numbers that a
/// scenario holds are written: host, hosts, fabric, stack, site.
struct WrittenScenario {
  Job job;
  std::string model;                  ///< a catalog name or a path; empty: the shape is written out
  std::vector<std::string> comments;  ///< lines above the scenario
  std::optional<ServingPlan> serving{};
  std::optional<PostTrainingPlan> post_training{};
};

/// The scenario file of a draft: what is the default of its key is left out. `operations`,
/// `simulation` and `budget` are not written; the data degree follows from the machine.
/// load_scenario_text() reads back the same plan.
/// @pre what_scenarios_cannot_say(draft.job) is empty
[[nodiscard]] std::string scenario_text(const WrittenScenario& draft);

/// The parts of a job that no key of a scenario holds, in words; empty for those that can be
/// written.
[[nodiscard]] std::vector<std::string> what_scenarios_cannot_say(const Job& job);

/// The shape of a model with the keys of a model file, one `key: value` line each, without what the
/// format assumes anyway. Name, title, sources and published count are not in it.
[[nodiscard]] std::string model_shape_text(const LlmShape& shape);

/// Whether two shapes are alike and no number that both know differs.
[[nodiscard]] bool may_be_one_model(const LlmShape& a, const LlmShape& b);

}  // namespace foretrain
