// SPDX-License-Identifier: Apache-2.0
#include "models/layers/attention_sinks.hpp"

#include <string>

#include <fmt/format.h>

namespace foretrain {

std::optional<Infeasible> refuse_sinks(const Job& job) {
  if (!job.model.attention_sinks) return std::nullopt;
  const std::string sinks = job.model.name + " has attention with learned sinks, which ";
  if (job.parallel.context > 1)
    return Infeasible{std::string(not_modelled_rule), "parallel.context",
                      sinks + "a ring of context ranks does not compute", "parallel.context: 1"};
  if (job.memory.attention == AttentionKind::flash && job.stack.times.flash2)
    return Infeasible{std::string(not_modelled_rule), "memory.attention",
                      sinks + "FlashAttention-2 of this stack does not compute",
                      "memory.attention: unfused"};
  return std::nullopt;
}

}  // namespace foretrain
