// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "models/inputs/job.hpp"

namespace foretrain {

/// Megatron-Core's names of the parts that CUDA graphs capture (--cuda-graph-scope), in the order
/// in which a layer runs them.
inline constexpr auto megatron_graph_parts = std::to_array<std::pair<std::string_view, GraphPart>>(
    {{"attn", GraphPart::attention},
     {"mlp", GraphPart::mlp},
     {"moe", GraphPart::moe},
     {"moe_router", GraphPart::moe_router},
     {"moe_preprocess", GraphPart::moe_preprocess},
     {"mamba", GraphPart::mamba},
     {"full_iteration", GraphPart::full_iteration}});

/// The part of that name; nothing where it is not modelled.
[[nodiscard]] constexpr std::optional<GraphPart> megatron_graph_part(std::string_view name) {
  const auto* const found = std::find_if(megatron_graph_parts.begin(), megatron_graph_parts.end(),
                                         [name](const auto& part) { return part.first == name; });
  if (found == megatron_graph_parts.end()) return std::nullopt;
  return found->second;
}

}  // namespace foretrain
