// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/records/measured_data.hpp"
#include "calibration/records/run_catalog.hpp"
#include "models/base/quantity.hpp"
#include "models/collectives/collective_choice.hpp"
#include "models/inputs/cluster.hpp"

namespace foretrain {

/// A measured collective as the cost models see it.
struct CollectiveCase {
  CollectiveOp op = CollectiveOp::all_reduce;
  Cluster cluster;
  CommGroup group;
  Bytes payload;
  Seconds measured;
  /// The algorithm that the benchmark forced; empty: the library's choice.
  std::optional<CollectiveAlgorithm> forced;
  bool no_switch = false;  ///< bytes: the switch does not add them
};

/// A row as a collective, or why it cannot be one.
struct MappedCollective {
  std::optional<CollectiveCase> collective;
  std::string why;
  std::vector<std::string> assumptions;
};

[[nodiscard]] MappedCollective map_collective(const SweepRecord& record, const RunCatalog& catalog);

/// The fastest way to run it among those that the benchmark allowed, alone on a healthy fabric.
/// @return nothing when the forced algorithm does not exist there
[[nodiscard]] std::optional<CollectiveChoice> collective_choice(const CollectiveCase& collective,
                                                                const DeviceProfile& profile);

}  // namespace foretrain
