// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "planner/answer/answer.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

struct Scene;
struct SceneSpace;

/// What a tornado ranks by. Per token trained, so that batches compare.
enum class SensitivityMetric { time, cost };
FORETRAIN_ENUM_NAMES(SensitivityMetric, {SensitivityMetric::time, "time"},
                     {SensitivityMetric::cost, "cost"});

/// A forecast with one input moved.
struct SensitivityPoint {
  double factor = 1.0;  ///< of the input, as it was really moved
  Seconds step;
  Seconds per_sequence;        ///< step over global batch
  std::optional<Seconds> run;  ///< expected, or ideal where goodput is unknown
  std::optional<double> price_usd;
};

/// An input and what moving it does.
struct SensitivityLever {
  std::string key;    ///< stable, e.g. "host_bandwidth"
  std::string label;  ///< for people
  SensitivityPoint low;
  SensitivityPoint high;
  double low_change = 0.0;  ///< of the metric against the scenario as it is, as a share
  double high_change = 0.0;

  [[nodiscard]] double swing() const;  ///< the larger of both changes, in size
};

/// An input that could not be moved, and why.
struct UnmovedInput {
  std::string key;
  std::string label;
  std::string why;
};

struct Sensitivity {
  std::string name;
  SensitivityMetric metric = SensitivityMetric::time;
  double by = 0.1;
  SensitivityPoint base;
  std::vector<SensitivityLever> levers;  ///< largest swing first
  std::vector<UnmovedInput> unmoved;
};

/// Moves one input at a time down and up by the share `by`, plan and everything else equal, and
/// forecasts in closed form. The batch moves to the nearest sizes that the plan can divide.
/// @throws UsageError where the plan cannot run, or cost is asked for without price and tokens
/// @pre 0 < by < 1
[[nodiscard]] Sensitivity sensitivity(const Scenario& scenario, SensitivityMetric metric,
                                      double by);

/// A tornado of bars.
[[nodiscard]] Answer sensitivity_answer(const Sensitivity& result);
/// Schema sensitivity/1: planner/README.md, "Output".
[[nodiscard]] std::string sensitivity_json(const Sensitivity& result);

/// What moving one input at a time down and up does to time or cost, the largest first.
/// @pre result has a lever
[[nodiscard]] Scene tornado_chart(const Sensitivity& result, const SceneSpace& space);
[[nodiscard]] std::string tornado_csv(const Sensitivity& result);

}  // namespace foretrain
