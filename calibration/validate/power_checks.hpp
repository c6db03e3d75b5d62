// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/records/run_catalog.hpp"
#include "calibration/records/run_record.hpp"
#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Measured power of a run: calibration/measured/power.yaml. Absent: not measured.
struct PowerSeries {
  std::string id;
  std::string record;  ///< of a run
  std::string runs;    ///< its file
  Seconds meter;       ///< time that one reading stands for
  PowerFacts facts;    ///< what is known of the host
  std::optional<Watts> gpu;
  std::optional<Watts> node;
  std::optional<Watts> node_idle;
  std::optional<double> peak_over_mean;
  std::optional<double> ramp;  ///< kW per second, of all nodes
  std::optional<double> coherence;
  std::vector<std::string> fitted;  ///< keys of these that constants were fitted on
  std::string source;
  std::string note;
};
/// @throws ScenarioError
[[nodiscard]] std::vector<PowerSeries> power_series();

/// One measured number and its forecast.
struct PowerCheck {
  std::string series;
  std::string quantity;  ///< "node, W", ...
  double measured = 0.0;
  double predicted = 0.0;
  bool fitted = false;

  [[nodiscard]] double error() const { return predicted / measured - 1.0; }
};

/// What the step of the record's job draws, as reports forecast it, against the series.
/// @param why of a record that is no job; then nothing is compared
[[nodiscard]] std::vector<PowerCheck> check_power(const PowerSeries& series,
                                                  const RunRecord& record,
                                                  const RunCatalog& catalog, std::string& why);

}  // namespace foretrain
