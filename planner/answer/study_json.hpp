// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "planner/answer/study.hpp"
#include "planner/text/json.hpp"

namespace foretrain {

/// The numbers of a JSON, each at its path; null where unknown.
void put_figures(std::span<const StudyFigure> figures, Json& tree);

}  // namespace foretrain
