// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/records/record_check.hpp"
#include "scenarios/fields/field_table.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Errors of other tools on published runs: mean absolute error of the step time, percent.
/// Data: calibration/peers.
struct PeerFamily {
  std::string name;
  std::vector<std::string> records;           ///< how the ids of its records begin
  std::optional<int> runs;                    ///< that the tools were run on
  std::vector<std::optional<double>> errors;  ///< in the order of peer_names()
  std::string source;
};

/// A constant MFU of 50 % first, then the tools.
[[nodiscard]] const std::vector<std::string>& peer_names();

/// `name` is what messages call the file; nothing when there are errors.
[[nodiscard]] std::optional<std::vector<PeerFamily>> read_peer_errors(const std::string& text,
                                                                      const std::string& name,
                                                                      Diagnostics& diagnostics);

/// Ours on the records of a family.
struct PeerComparison {
  PeerFamily family;
  int runs = 0;       ///< compared
  double mape = 0.0;  ///< percent
};

/// One per family with a step time that could be compared, in the order of the file.
[[nodiscard]] std::vector<PeerComparison> beside_peers(const std::vector<PeerFamily>& families,
                                                       const std::vector<RecordCheck>& checks);

}  // namespace foretrain
