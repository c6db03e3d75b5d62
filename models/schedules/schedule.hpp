// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/base/quantity.hpp"
#include "models/inputs/job.hpp"

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

/// The shape of a job's schedule. On a single stage there is nothing to order: every schedule is
/// gradient accumulation, one micro-batch after the other, as 1F1B has it.
[[nodiscard]] ScheduleShape schedule_shape(const Job& job);

/// Whether make_schedule can build it: all counts at least 1; interleaving in groups of at least as
/// many micro-batches as there are stages, the last one too, or in one group; two chunks for ZB-V
/// and DualPipe, one for the others; an even number of stages and micro-batches for DualPipe.
[[nodiscard]] bool is_legal(const ScheduleShape& shape);

/// Where a pass of (stage, chunk) stands on a micro-batch's way through the model: position 0 holds
/// the embedding, the last the loss. Interleaving: chunk * stages + stage; ZB-V: down the stages
/// with chunk 0 and back up with chunk 1; DualPipe: chunk 0 runs from the first stage to the last,
/// chunk 1 (the second copy of the weights) the other way, with the second half of the
/// micro-batches.
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
/// and 2405.15362; DualPipe arXiv 2412.19437. Orders: models/schedules/README.md, "Orders".
/// @pre is_legal(shape).
[[nodiscard]] Schedule make_schedule(const ScheduleShape& shape);

/// Times of the passes through one chunk of one stage.
struct PassDurations {
  Seconds forward;
  Seconds input_gradient;
  Seconds weight_gradient;
};

/// What an order can be fitted to.
struct ScheduleTimes {
  std::vector<PassDurations> places;  ///< by stage * chunks + chunk
  Seconds transfer;                   ///< of activations or their gradients to the next stage
  /// Of the activations of a pass, what stays until its weight gradients: 32 / (34 + 5 a s / h)
  /// with unfused attention (arXiv 2401.10241 table 1).
  double weight_share = 1.0;
};

/// The schedule that the automatic scheduler of arXiv 2401.10241 section 3 looks for: the idle time
/// of the worst stage as short as its greedy heuristic makes it, within p (`zb-h1`, its ZB-1p) or 2
/// p
/// (`zb-2p`) micro-batches' activations; ZB-V keeps its forward passes and input gradients and
/// moves the weight gradients (section 6). Never worse than the handcrafted order, which other
/// kinds get. Stages' times may differ. O(stages * passes).
/// @pre is_legal(shape); stages * chunks places; 0 <= weight_share <= 1.
[[nodiscard]] Schedule make_schedule(const ScheduleShape& shape, const ScheduleTimes& times);

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

/// After some micro-batches the order of passes repeats with a fixed period: whatever a step of
/// many takes is what a step of fewer takes, and a number of times what a period adds.
struct ScheduleFold {
  ScheduleShape longer;   ///< past the start, with some periods of the steady state
  ScheduleShape shorter;  ///< a few periods less
  double times = 0.0;     ///< that `longer` less `shorter` is added to `longer`
};

/// Absent where the schedule is too short to leave out anything.
[[nodiscard]] std::optional<ScheduleFold> fold_of(const ScheduleShape& shape);

}  // namespace foretrain
