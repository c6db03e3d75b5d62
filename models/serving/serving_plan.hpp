// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/serving/deployment.hpp"
#include "models/serving/request_load.hpp"

namespace foretrain {

/// What users of a deployment are promised.
struct ServingGoals {
  std::optional<Seconds> ttft{};  ///< time to the first token
  std::optional<Seconds> tpot{};  ///< time per token of the answer behind the first
  double percentile = 90.0;       ///< of requests that keep each of them

  [[nodiscard]] bool any() const { return ttft || tpot; }
};

/// Limits of a step that stand before those of the engine.
struct BatchingChoice {
  std::optional<int> token_budget{};
  std::optional<int> sequences{};
  std::optional<bool> mixed_steps{};
};

/// How a model is served and what is asked of it: `serving` of a scenario.
struct ServingPlan {
  std::string engine = "vllm";           ///< of the catalog of engines
  ServingLayout layout{.replicas = 0};   ///< zero replicas: as many as the cluster holds
  ServingLayout prefill{.replicas = 0};  ///< replicas that only prefill; zero: no such
  ServingPrecision precision{};
  Speculation speculation{};
  bool cuda_graphs = true;
  std::optional<double> memory_share{};
  BatchingChoice batching{};
  Routing routing = Routing::least_load;
  Autoscaling autoscaling{};
  RequestLoad load{};
  Seconds duration{};  ///< zero: until load.requests are served
  Seconds warm_up{};
  int seed = 1;
  ServingGoals goals{};
};

}  // namespace foretrain
