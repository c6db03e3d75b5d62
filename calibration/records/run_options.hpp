// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/records/run_record.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// What a record's software was told to do beyond its layout: the record's own fields, and where it
/// has none what its notes say. Absent: neither does.
struct RunOptions {
  CudaGraphs graphs;
  std::string graphs_why;  ///< that what was captured is not known, or not modelled
  std::optional<bool> eight_bit_weights, eight_bit_attention;
  std::optional<bool> balanced_experts;
  std::optional<bool> overlap_experts;
  std::optional<bool> overlap_tensor;
  std::optional<ExpertDispatch> dispatch;
  std::optional<bool> grouped_experts, fused_permutation, fused_loss;
  std::optional<bool> scatter_gather, reshards;
  FusedKernels fused_kernels;
  bool gptq = false;                   ///< frozen weights rest in 4 bits of GPTQ
  bool expert_tensor_follows = false;  ///< experts are cut as the rest of a layer
  std::string fp8_scaling;  ///< tensor, current, row or block; empty: as the precision says
  /// Most tokens of an expert over the mean: what exceeds it is dropped, what lacks is padded.
  std::optional<double> expert_capacity;
  int offloaded_layers = 0;       ///< layers of a stage whose saved tensors wait in host memory
  std::vector<int> chunk_layers;  ///< by chunk, in Megatron-Core's words; empty: not said
};

/// The one place that reads notes for these. A word that is not known is a reason, never a default.
[[nodiscard]] RunOptions run_options(const RunRecord& record);

}  // namespace foretrain
