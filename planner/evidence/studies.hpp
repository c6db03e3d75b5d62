// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/fit/band_fit.hpp"
#include "calibration/validate/ablations.hpp"
#include "calibration/validate/peer_errors.hpp"
#include "calibration/validate/power_checks.hpp"
#include "planner/answer/answer.hpp"
#include "planner/evidence/left_out.hpp"
#include "planner/evidence/validate.hpp"

namespace foretrain {

struct Scene;
struct SceneSpace;

// What `validate` studies beside its check, and how it is told.

/// A line per kind of choice and one per pair: measured and forecast change of the step time.
[[nodiscard]] Answer ablations_answer(const std::vector<AblationCheck>& checks);
/// {"summary": [...], "pairs": [...]}; a pair that cannot be judged has nulls and says why.
[[nodiscard]] std::string ablations_json(const std::vector<AblationCheck>& checks);

/// Measured power (calibration/measured/power.yaml) against forecasts.
struct PowerStudy {
  std::vector<PowerSeries> series;
  std::vector<PowerCheck> checks;
  std::vector<std::string> skipped;  ///< series that are no job, and why
};
/// @throws UsageError, ScenarioError
[[nodiscard]] PowerStudy validate_power(const std::vector<std::filesystem::path>& catalogs);
/// A line per measured number.
[[nodiscard]] Answer power_answer(const PowerStudy& study);
/// {"checks": [{"series", "quantity", "measured", "predicted", "fitted"}]}
[[nodiscard]] std::string power_json(const PowerStudy& study);

/// The shipped calibration/peers/errors.yaml with our errors of these step times.
/// @throws UsageError when it cannot be read or no record belongs to a family, ScenarioError
[[nodiscard]] std::vector<PeerComparison> compare_with_peers(
    const std::vector<RecordCheck>& checks, const std::vector<std::filesystem::path>& catalogs);

/// A table of mean absolute errors and where those of the others are from; `left_out`: ours are of
/// sources that the profiles were not fitted on.
[[nodiscard]] Answer peers_answer(const std::vector<PeerComparison>& lines, bool left_out);
/// {"left_out": bool, "families": [...]}, errors in percent
[[nodiscard]] std::string peers_json(const std::vector<PeerComparison>& lines, bool left_out);

/// A device to forecast as if its relative and its datasheet were all that is known.
struct HiddenPair {
  std::string device;
  std::string relative;  ///< empty: what its file says it is like
};

/// Errors of one kind of its records.
struct HiddenErrors {
  std::string device;
  std::string relative;
  std::vector<std::string> hidden_with;  ///< as HiddenDevice has it
  CheckSummary summary;                  ///< of one quantity and group
};

/// Refits without the records of each device in turn (calibration/validate/hidden_device.hpp), and
/// compares. Of `request`, memory is not read.
/// @throws UsageError, ScenarioError with places
[[nodiscard]] std::vector<HiddenErrors> validate_hidden(const ValidateRequest& request,
                                                        const std::vector<HiddenPair>& pairs);

[[nodiscard]] Answer hidden_answer(const std::vector<HiddenErrors>& errors);
/// {"hidden": [{"device", "relative", "hidden_with", "quantity", "group", ...}]}
[[nodiscard]] std::string hidden_json(const std::vector<HiddenErrors>& errors);
/// One line per device, quantity and group; errors in percent with two decimals.
[[nodiscard]] std::string hidden_csv(const std::vector<HiddenErrors>& errors);

/// Bands fitted on runs that were left out, and how they do on them.
struct BandReport {
  BandTable shipped;
  BandTable fitted;         ///< widths of all cases; what all fitted runs reach
  std::vector<int> counts;  ///< cases that each kind counts in, in the order of kinds
  BandCheck check;          ///< every case by widths that have not seen its family
};

/// @pre a fold was finished
[[nodiscard]] BandReport band_report(const LeftOut& left_out);

/// Widths by kind, coverage and interval score by axis and family.
[[nodiscard]] Answer band_answer(const BandReport& report);
/// As calibration/fits/bands.yaml.
[[nodiscard]] std::string band_report_yaml(const BandReport& report);
/// Every forecast left out as a line: axis, fold, family, run, ln(measured / predicted), and how
/// often each kind of width counts, downwards and upwards.
[[nodiscard]] std::string band_cases_csv(const LeftOut& left_out);
/// Share of the measurements that bands of a nominal coverage hold.
[[nodiscard]] Scene reliability_chart(const BandReport& report, const SceneSpace& space);

}  // namespace foretrain
