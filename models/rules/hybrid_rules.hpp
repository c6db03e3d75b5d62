// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Cuts of mixers over tensor ranks that their heads and groups do not allow (Megatron-Core,
/// `ssm/mamba_mixer.py`).
void check_mixers(const Job& job, std::vector<Infeasible>& reasons);

/// What is not modelled of hybrid layers with this plan, by key.
void refuse_hybrids(const Job& job, std::vector<Infeasible>& reasons);

}  // namespace foretrain
