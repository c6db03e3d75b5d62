// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Rules of fine-tuning that the job breaks.
[[nodiscard]] std::vector<Infeasible> broken_fine_tuning_rules(const Job& job);
/// What of its fine-tuning and its samples is not modelled.
[[nodiscard]] std::vector<Infeasible> fine_tuning_not_modelled(const Job& job);

}  // namespace foretrain
