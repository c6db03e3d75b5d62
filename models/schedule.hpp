// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "models/job.hpp"

namespace foretrain {

/// A backward pass runs whole, or as its two halves where the schedule splits it.
enum class PassKind : std::uint8_t { forward, backward, input_gradient, weight_gradient };
FORETRAIN_ENUM_NAMES(PassKind, {PassKind::forward, "forward"}, {PassKind::backward, "backward"},
                     {PassKind::input_gradient, "input-gradient"},
                     {PassKind::weight_gradient, "weight-gradient"});

/// One pass of one micro-batch through one chunk of the stage whose list it stands in.
struct Pass {
  PassKind kind = PassKind::forward;
  int chunk = 0;
  int micro = 0;

  friend bool operator==(const Pass&, const Pass&) = default;
};

/// Everything that decides the order of passes.
struct ScheduleShape {
  ScheduleKind kind = ScheduleKind::one_f_one_b;
  int stages = 1;
  int chunks = 1;  ///< per stage: virtual stages; 2 for ZB-V and DualPipe
  int microbatches = 1;
  int group = 1;  ///< interleaving: consecutive micro-batches of one chunk

  friend bool operator==(const ScheduleShape&, const ScheduleShape&) = default;
};

[[nodiscard]] ScheduleShape schedule_shape(const Job& job);

/// Where a pass of (stage, chunk) stands on a micro-batch's way through the model: position 0 holds
/// the embedding, the last the loss. Interleaving: chunk * stages + stage; ZB-V: down the stages
/// with chunk 0 and back up with chunk 1; DualPipe: chunk 0 runs from the first stage to the last,
/// chunk 1 (the second copy of the weights, other micro-batches) the other way.
struct PipelinePlace {
  int stage = 0;
  int chunk = 0;

  friend bool operator==(const PipelinePlace&, const PipelinePlace&) = default;
};

/// Places on a micro-batch's way: stages * chunks, or stages for DualPipe.
[[nodiscard]] int positions(const ScheduleShape& shape);
[[nodiscard]] int position_of(const ScheduleShape& shape, PipelinePlace place);
/// The place at `position` on the way of micro-batch `micro` (its direction matters to DualPipe).
[[nodiscard]] PipelinePlace place_at(const ScheduleShape& shape, int position, int micro);

/// The order in which every stage runs its passes, and nothing else: no times, no transfers.
struct Schedule {
  ScheduleShape shape;
  std::vector<std::vector<Pass>> stages;

  [[nodiscard]] bool splits_backward() const;
};

/// Builds the schedule. Sources: GPipe arXiv 1811.06965; 1F1B (PipeDream-flush) arXiv 2006.09503;
/// interleaving arXiv 2104.04473 and Megatron-LM; ZB-H1, ZB-H2 (`zb-2p`) and ZB-V arXiv 2401.10241
/// and 2405.15362; DualPipe arXiv 2412.19437. Orders: models/README.md, "Schedules".
/// @pre the shape is legal (plan_rules.hpp): all counts >= 1; interleaving in whole groups;
///      ZB-V and DualPipe have two chunks, DualPipe an even number of stages and micro-batches.
[[nodiscard]] Schedule make_schedule(const ScheduleShape& shape);

/// One pass in an order in which every pass comes after all that it waits for: its predecessor on
/// its own stage, the pass at the position before (forward) or after (backward) of the same
/// micro-batch, and its own forward or input-gradient pass.
struct OrderedPass {
  Pass pass;
  int stage = 0;
};

/// A topological order of the whole schedule.
/// @throws nothing; FORETRAIN_REQUIREs that the schedule is free of deadlock.
[[nodiscard]] std::vector<OrderedPass> execution_order(const Schedule& schedule);

}  // namespace foretrain
