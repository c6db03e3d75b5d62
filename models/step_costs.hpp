// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/job.hpp"
#include "models/pass_times.hpp"
#include "models/schedule.hpp"
#include "models/stage_layout.hpp"

namespace foretrain {

/// Traffic between data-parallel ranks that may run beside one pass of a chunk: gradients beside
/// the last backward pass, updated weights beside the first forward pass of a step.
struct SyncTraffic {
  Seconds beside;  ///< can hide behind the pass, from (gradients) or up to (weights) its window
  Seconds alone;   ///< never hides: the last bucket, or all of it without overlap
  Seconds slowed;  ///< what the pass loses to it

  [[nodiscard]] Seconds total() const { return beside + alone; }
};

/// Once per step on one stage.
struct StageCosts {
  SyncTraffic gradients;
  SyncTraffic weights;
  Seconds tied_embedding;  ///< all-reduce between the first and the last stage
  Seconds optimizer;
};

/// Everything that the evaluators know about one step: what each task costs, nothing of when it
/// runs. The closed form and the task graph read the same table, so that they can only differ in
/// how they combine it.
struct StepCosts {
  ScheduleShape shape;
  std::vector<PieceTimes> chunks;  ///< one micro-batch through chunk c of stage s: [s * chunks + c]
  std::vector<StageCosts> stages;
  Seconds transfer;              ///< an activation, or its gradient, to the neighbouring stage
  bool transfer_blocks = false;  ///< the sender computes nothing meanwhile
  double data_window = 1.0;      ///< share of a pass that SyncTraffic::beside can hide behind
  Seconds constant;              ///< per step, on every stage
  double jitter = 0.0;           ///< the slowest of many hosts, share of the whole step

  [[nodiscard]] const PieceTimes& at(PipelinePlace place) const {
    return chunks[static_cast<std::size_t>(place.stage * shape.chunks + place.chunk)];
  }
};

/// Prices one step of a job. Equations: models/README.md, "Layers" to "Data parallelism".
/// @pre broken_rules(job) and not_modelled(job) are empty.
[[nodiscard]] StepCosts step_costs(const Job& job, const StageLayout& layout);

}  // namespace foretrain
