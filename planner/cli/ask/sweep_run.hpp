// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/cli/command.hpp"

namespace foretrain {

struct SweepOptions {
  ScenarioOptions scenario;
  std::vector<std::string> axes;
  std::string engine = "closed-form";
  std::string metrics;
  std::string shard;
  std::string db;
  std::string out;
  std::string emit;
  std::optional<int> workers;
  std::optional<int> tasks;
  std::optional<double> timeout;
  bool resume = false;
  bool retry = false;
  bool json = false;
  bool csv = false;
  bool timing = false;
};

/// @return an exit code
[[nodiscard]] int run_sweep(const SweepOptions& options);
/// `foretrain sweep merge OUT IN...`
[[nodiscard]] int run_sweep_merge(const std::vector<std::string>& files);
/// `foretrain sweep export FILE`
[[nodiscard]] int run_sweep_export(const std::string& file, const SweepOptions& options);

}  // namespace foretrain
