// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/diagnosis/expected_run.hpp"
#include "calibration/diagnosis/run_course.hpp"
#include "calibration/diagnosis/sign.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// One way in which a cause may show, forecast.
struct Variation {
  std::string setting;  ///< "clock at 0.8 of its rate"; empty: the cause has no degree
  ExpectedRun run;
};

/// What hypotheses are made from.
struct DiagnosisCase {
  const Job& job;
  const ExpectedRun& expected;
};

/// How often runs with the cause show a sign; other signs come as often as without any cause.
struct SignRate {
  Sign sign;
  double rate;
};

/// A cause that makes a run another than its forecast: what the forecast is with it, and what else
/// shows it. A new one is an entry in a file of this room, a line in hypothesis_registry() and a
/// test.
struct Hypothesis {
  std::string_view id;     ///< "slow-clock"
  std::string_view title;  ///< "GPUs run below their clock"
  double prior;            ///< share of runs that have it; those of steps add up to 1
  /// Empty: it cannot be in this job.
  std::vector<Variation> (*variations)(const DiagnosisCase& of);
  std::span<const SignRate> signs;
  std::string_view test;  ///< which log or counter tells it from others
  /// Seconds of a run that it costs beside the level of steps; null: it is a cause of that level.
  double (*interrupts)(const RunCourse& course) = nullptr;
};

/// All of them; the first is that the run is as forecast, the last that nothing here explains it.
[[nodiscard]] const std::vector<Hypothesis>& hypothesis_registry();

inline constexpr std::string_view as_forecast_id = "as-forecast";
inline constexpr std::string_view unexplained_id = "unexplained";

/// The forecast of a job that differs from the case's, where it is one that can be priced.
[[nodiscard]] std::vector<Variation> variation_of(const Job& job, std::string setting);

}  // namespace foretrain
