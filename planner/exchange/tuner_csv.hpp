// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/collectives/collective_choice.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Sizes for which the cost model picks one algorithm and protocol.
struct TunerRange {
  CollectiveOp op = CollectiveOp::all_reduce;
  CommGroup group;
  std::uint64_t first = 0;  ///< bytes, both included
  std::uint64_t last = 0;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  Protocol protocol = Protocol::simple;
};

/// Choices of the scenario's cost model for the process groups of its plan (tensor, context, data,
/// expert, all ranks) and every collective that NCCL's tuner knows. Borders are exact to the byte.
[[nodiscard]] std::vector<TunerRange> tuner_ranges(const Job& job);

/// The configuration of NCCL's example tuner plug-in, ten columns:
/// collective,minBytes,maxBytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff.
/// Channels, pipe operations and registration stay NCCL's: -1.
/// Format: NVIDIA/nccl ext-tuner/example/README.md.
[[nodiscard]] std::string tuner_csv(const Job& job);

}  // namespace foretrain
