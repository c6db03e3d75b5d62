// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "calibration/diagnosis/expected_run.hpp"
#include "calibration/diagnosis/run_course.hpp"
#include "calibration/diagnosis/setting_difference.hpp"
#include "calibration/training_logs/training_log.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// What speaks for or against a cause.
struct Evidence {
  std::string what;
  double weight = 0.0;  ///< ln of how much likelier it is with the cause than as forecast
};

/// A cause with all that was found about it.
struct RankedCause {
  std::string id;
  std::string title;
  std::string setting;          ///< the degree that fits best; empty: it has none
  double likelihood = 0.0;      ///< of all causes together 1, if it is one alone
  double step = 0.0;            ///< forecast with it, seconds
  std::optional<double> share;  ///< of the way from forecast to measurement; absent: there is none
  std::vector<Evidence> evidence;  ///< the weightiest first
  std::string test;
};

/// From forecast to measurement: the first is the forecast, the last the measurement.
struct WaterfallLine {
  std::string label;
  double seconds = 0.0;
};

struct Diagnosis {
  RunCourse course;
  StepForecast forecast;
  ExpectedRun expected;
  bool in_band = false;             ///< the median step is between the 10th and the 90th percentile
  std::vector<RankedCause> causes;  ///< the likeliest first
  /// How many of the first cannot be told apart: each is at least a third as likely as the first.
  std::size_t tied = 1;
  std::vector<WaterfallLine> waterfall;
  std::vector<SettingDifference> differences;
  std::vector<std::string> missing;  ///< which logs would tell more

  [[nodiscard]] bool as_forecast() const;
};

/// Holds a run against its forecast. One cause at a time is assumed.
/// @pre log.step; broken_rules(job) and not_modelled(job) are empty.
[[nodiscard]] Diagnosis diagnose(const TrainingLog& log, const Job& job);

}  // namespace foretrain
