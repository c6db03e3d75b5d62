// SPDX-License-Identifier: Apache-2.0
#include "planner/text/plan_words.hpp"

#include <fmt/format.h>

namespace foretrain {

std::string axis_words(const Parallel& plan) {
  std::string text = fmt::format("tp {} pp {}", plan.tensor, plan.pipeline);
  if (plan.virtual_stages > 1) text += fmt::format(" vp {}", plan.virtual_stages);
  if (plan.context > 1) text += fmt::format(" cp {}", plan.context);
  if (plan.expert > 1) text += fmt::format(" ep {}", plan.expert);
  return text + fmt::format(" dp {}", plan.data);
}

}  // namespace foretrain
