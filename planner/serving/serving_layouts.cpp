// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/internal/serving_layouts.hpp"

#include <algorithm>

namespace foretrain {
namespace {

constexpr int widest_tensor = 8;
constexpr int widest_experts = 64;

}  // namespace

std::vector<ServingLayout> serving_layouts(const Scenario& scenario) {
  const LlmShape& model = scenario.job.model;
  const Host& host = scenario.job.cluster.host;
  const int domain = host.gpus * host.domain_hosts;
  std::vector<ServingLayout> layouts;
  for (int ranks = 1; ranks <= std::min(widest_tensor, domain); ranks *= 2) {
    if (model.heads % ranks != 0) break;
    layouts.push_back({.tensor = ranks});
    if (model.moe && ranks > 1) layouts.push_back({.tensor = ranks, .expert = ranks});
  }
  for (int ranks = 2; model.moe && ranks <= widest_experts; ranks *= 2)
    if (model.moe->experts % ranks == 0)
      layouts.push_back({.tensor = 1, .attention_data = ranks, .expert = ranks});
  const int across = std::min({widest_tensor, host.gpus, domain});
  for (int stages = 2; stages <= 8; stages *= 2)
    if (model.heads % across == 0) layouts.push_back({.tensor = across, .pipeline = stages});
  std::stable_sort(
      layouts.begin(), layouts.end(),
      [](const ServingLayout& a, const ServingLayout& b) { return a.gpus() < b.gpus(); });
  return layouts;
}

}  // namespace foretrain
