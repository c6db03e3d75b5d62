// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/job.hpp"

namespace foretrain {

/// How many times the error that is a run's own (no constant of its cluster or framework explains
/// it) is that of a dense run whose step is passes alone: at least 1. Runs with exposed exchanges
/// of gradients, waits for launches, context ranks and expert ranks scatter more within one source,
/// so they tell less of the others (calibration/docs/own-runs.md, "How much a run tells").
/// @pre the job is legal and modelled
[[nodiscard]] double own_noise_factor(const Job& job);

}  // namespace foretrain
