// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "models/memory/memory.hpp"

namespace foretrain {

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
