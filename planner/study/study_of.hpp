// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <vector>

#include "planner/answer/study.hpp"
#include "planner/serving/serving_study.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// The forecast of a scenario that serves or post-trains. @pre scenario.work is not training
/// @throws TooLarge
[[nodiscard]] Study study_of(const Scenario& scenario, const std::atomic<bool>* stop = nullptr);

/// Of a deployment that was simulated.
[[nodiscard]] Study study_of(const ServingReport& report);

/// The numbers that such a forecast has, in the order of its JSON. @pre work is not training
[[nodiscard]] std::vector<StudyFigure> study_figures(Work work);

}  // namespace foretrain
