// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/evidence/validate.hpp"
#include "planner/scene/scene.hpp"

namespace foretrain {

/// Whether there is a compared step time to draw.
[[nodiscard]] bool has_step_times(const Validation& validation);

/// Predicted against measured step time, both axes logarithmic: one mark per compared record in
/// shape and colour of its group, lines of equality and of 5 and 10 % error, beside it the runs and
/// the median error of each group. @param line empty: shares within 5, 10 and 20 %
/// @pre has_step_times(validation)
[[nodiscard]] Scene scatter_chart(const Validation& validation, const SceneSpace& space,
                                  SceneHeadline line = {});

/// Errors of step times, a strip per source and group: one mark per compared record, and where
/// there are three or more the median and a box from the 10th to the 90th percentile. As high as
/// its strips are. @pre has_step_times(validation)
[[nodiscard]] Scene residuals_chart(const Validation& validation, const SceneSpace& space);

}  // namespace foretrain
