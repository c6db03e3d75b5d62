// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "models/base/names.hpp"

namespace foretrain {

/// By what the ranks of a job differ. Named as in Megatron-Core's rank orders.
enum class RankAxis : std::uint8_t { tensor, context, expert, data, pipeline };
FORETRAIN_ENUM_NAMES(RankAxis, {RankAxis::tensor, "tp"}, {RankAxis::context, "cp"},
                     {RankAxis::expert, "ep"}, {RankAxis::data, "dp"}, {RankAxis::pipeline, "pp"});

/// How ranks are numbered: the axis in which neighbours differ comes first.
using RankOrder = std::array<RankAxis, 5>;

/// Megatron-Core unless told otherwise, Megatron-DeepSpeed, torchtitan, and nanotron without
/// experts.
inline constexpr RankOrder data_in_stage{RankAxis::tensor, RankAxis::context, RankAxis::expert,
                                         RankAxis::data, RankAxis::pipeline};
/// Megatron-Core with --use-tp-pp-dp-mapping, nanotron with experts.
inline constexpr RankOrder stages_in_replica{RankAxis::tensor, RankAxis::context, RankAxis::expert,
                                             RankAxis::pipeline, RankAxis::data};

}  // namespace foretrain
