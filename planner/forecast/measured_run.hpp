// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"
#include "planner/answer/answer.hpp"
#include "planner/answer/value_rows.hpp"
#include "planner/forecast/report.hpp"

namespace foretrain {

/// A measurement of the run that a scenario describes, and what is forecast of it.
struct MeasuredLine {
  std::string_view key;  ///< "step_time" of the section `measured`
  std::string_view label;
  Measure measure = Measure::count;
  double measured = 0.0;
  std::optional<double> forecast;  ///< nothing: it is unknown

  /// Forecast over measured, less one; nothing where the forecast is unknown.
  [[nodiscard]] std::optional<double> difference() const;
};

/// Those that the scenario states.
[[nodiscard]] std::vector<MeasuredLine> measured_lines(const Job& job, const Prediction& p);
[[nodiscard]] const ValueTable<MeasuredLine>& measured_line_values();
/// Without lines where nothing was measured.
[[nodiscard]] AnswerSection measured_section(const Report& report);

}  // namespace foretrain
