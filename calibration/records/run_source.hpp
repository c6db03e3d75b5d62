// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "calibration/records/run_record.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// What is the same for all runs of a source family and no record repeats: which profiles describe
/// its framework and its cluster, and what the framework does by default.
struct RunSource {
  std::string stack;  ///< profile of its framework; empty: there is none
  std::string site = "default";
  Overlap overlap{true, true, false, true};  ///< where a record does not say
  bool half_gradients = false;  ///< 16-bit gradient traffic; fp16 training always has it
  bool sequence = false;        ///< sequence parallelism in tensor groups, where a record is silent
  bool layer_chunks = false;  ///< pipelines interleave one layer per chunk, unless it says how many
  bool unfused = false;       ///< attention as separate kernels, unless the record names one
  bool known = false;         ///< a family of which all this is known
  bool memory = true;         ///< the memory rules of the profile are those of the framework
};

/// The row of the record's family, with the stack and site that the record itself may name.
[[nodiscard]] RunSource run_source(const RunRecord& record);

}  // namespace foretrain
