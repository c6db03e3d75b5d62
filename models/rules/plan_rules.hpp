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
/// The others by what they look at besides the layout, in the order of broken_rules(): what is
/// recomputed; the micro-batch; the ZeRO stage. None looks at two of these.
[[nodiscard]] std::vector<Infeasible> broken_recompute_rules(const Job& job);
[[nodiscard]] std::vector<Infeasible> broken_batch_rules(const Job& job);
[[nodiscard]] std::vector<Infeasible> broken_shard_rules(const Job& job);

/// Of the layout's, those about images: a tower and tokens for them, room in the sequence, and
/// nothing trained of a tower without them.
[[nodiscard]] std::vector<Infeasible> broken_image_rules(const Job& job);
/// The rule of those that the length of a sequence decides.
inline constexpr std::string_view image_tokens_rule = "images-fit-sequence";

/// What the job asks for that the step time of this version does not cover; the rule is
/// "not-modelled". Memory and FLOPs are still forecast for such jobs. Neither the micro-batch nor
/// what is recomputed matters to it.
/// @pre broken_rules(job) is empty.
[[nodiscard]] std::vector<Infeasible> not_modelled(const Job& job);

/// Whether a forecast of `job` exists, asked by everything that offers or takes a plan: the rules
/// that it breaks, or what of a legal plan is not modelled. Empty: it is forecast, and runs where
/// its memory fits (judge_plan() of planner/forecast).
[[nodiscard]] std::vector<Infeasible> refusals(const Job& job);

}  // namespace foretrain
