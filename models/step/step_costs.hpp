// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/base/sparse_array.hpp"
#include "models/data/data_parallel.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/inputs/job.hpp"
#include "models/layers/activations.hpp"
#include "models/layers/layer_operators.hpp"
#include "models/layers/pass_times.hpp"
#include "models/schedules/schedule.hpp"

namespace foretrain {

/// Saved tensors that wait in host memory (memory.activation_offload, and layers that Megatron-Core
/// offloads whole) are copied over the link between a GPU and its processor's memory, beside
/// kernels: a pass lasts longer by max(0, copies - kernels). Where only the first layers of a model
/// are offloaded, their copies are spread over all layers' kernels, as Transformer Engine does.
/// Sources: models/memory/README.md, "Offload".
class ActivationOffload {
 public:
  explicit ActivationOffload(const Job& job);

  /// Bytes of one layer, one way; of a layer that is recomputed whole, its share of what a group of
  /// such layers starts from.
  [[nodiscard]] Bytes of_layer(const LayerVariant& variant) const;
  /// @param times of the layer without its copies
  [[nodiscard]] OffloadShown shown(const LayerVariant& variant, const PieceTimes& times) const;

 private:
  const Job& job_;
  std::optional<ActivationModel> model_;  ///< nothing where nothing is offloaded
};

/// Pieces that a layer of one type may be: kept or recomputed, each of them in bf16 as well.
inline constexpr std::size_t pieces_per_type = 4;

/// Pieces that a model is cut into; all pieces of one kind cost the same.
enum class PieceKind : std::uint8_t {
  embedding,
  /// Layers by type_index(), four of each: keeps its activations; runs its forward pass again; both
  /// in bf16, in quantised training (Training::bf16_end_layers).
  layer,
  recomputed_layer,
  wide_layer,
  head = layer + pieces_per_type * layer_types.size(),
  vocabulary_share,  ///< embedding and head split over the stages
  vision,            ///< a vision tower and its projectors, on the first stage
  // torch.nn.DataParallel (single_process.hpp):
  replicas,    ///< inputs and weights to all GPUs; their gradients back
  outputs,     ///< outputs to GPU 0; their gradients back
  other_loss,  ///< the loss of all other replicas on GPU 0
  prediction,  ///< prediction modules without their outputs, on another stage than the loss
  /// Layers below all that is trained: each form, and the same in bf16.
  frozen_layer
};
/// What a step takes beside its passes and exchanges: the stack's constant, host work that shows
/// behind a synchronisation. A step that is one CUDA graph has none to show but the copy of its
/// inputs and one launch.
/// @param work what the busiest stage's passes take: steps shorter than all that the constant was
///   fitted to have it in proportion
[[nodiscard]] Seconds step_constant(const Job& job, Seconds work);

/// The piece that a transformer layer is.
[[nodiscard]] PieceKind layer_piece(const LayerVariant& variant);
/// A layer whose products a quantised training computes in less than 16 bits.
[[nodiscard]] bool computes_narrow(PieceKind kind);

inline constexpr std::size_t piece_kinds =
    static_cast<std::size_t>(PieceKind::frozen_layer) + 2 * layer_types.size();
/// "recomputed expert layer".
[[nodiscard]] std::string piece_name(PieceKind kind);
/// The layer that a piece is; nothing for other pieces.
[[nodiscard]] std::optional<LayerVariant> layer_of(PieceKind kind);

/// `count` equal pieces in a row.
struct PieceRun {
  PieceKind kind = PieceKind::layer;
  int count = 0;

  friend bool operator==(const PieceRun&, const PieceRun&) = default;
};

/// Once per step on one stage.
struct StageCosts {
  Seconds optimizer;
  /// An activation to the next stage, or its gradient back; of the last stage: to the first, where
  /// chunks go around.
  Seconds transfer;
};

/// Everything that the evaluators know about one step: what each task costs, nothing of when it
/// runs. The closed form and the task graph read the same table, so that they can differ only in
/// how they combine it.
struct StepCosts {
  ScheduleShape shape;
  SparseArray<PieceTimes, piece_kinds> pieces;
  /// Of the pieces' `data`: copies of saved tensors and of weights to host memory and back.
  SparseArray<OffloadShown, piece_kinds> offload;
  std::vector<PieceRun> runs;        ///< of all chunks, in model order within a chunk
  std::vector<std::uint32_t> first;  ///< chunk -> offset into `runs`, one more than chunks
  std::vector<PieceTimes> chunks;    ///< one micro-batch through chunk c of stage s: s * chunks + c
  /// What each chunk exchanges once per step with those that hold the same weights, in the order of
  /// `chunks`; empty: nothing.
  std::vector<ChunkTraffic> traffic;
  SyncOverlap overlap;
  std::vector<StageCosts> stages;
  bool transfer_blocks = false;  ///< the sender of a transfer computes nothing meanwhile
  /// Stages do not wait for each other between steps: a step lasts as long as the longest stage,
  /// from its own first task to its own last. ZB-H2 needs it: its passes form a parallelogram, and
  /// the optimizer step is validated afterwards (arXiv 2401.10241 sections 2.2 and 4).
  bool staggered = false;
  double weight_share = 1.0;  ///< of a pass's activations, what stays for weight gradients
  Seconds tied_embedding;     ///< all-reduce between the first and the last stage
  Seconds constant;           ///< per step
  double jitter = 0.0;        ///< the slowest of many hosts: share of the step
  double release = 1.0;       ///< of the stack: on the whole step

