// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/records/run_catalog.hpp"
#include "calibration/records/run_record.hpp"
#include "models/inputs/cluster.hpp"

namespace foretrain {

/// The network between hosts as far as a record's words state it; zero: not stated.
struct StatedNetwork {
  int nics = 0;             ///< per host
  BytesPerSecond per_nic;   ///< one direction
  BytesPerSecond per_host;  ///< all NICs of a host together
  BytesPerSecond per_gpu;
};

/// Reads rates like "8x HDR 200Gb/s HCAs per node", "1600 Gbps per node", "400 Gb/s per GPU" and
/// the names of InfiniBand and Omni-Path generations.
[[nodiscard]] StatedNetwork stated_network(const std::string& text);

/// A cluster, or why there is none.
struct RunMachine {
  std::optional<Cluster> cluster;
  std::string why;
  std::vector<std::string> assumptions;
};

/// `gpus` of the record's kind: hosts from the catalog, with the GPUs per host and the NIC rate of
/// the record where it states them. @pre gpus >= 1.
[[nodiscard]] RunMachine run_machine(const RunRecord& record, int gpus, const RunCatalog& catalog);

}  // namespace foretrain
