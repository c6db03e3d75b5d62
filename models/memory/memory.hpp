// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "models/base/memory_items.hpp"
#include "models/base/names.hpp"
#include "models/base/prediction.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/inputs/job.hpp"
#include "models/layers/activations.hpp"

namespace foretrain {

/// Points of a step where a stage's memory can peak.
enum class MemoryPhase {
  between_steps,
  forward_loss,
  backward_layer,
  backward_output,
  optimizer,
  reduction  ///< torch.nn.DataParallel only: the gradients of all replicas meet on GPU 0
};
FORETRAIN_ENUM_NAMES(MemoryPhase, {MemoryPhase::between_steps, "between steps"},
                     {MemoryPhase::forward_loss, "forward of the loss"},
                     {MemoryPhase::backward_layer, "backward of a layer"},
                     {MemoryPhase::backward_output, "backward of the output layer"},
                     {MemoryPhase::optimizer, "optimizer step"},
                     {MemoryPhase::reduction, "sum of the gradients"});
inline constexpr std::size_t memory_phases = 6;

/// What one rank of one stage allocates in every phase; the rows beyond the allocator
/// (communicators, context, cache) are the same in all of them and stand in `outside`.
struct StageAccount {
  int stage = 0;
  int layers = 0;
  std::array<MemoryBytes, memory_phases> phase;
  std::array<double, memory_phases> total{};  ///< of their rows
  MemoryBytes outside;
  double host = 0.0;       ///< CPU memory that offloading uses, per GPU
  double to_host = 0.0;    ///< bytes that offloading moves down per optimizer step
  double to_device = 0.0;  ///< and up
  double paged = 0.0;      ///< states that are in the GPU as far as there is room
  MemoryPhase peak_phase = MemoryPhase::between_steps;
  double allocated = 0.0;  ///< largest total of a phase
  double counted = 0.0;    ///< what torch's counter of allocated bytes shows of that
  /// Of the passes' tensors, those that captured parts of layers write into pools of CUDA graphs.
  double captured = 0.0;
  double resident = 0.0;  ///< total of between_steps
  double device = 0.0;    ///< device_bytes() of all that: what the device counter shows
  double low = 0.0;       ///< the same at the lower end of the memory band
  double high = 0.0;      ///< and at the upper one
  [[nodiscard]] const MemoryBytes& at(MemoryPhase p) const {
    return phase[static_cast<std::size_t>(p)];
  }
};

/// Memory of one stage. `activations` is activation_model(job), made once for all stages.
/// @pre the plan is legal (plan_rules.hpp returns nothing); 0 <= stage < pipeline.
[[nodiscard]] StageAccount account_stage(const Job& job, const StageLayout& layout,
                                         const ActivationModel& activations, int stage);

/// Memory of a GPU that holds a replica of torch.nn.DataParallel's and is not GPU 0, of which
/// account_stage() tells.
/// @pre as account_stage(); job.parallel.single_process().
[[nodiscard]] StageAccount account_replica(const Job& job, const StageLayout& layout,
                                           const ActivationModel& activations);

/// Device memory of every pipeline stage, row by row. Equations with sources:
/// models/memory/README.md.
/// @pre the plan is legal (plan_rules.hpp returns nothing).
[[nodiscard]] MemoryForecast forecast_memory(const Job& job, const StageLayout& layout);

/// Device memory of the heaviest stage without rows, for searches over many plans: the same bits
/// as forecast_memory() has.
/// @pre the plan is legal.
[[nodiscard]] MemoryNeed memory_need(const Job& job, const StageLayout& layout);

/// memory_need().peak.
[[nodiscard]] Bytes peak_memory(const Job& job, const StageLayout& layout);

/// Bytes on the device where tensors take `allocated`, and communicators and context `outside`,
/// with the cache of PyTorch's allocator: freed blocks stay cached until the device is full, and
/// then shrink to the least (MemoryRules::least_reserved). It is more than what is usable if and
/// only if that least does not fit, so `<=` is the whole rule; nothing else may add the cache.
[[nodiscard]] double device_bytes(const Job& job, double allocated, double outside);

/// Weights and optimizer states of the whole model as a checkpoint holds them.
[[nodiscard]] Bytes checkpoint_size(const Job& job);

/// What the stack's measured memory says nothing of.
struct MemoryDoubt {
  double share = 0.0;    ///< of allocated bytes
  std::string_view why;  ///< "few hybrids were measured ..."
};

/// Of this job, each with the size that measurements showed beside the stack's band.
[[nodiscard]] std::vector<MemoryDoubt> memory_doubts(const Job& job);

/// How far allocated bytes may be off, as a share: MemoryRules::band and all doubts, root of
/// squares.
[[nodiscard]] double memory_band(const Job& job);

/// The same of device bytes, as a share of allocated ones: with MemoryRules::reserved_band.
[[nodiscard]] double reserved_band(const Job& job);

/// memory_need() of many plans of one job, part by part: the bytes of a layer depend on the sizes
/// that cut it, the micro-batch and recomputation; what passes keep alive on schedule, stages and
/// micro-batches; states on the ranks that share them. Each is kept by those axes, some megabytes
/// in all; a plan is their sum.
/// Plans may differ in `parallel` (but for stage_layers, microbatch_group, zero_group, vocabulary,
/// processes and gather), training.micro_batch, memory.recompute and memory.offload alone; clear()
/// when anything else changes.
class MemoryNeeds {
 public:
  MemoryNeeds();
  ~MemoryNeeds();
  MemoryNeeds(MemoryNeeds&&) noexcept;
  MemoryNeeds& operator=(MemoryNeeds&&) noexcept;

  /// The same bits as memory_need(). @pre the plan is legal
  [[nodiscard]] MemoryNeed of(const Job& job, const StageLayout& layout);
  void clear();

  /// Of one plan, nothing kept.
  [[nodiscard]] static MemoryNeed alone(const Job& job, const StageLayout& layout);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace foretrain
