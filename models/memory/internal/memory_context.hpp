// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/layers/memory_parameters.hpp"
#include "models/memory/memory.hpp"
#include "models/schedules/in_flight.hpp"

namespace foretrain::memory_detail {

/// Everything the rows of one stage are computed from.
struct StageContext {
  const Job& job;
  const MemoryRules& rules;
  const StageLayout& layout;
  const ActivationModel& activations;
  int stage = 0;
  StageEnds ends;
  RankParameters parameters;
  int moe_layers = 0;
  int dense_layers = 0;
  double dense_shards = 1.0;  ///< ranks that share the states of a dense parameter
  double expert_shards = 1.0;
};

/// @pre as account_stage().
[[nodiscard]] StageContext make_context(const Job& job, const StageLayout& layout,
                                        const ActivationModel& activations, int stage);

/// account_stage() of one of many stages. @param first with torch.nn.DataParallel: GPU 0, else one
/// of the others
[[nodiscard]] StageAccount account(const StageContext& context, const JobLivePasses& live,
                                   bool first = true);

// torch.nn.DataParallel (memory_replicas.cpp).
/// Summed gradients of earlier micro-batches are there when the next ones come.
[[nodiscard]] bool accumulates_gradients(const StageContext& context);
/// Gradients of one backward pass, all of which wait for their sum.
[[nodiscard]] double replica_gradient_bytes(const StageContext& context);
/// Of the sum, on GPU 0 or on another.
[[nodiscard]] double replica_buffers(bool first);
/// Turns the phases of a data-parallel rank into those of GPU 0, or of any other.
void hold_on_first(const StageContext& context, StageAccount& account);
void hold_on_other(const StageContext& context, StageAccount& account);

// Resident rows.
void add_weights(const StageContext& context, MemoryBytes& rows);
void add_gradients(const StageContext& context, MemoryBytes& rows);
[[nodiscard]] double main_gradients(const StageContext& context);
void add_optimizer(const StageContext& context, MemoryBytes& rows);
void add_workspaces(const StageContext& context, MemoryBytes& rows);
void add_leftovers(const StageContext& context, MemoryBytes& rows);

/// Moves states to the host where the job asks for it, and notes in `account` what that takes.
void offload_states(const StageContext& context, MemoryBytes& rows, StageAccount& account);

// Rows of the phases of a step.
/// Ends of the model that a chunk holds.
struct ChunkEnds {
  bool embedding = false;
  bool output = false;
};
/// A chunk that the stage runs: its own, or the mirrored stage's where it holds both.
struct HeldChunk {
  const ChunkLayers& layers;
  ChunkEnds ends;
};
[[nodiscard]] HeldChunk held_chunk(const StageContext& context, const ScheduleShape& shape,
                                   int chunk);
/// What `passes` forward passes through the layers of one chunk keep for their backward passes.
void add_live_chunk(const StageContext& context, const ChunkLayers& chunk, ChunkEnds ends,
                    double passes, MemoryBytes& rows);
/// What is there while any pass of the step runs, however many are alive.
void add_step_buffers(const StageContext& context, MemoryBytes& rows);
void add_live_activations(const StageContext& context, const JobLivePasses& live,
                          MemoryBytes& rows);
void add_backward_layer(const StageContext& context, MemoryBytes& rows);
void add_unsharded(const StageContext& context, bool backward, MemoryBytes& rows);
/// Saved tensors in host memory: at the peak, and of one micro-batch through the whole stage.
struct OffloadedActivations {
  double held = 0.0;
  double per_microbatch = 0.0;
};
[[nodiscard]] OffloadedActivations offloaded_activations(const StageContext& context,
                                                         const JobLivePasses& live);
/// Adds the fixed buffers of CUDA graphs, and their pools where passes do not fill them.
void capture_graphs(const StageContext& context, const JobLivePasses& live, StageAccount& account);
void add_deferred_outputs(const StageContext& context, int microbatches, MemoryBytes& rows);

}  // namespace foretrain::memory_detail
