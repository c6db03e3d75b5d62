// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Every rule that the plan of `job` breaks; empty for a legal plan. Divisibility, sizes and what
/// frameworks refuse. Each answer names the key, the numbers and the nearest legal values.
[[nodiscard]] std::vector<Infeasible> broken_rules(const Job& job);

/// Those of them that layout alone decides: machine, model, sequence, the sizes of all groups,
/// stages, chunks and the schedule. They come first in broken_rules(), so that a search asks once
/// for all micro-batches, ZeRO stages and ways to recompute.
[[nodiscard]] std::vector<Infeasible> broken_layout_rules(const Job& job);

/// What the job asks for that the step time of this version does not cover; the rule is
/// "not-modelled". Memory and FLOPs are still forecast for such jobs.
/// @pre broken_rules(job) is empty.
[[nodiscard]] std::vector<Infeasible> not_modelled(const Job& job);

}  // namespace foretrain
