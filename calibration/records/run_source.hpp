// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibration/records/run_record.hpp"
#include "models/base/names.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// What is taken to be recomputed where a record does not say, in the words of records; empty:
/// nobody knows.
struct AssumedRecompute {
  std::string text;
  std::string assumed;  ///< as reports list it
};

/// Which constants a fit moves to meet runs: none (they are compared alone), those of their device
/// where the stack is that of other devices' runs, or all.
enum class FitScope : std::uint8_t { none, device, all };
FORETRAIN_ENUM_NAMES(FitScope, {FitScope::none, "none"}, {FitScope::device, "device"},
                     {FitScope::all, "all"});

/// What is the same for all runs of a source family and no record repeats: which profiles describe
/// its framework and its cluster, and what the framework does by default.
struct RunSource {
  std::string stack;  ///< profile of its framework, or of its nearest kin
  bool kin = false;   ///< there is no profile of its framework
  std::string site = "default";
  Overlap overlap{true, true, false, true};  ///< where a record does not say
  bool half_gradients = false;  ///< 16-bit gradient traffic; fp16 training always has it
  Seconds start;  ///< of a run, in the mean of its steps that records state: of each its part
  bool sequence = false;      ///< sequence parallelism in tensor groups, where a record is silent
  bool layer_chunks = false;  ///< pipelines interleave one layer per chunk, unless it says how many
  bool unfused = false;       ///< attention as separate kernels, unless the record names one
  bool known = false;         ///< a family of which all this is known
  bool memory = true;         ///< the memory rules of the profile are those of the framework
  std::string no_memory;      ///< why this record's memory cannot be forecast all the same
  bool layers_by_work = false;   ///< assigned to stages so
  std::string balanced_experts;  ///< routing is, unless the record is dropless: how reports say so
  bool fused_gradients = true;   ///< weight gradients are added up inside the GEMM
  std::optional<int> heads;      ///< of attention, where neither heads nor their size is stated
  std::string gpu;               ///< of tables without such a column
  bool engine_loss = false;      ///< cross-entropy of Transformer Engine, in place
  bool chunked_loss = false;     ///< a fused loss is made with its projection, in chunks
  bool wide_base = false;        ///< frozen weights rest in 32 bits
  bool eight_bit_weights = false;  ///< fp8 keeps weights so, where that is modelled
  bool fused_permutation = false;  ///< routed rows are sorted by kernels of their own
  bool narrow_optimizer = false;   ///< precision-aware, with 16-bit moments
  /// Why runs cannot be forecast: something decisive that the source does not tell.
  std::string refused;
  std::optional<FineTuning> fine_tuning;  ///< where the record does not say what is trained
  Objective objective = Objective::next_token;
  /// Of fused attention, where the record names no kernel.
  AttentionLibrary attention_library = AttentionLibrary::stack;
  FitScope fitted = FitScope::all;
  bool router_fp32 = false;
  std::string model;        ///< of the catalog, where a record names a model without its shape
  std::string routing;      ///< balanced, whatever the record says of its model: how reports say so
  std::optional<int> year;  ///< of the software, where the source tells
  std::optional<int> micro_batch;  ///< where the record does not say
  AssumedRecompute recompute;
  std::optional<ExpertDispatch> expert_dispatch;
  std::optional<FusedKernels> fused_kernels;  ///< where a record names none
  std::optional<CudaGraphs> cuda_graphs;  ///< where neither fields nor notes of a record name any
};

/// The row of the record's family, with the stack and site that the record itself may name. A
/// framework without a profile is compared alone, as nearest_stack() has it.
[[nodiscard]] RunSource run_source(const RunRecord& record);

/// Tables of matrix products, each as `FAMILY OP` of its records, the preferred first: those that a
/// device's constants are fitted to are in the first of these that it has records in.
[[nodiscard]] const std::vector<std::vector<std::string>>& product_tables();

/// The stack profile whose framework is nearest to that of a record without one, by the words of
/// its id, source and notes; what runs of unknown frameworks are priced as where there is no word.
[[nodiscard]] std::string nearest_stack(const RunRecord& record);

}  // namespace foretrain
