// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/training_logs/read_training_log.hpp"
#include "planner/answer/answer.hpp"
#include "planner/answer/verdict.hpp"
#include "planner/post_training/post_training_study.hpp"

namespace foretrain {

/// A part of a step, as logged and as forecast.
struct PartComparison {
  std::string name;
  std::string word;  ///< of the log
  double measured = 0.0;
  BandedTime forecast;
  std::string look;  ///< where to look when it takes longer; empty: nothing known

  [[nodiscard]] double ratio() const { return measured / forecast.time.value(); }
  [[nodiscard]] bool slower() const { return measured > forecast.high.value(); }
  [[nodiscard]] bool faster() const { return measured < forecast.low.value(); }
};

/// Is this step normal?
struct PostTrainingDiagnosis {
  PostTrainingReport report;
  std::vector<PartComparison> parts;  ///< the step first, where the log has it
  double unnamed = 0.0;               ///< seconds of the step that no part of the log has
  std::size_t steps = 0;              ///< that the log times
  double logged_answer = 0.0;         ///< tokens of an answer by the log, mean; 0: it does not say

  /// The log speaks of other answers than the scenario.
  [[nodiscard]] bool lengths_differ() const {
    constexpr double close = 1.25;
    const double ratio = logged_answer / report.setup.plan.answer.mean;
    return logged_answer > 0.0 && (ratio > close || ratio < 1.0 / close);
  }
};

/// @pre report.forecast.reasons is empty
/// @throws UsageError where the log times no part of a step of post-training
[[nodiscard]] PostTrainingDiagnosis diagnose_post_training(const PostTrainingReport& report,
                                                           const std::vector<LoggedSeries>& log);

[[nodiscard]] Answer post_training_diagnosis_answer(const PostTrainingDiagnosis& diagnosis);
/// Schema post-training-diagnosis/1.
[[nodiscard]] std::string post_training_diagnosis_json(const PostTrainingDiagnosis& diagnosis);

}  // namespace foretrain
