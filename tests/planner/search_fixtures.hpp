// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "planner/search/search.hpp"
#include "planner/search/search_space.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain::fixtures {

/// Llama-3-8B on 4 hosts of 8 H100: a search over it ends in milliseconds.
inline Scenario small_scenario() {
  return load_scenario_text(
      "schema: 1\n"
      "name: small\n"
      "model: llama3-8b\n"
      "cluster: {host: dgx-h100, hosts: 4, fabric: {kind: single-switch, preset: ib-ndr}}\n"
      "training: {sequence: 8192, micro_batch: 1, global_batch: 64, tokens: 100 B}\n"
      "parallel: {tensor: 2, sequence: true, zero: 1}\n"
      "operations: {price: 2.5 USD/GPU-hour}\n"
      "stack: megatron-core\n",
      "small.yaml", std::filesystem::current_path());
}

/// Some hundred plans of it.
inline SearchSpace small_space(const Job& job) {
  SearchSpace space = default_space(job);
  set_axis(space, job, "parallel.pipeline=1,2,3,4");
  set_axis(space, job, "parallel.virtual_stages=1,2,4");
  set_axis(space, job, "parallel.zero=0,1");
  set_axis(space, job, "parallel.schedule=1f1b,interleaved,zb-h1,zb-v");
  set_axis(space, job, "training.micro_batch=1,2");
  return space;
}

/// Combinations that were tried, whatever became of them.
inline std::int64_t sum_of(const SearchResult& result) {
  std::int64_t sum = result.feasible;
  for (const auto& [rule, rejection] : result.rejected) sum += rejection.count;
  return sum;
}

}  // namespace foretrain::fixtures