  [[nodiscard]] std::size_t index(PipelinePlace place) const {
    return static_cast<std::size_t>(place.stage) * static_cast<std::size_t>(shape.chunks) +
           static_cast<std::size_t>(place.chunk);
  }
  [[nodiscard]] ChunkTraffic traffic_at(std::size_t chunk) const {
    return traffic.empty() ? ChunkTraffic{} : traffic[chunk];
  }
  /// What all chunks of a stage exchange once per step.
  [[nodiscard]] Seconds gradients_of(int stage) const {
    return sum_of(stage, &ChunkTraffic::gradients);
  }
  [[nodiscard]] Seconds weights_of(int stage) const {
    return sum_of(stage, &ChunkTraffic::weights);
  }
  [[nodiscard]] const PieceTimes& at(PipelinePlace place) const { return chunks[index(place)]; }
  [[nodiscard]] std::span<const PieceRun> content(PipelinePlace place) const {
    const std::size_t i = index(place);
    return {runs.data() + first[i], runs.data() + first[i + 1]};
  }
  /// Whose StageCosts::transfer lies between two stages. @pre they are neighbours, or the last and
  /// the first
  [[nodiscard]] std::size_t hop_stage(int from, int to) const {
    const bool around = std::abs(from - to) > 1;
    return around ? stages.size() - 1 : static_cast<std::size_t>(std::min(from, to));
  }
  /// What a transfer between two stages takes.
  [[nodiscard]] Seconds hop(int from, int to) const { return stages[hop_stage(from, to)].transfer; }
  [[nodiscard]] Seconds longest_transfer() const {
    Seconds longest;
    for (const StageCosts& stage : stages) longest = max(longest, stage.transfer);
    return longest;
  }
  /// Micro-batches that run through each chunk in a step: of several copies, each takes its part.
  [[nodiscard]] int microbatches_per_chunk() const {
    return shape.microbatches * positions(shape) / (shape.stages * shape.chunks);
  }

 private:
  [[nodiscard]] Seconds sum_of(int stage, Seconds ChunkTraffic::*part) const {
    Seconds sum;
    if (traffic.empty()) return sum;
    for (int chunk = 0; chunk < shape.chunks; ++chunk) sum += traffic[index({stage, chunk})].*part;
    return sum;
  }
};

/// Prices one step of a job. Equations: models/layers/README.md, "Time of a layer";
/// models/step/README.md, "Time of a step"; models/data/README.md, "Data parallelism".
/// @pre broken_rules(job) and not_modelled(job) are empty.
[[nodiscard]] StepCosts step_costs(const Job& job, const StageLayout& layout);

/// What a rank holds of a piece. `layers` is held_layers(job).
[[nodiscard]] PieceParameters piece_parameters(const Job& job, const HeldLayers& layers,
                                               PieceKind kind);
/// Every kind of piece of the job that holds parameters.
[[nodiscard]] std::vector<PieceKind> pieces_with_parameters(const Job& job);
/// Whether a tensor group sends an activation to the next stage in parts.
[[nodiscard]] bool scatters_boundaries(const Job& job);
/// What a micro-batch sends from this stage to the next one, as much as the gradient of it. From
/// the prediction modules on, where they are away from the loss, their hidden states as well.
[[nodiscard]] Exchange transfer_exchange(const Job& job, int from);

/// Operators of every kind of piece, for task graphs at operator detail.
using PieceOperators = std::array<Operators, piece_kinds>;
[[nodiscard]] PieceOperators piece_operators(const Job& job);

}  // namespace foretrain
