// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

struct SceneHeadline;

/// The scenario's plan on another number of hosts.
struct ScalingPoint {
  int hosts = 0;
  int gpus = 0;
  int global_batch = 0;                  ///< sequences
  std::optional<double> tokens_per_s{};  ///< absent where it cannot run
  std::optional<double> mfu{};
  std::string why{};  ///< it cannot run

  /// Tokens per second. @pre they are known
  [[nodiscard]] double per_gpu() const { return *tokens_per_s / gpus; }
};

/// How a job grows with its machine: hosts halved and doubled up to three times, tensor, pipeline
/// and context degrees as they are, data ranks what is left.
struct Scaling {
  std::vector<ScalingPoint> same_batch;     ///< strong scaling
  std::vector<ScalingPoint> growing_batch;  ///< weak scaling: the batch grows with the machine

  /// The scenario's own machine; null where it has no forecast.
  [[nodiscard]] const ScalingPoint* own(const Job& job) const;
};

/// In the closed form. Ends early, with the points so far, when `stop` is asked for.
/// @throws ScenarioError, UsageError
[[nodiscard]] Scaling scaling_of(const Scenario& scenario, const std::stop_token& stop = {});

/// The settings of a point, as for --set.
[[nodiscard]] std::vector<std::string> scaling_settings(const Scenario& scenario,
                                                        const ScalingPoint& point);

/// What is left of the speed per GPU on the largest machines. @pre the own machine has a forecast
[[nodiscard]] SceneHeadline scaling_headline(const Scaling& scaling, const Job& job);
[[nodiscard]] std::string scaling_csv(const Scaling& scaling);

}  // namespace foretrain
