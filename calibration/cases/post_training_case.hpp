// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/records/inference_record.hpp"
#include "calibration/records/run_catalog.hpp"
#include "models/post_training/post_training_step.hpp"

namespace foretrain {

/// A record of post-training as a step.
struct PostTrainingCase {
  PostTrainingSetup setup;
  PostTrainingForecast forecast;
  std::vector<std::string> assumptions;  ///< what the record does not say

  /// As the loop's clocks count it: with new weights where it puts them in as it generates.
  [[nodiscard]] BandedTime generation() const;
};

/// The case, or why the record makes none.
struct PostTrainingQuestion {
  std::optional<PostTrainingCase> asked;
  std::string why;
};

/// Trainers recompute everything where the step does not fit otherwise.
/// @pre record.rl
[[nodiscard]] PostTrainingQuestion post_training_case(const InferenceRecord& record,
                                                      const RunCatalog& catalog);

}  // namespace foretrain
