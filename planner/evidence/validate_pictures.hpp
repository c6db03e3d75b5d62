// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/evidence/validate.hpp"

namespace foretrain {

/// Whether there is a compared step time to draw.
[[nodiscard]] bool has_step_times(const Validation& validation);

/// Predicted against measured step time, both axes logarithmic: one mark per compared record in
/// shape and colour of its group, lines of equality and of 5 and 10 % error, a legend with the
/// runs and the median error of each group. A complete SVG 1.1 document on a light background.
/// @pre has_step_times(validation), and the summary is that of the records
[[nodiscard]] std::string validation_scatter_svg(const Validation& validation);

/// Errors of step times, a strip per source and group: one mark per compared record, and where
/// there are three or more the median and a box from the 10th to the 90th percentile. Errors
/// beyond the axis are arrowheads at its end.
/// @pre has_step_times(validation)
[[nodiscard]] std::string validation_residuals_svg(const Validation& validation);

}  // namespace foretrain
