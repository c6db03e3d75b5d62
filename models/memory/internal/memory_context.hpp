// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "models/layers/parameters.hpp"
#include "models/memory/memory.hpp"
#include "models/schedules/in_flight.hpp"

namespace foretrain::memory_detail {

/// What a stage holds, by number: its rows follow from it and from the sizes of a layer.
struct StageContent {
  int stage = 0;
  StageEnds ends;
  FormCounts layers{};
  int largest_chunk = 0;  ///< layers
  /// Full recomputation by `block` makes all layers of a chunk again.
  bool remakes_chunk = false;

  /// Whether stages differ in their place alone.
  [[nodiscard]] bool holds_like(const StageContent& other) const;
  [[nodiscard]] bool has(std::size_t form) const { return layers[form] > 0; }
  /// The most of `of(form)` over the forms of its layers.
  template <class Of>
  [[nodiscard]] double most(const Of& of) const {
    double found = 0.0;
    for (std::size_t form = 0; form < layer_forms; ++form)
      if (has(form)) found = std::max(found, of(form));
    return found;
  }
};
[[nodiscard]] StageContent stage_content(const Job& job, const StageLayout& layout, int stage);

/// Tensors that passes keep alive on a stage, by number: of layers, each live pass counted.
struct LiveTensors {
  std::array<double, layer_forms> layers{};  ///< that keep what they save, by form_index()
  double inputs = 0.0;                       ///< inputs of layers that full recomputation keeps
  double passes = 0.0;                       ///< through any chunk
  double embedding = 0.0;
  double output = 0.0;
  double prediction = 0.0;
  std::array<double, layer_forms> postponed{};  ///< layers whose weight gradients wait

