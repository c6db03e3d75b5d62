// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "models/serving/serving_memory.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "sim/serving/serving_run.hpp"

namespace foretrain {

/// Replicas that are alike, made ready to be priced.
struct ReadyPool {
  Deployment deployment;
  BatchScheduler scheduler;
  CacheSize cache;
  std::int64_t blocks = 0;  ///< of the cache of one replica

  [[nodiscard]] int gpus() const { return deployment.layout.gpus() * deployment.layout.replicas; }
};

/// A serving scenario made ready: who serves, what runs in a step, how large the caches are.
struct ReadyServing {
  ServingPlan plan;                  ///< with the number of replicas
  ReadyPool serve;                   ///< all replicas, or those that decode
  std::optional<ReadyPool> prefill;  ///< disaggregated: those that prefill
  CacheTransfer transfer;            ///< from one to the other
  /// Why it cannot run; then blocks and transfer are not known.
  std::vector<Infeasible> reasons;

  [[nodiscard]] int gpus() const { return serve.gpus() + (prefill ? prefill->gpus() : 0); }
};

/// @pre scenario.serving and scenario.engine
[[nodiscard]] ReadyServing ready_serving(const Scenario& scenario);
/// The same with another plan or machine than the scenario's.
[[nodiscard]] ReadyServing ready_serving(const Scenario& scenario, const ServingPlan& plan,
                                         const Cluster& cluster);

/// What the event model runs.
/// @param pace how many times as long as forecast every step takes
/// @pre ready.reasons is empty
[[nodiscard]] ServingModel serving_model(const ReadyServing& ready, double pace = 1.0);

/// Tokens of a mean request, prompt and answer: the length that the capacity of caches is told for.
[[nodiscard]] double mean_request(const RequestLoad& load);
/// Of its prompt alone, with what all prompts share.
[[nodiscard]] double mean_prompt(const RequestLoad& load);
/// The same requests from clients that each wait for their answer; those of a trace with its mean
/// lengths.
[[nodiscard]] RequestLoad closed_load(RequestLoad load, int clients, int requests);

}  // namespace foretrain
