// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/cli/answer_output.hpp"
#include "planner/cli/command.hpp"

namespace foretrain {

inline constexpr int most_workers = 512;
inline constexpr int most_shards = 100'000;

struct SweepOptions {
  ScenarioOptions scenario;
  std::vector<std::string> axes;
  EngineKind engine = EngineKind::closed_form;
  std::string metrics;
  std::string shard;
  std::string db;
  std::string emit;
  AnswerOutput output;
  std::optional<int> workers;
  std::optional<int> tasks;
  std::optional<double> timeout;
  bool resume = false;
  bool retry = false;
  bool timing = false;
};

/// @return an exit code
[[nodiscard]] int run_sweep(const SweepOptions& options);
/// `foretrain sweep merge OUT IN...`
[[nodiscard]] int run_sweep_merge(const std::vector<std::string>& files);
/// `foretrain sweep export FILE`
[[nodiscard]] int run_sweep_export(const std::string& file, const SweepOptions& options);

}  // namespace foretrain
