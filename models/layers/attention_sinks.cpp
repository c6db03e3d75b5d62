// SPDX-License-Identifier: Apache-2.0
#include "models/layers/attention_sinks.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace foretrain {

std::optional<Infeasible> refuse_sinks(const Job& job) {
  const std::vector<LayerSizes>& special = job.model.special_layers;
  const bool some = std::any_of(special.begin(), special.end(),
                                [](const LayerSizes& sizes) { return sizes.attention_sinks; });
  if (!job.model.attention_sinks && !some) return std::nullopt;
  if (job.memory.attention == AttentionKind::flash &&
      job.attention_library() == AttentionLibrary::flash2)
    return Infeasible{std::string(not_modelled_rule), "memory.attention",
                      job.model.name +
                          " has attention with learned sinks, which FlashAttention-2 does not "
                          "compute",
                      "memory.attention: unfused"};
  return std::nullopt;
}

}  // namespace foretrain