  /// Nothing of `other` is more.
  [[nodiscard]] bool covers(const LiveTensors& other) const;
};

/// Everything the rows of one stage are computed from.
struct StageContext : StageContent {
  const Job& job;
  const MemoryRules& rules;
  const StageLayout& layout;
  const ActivationModel& activations;
  RankParameters parameters;
  RankParameters trained;     ///< of those, what is not frozen
  double dense_shards = 1.0;  ///< ranks that share the states of a dense parameter
  double expert_shards = 1.0;
};

/// @pre as account_stage().
[[nodiscard]] StageContext make_context(const Job& job, const StageLayout& layout,
                                        const ActivationModel& activations, int stage);
/// Without parameters and shards, which state_bytes() alone reads.
[[nodiscard]] StageContext pass_context(const Job& job, const StageLayout& layout,
                                        const ActivationModel& activations,
                                        const StageContent& content);
/// Adds them.
void add_shards(StageContext& context);

/// account_stage() of one of many stages. @param first with torch.nn.DataParallel: GPU 0, else one
/// of the others
[[nodiscard]] StageAccount account(const StageContext& context, const JobLivePasses& live,
                                   bool first = true);

// torch.nn.DataParallel (memory_sums.cpp).
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
/// Gradients that wait for the optimizer, where they are summed up in every pass.
[[nodiscard]] MemoryBytes sharded_gradients(const StageContext& context);
/// Whether shards of gradients go to the host as they are made, where weights and states are:
/// FSDP's CPUOffloadPolicy (torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py,
/// foreach_reduce), DeepSpeed's offload_param (runtime/zero/stage3.py,
/// grad_partitions_flat_buffer).
[[nodiscard]] bool offloads_gradients(const Job& job);
[[nodiscard]] double main_gradients(const StageContext& context);
/// Copies of states while the optimizer steps; of the output projection where it is updated first
/// in the backward pass, beside all that layers keep.
[[nodiscard]] double step_copies(const StageContext& context);
[[nodiscard]] double output_step_copies(const StageContext& context);
void add_optimizer(const StageContext& context, MemoryBytes& rows);
void add_workspaces(const StageContext& context, MemoryBytes& rows);

/// Moves states to the host where the job asks for it, and notes in `account` what that takes.
void offload_states(const StageContext& context, MemoryBytes& rows, StageAccount& account);

// Rows of the phases of a step. `Rows` is MemoryBytes, or MemorySum for their sum alone.
template <class Rows>
void add_leftovers(const StageContext& context, Rows& rows);
/// Ends of the model that a chunk holds.
struct ChunkEnds {
  bool embedding = false;
  bool output = false;
  bool prediction = false;
};
/// A chunk that the stage runs: its own, or the mirrored stage's where it holds both.
struct HeldChunk {
  const ChunkLayers& layers;
  ChunkEnds ends;
};
[[nodiscard]] HeldChunk held_chunk(const StageContent& content, const StageLayout& layout,
                                   const ScheduleShape& shape, int chunk);
/// What `passes` forward passes through a chunk keep for their backward passes, by number.
void count_live_chunk(const Job& job, const HeldChunk& chunk, double passes, LiveTensors& live);
[[nodiscard]] LiveTensors live_tensors(const Job& job, const StageContent& content,
                                       const StageLayout& layout, const JobLivePasses& live);
template <class Rows>
void add_live(const StageContext& context, const LiveTensors& live, Rows& rows);
/// What is there while any pass of the step runs, however many are alive.
template <class Rows>
void add_step_buffers(const StageContext& context, Rows& rows);
template <class Rows>
void add_backward_layer(const StageContext& context, const LiveTensors& live, Rows& rows);
void add_unsharded(const StageContext& context, bool backward, MemoryBytes& rows);
/// The bucket that a backward pass sums gradients in: as the plan says, or as the stack has it.
[[nodiscard]] double reduce_bucket(const StageContext& context);
/// Buckets of replicas: DDP copies every gradient into one (its gradient_as_bucket_view is off by
/// default) and keeps them; Horovod has one fusion buffer.
[[nodiscard]] double replica_buckets(const StageContext& context);
/// Saved tensors in host memory: at the peak, and of one micro-batch through the whole stage.
struct OffloadedActivations {
  double held = 0.0;
  double per_microbatch = 0.0;
};
[[nodiscard]] OffloadedActivations offloaded_activations(const StageContext& context,
                                                         const JobLivePasses& live);
/// Adds the fixed buffers of CUDA graphs, and their pools where passes do not fill them.
void capture_graphs(const StageContext& context, const JobLivePasses& live, StageAccount& account);
template <class Rows>
void add_deferred_outputs(const StageContext& context, int microbatches, Rows& rows);

// Sums of phases (memory_sums.cpp).
/// Of the loss and its gradients, what the stage makes: all, nothing, or an even share.
[[nodiscard]] double loss_share(const StageContext& context);

/// Bytes of a stage that neither the micro-batch nor what is recomputed changes.
struct StateBytes {
  double states = 0.0;  ///< weights, optimizer, workspaces
  double paged = 0.0;   ///< states of the optimizer beside them
  double gradients = 0.0;
  double main_gradients = 0.0;
  double step_copies = 0.0;
  double output_step_copies = 0.0;
  double reduce_bucket = 0.0;
  double unsharded_forward = 0.0;
  double unsharded_backward = 0.0;
};
[[nodiscard]] StateBytes state_bytes(const StageContext& context);

/// What all rows of each phase add up to; the largest is the peak of a stage. CUDA graphs and
/// torch.nn.DataParallel change rows afterwards.
using PhaseTotals = std::array<double, memory_phases>;
[[nodiscard]] PhaseTotals phase_totals(const StageContext& context, const StateBytes& states,
                                       const LiveTensors& live);
/// Whether phase_totals() are all.
[[nodiscard]] bool sums_suffice(const Job& job);

/// Bytes beyond the allocator's: communicators and context.
struct OutsideBytes {
  double communicators = 0.0;
  double context = 0.0;

  [[nodiscard]] double total() const { return communicators + context; }
};
[[nodiscard]] OutsideBytes outside_bytes(const Job& job);
/// Of a stage with `allocated` bytes at its peak, beside `paged` ones that fill what is left of the
/// device's memory and no more.
[[nodiscard]] MemoryNeed need_of(const Job& job, double allocated, double outside, double paged);

/// A stage that can need most, with what its passes keep alive.
struct HeavyStage {
  StageContent content;
  LiveTensors live;
};
/// No stage needs more than all of these: of stages that hold alike, one that covers another one.
[[nodiscard]] std::vector<HeavyStage> heavy_stages(const Job& job, const StageLayout& layout);

}  // namespace foretrain::memory_detail
