// SPDX-License-Identifier: Apache-2.0
#include "models/step/step_costs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "models/collectives/collective_cost.hpp"
#include "models/data/optimizer_update.hpp"
#include "models/data/single_process.hpp"
#include "models/grid/process_grid.hpp"
#include "models/inputs/recipe.hpp"
#include "models/layers/layer_cost.hpp"
#include "models/layers/layer_ends.hpp"
#include "models/layers/parameters.hpp"
#include "models/layers/vision_tower.hpp"
#include "models/schedules/registry.hpp"
#include "models/step/internal/step_pieces.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {
namespace {

constexpr double half = 2.0;  // bytes of a bf16 or fp16 element

/// One activation (or its gradient) between neighbouring stages, within a scale-up domain and to
/// another one.
struct TransferTimes {
  Seconds near;
  Seconds far;
};

TransferTimes transfer_times(const Job& job, const ProcessGrid& grid, int from) {
  const CollectivePath path{job.cluster, job.device_profile, job.site};
  const Bytes payload = transfer_exchange(job, from).payload;
  const Group pair = grid.group(GroupKind::neighbours);
  const int hosts_apart = pair.on_hosts(job.cluster.packing()).span_hosts;
  return {send_time(payload, 1, path), send_time(payload, std::max(2, hosts_apart), path)};
}

void fill_transfers(const Job& job, StepCosts& costs) {
  if (job.parallel.pipeline == 1) return;
  const ProcessGrid grid{job.parallel};
  const int gpus = job.cluster.packing().domain;
  const bool alike = !predicts_apart(job);
  TransferTimes times = transfer_times(job, grid, 0);
  for (int stage = 0; stage < costs.shape.stages; ++stage) {
    if (!alike) times = transfer_times(job, grid, stage);
    costs.stages[static_cast<std::size_t>(stage)].transfer =
        grid.leaves_domain(stage, gpus) ? times.far : times.near;
  }
}

/// Layers at the start of a chunk that full recomputation runs twice.
int recomputed_layers(const Recompute& recompute, int layers) {
  if (recompute.kind != RecomputeKind::full) return 0;
  return recompute.method == RecomputeMethod::uniform ? layers : std::min(layers, recompute.layers);
}

/// Half of them at either end of the model, the odd one at its start.
bool is_bf16_layer(const Job& job, int layer) {
  const int count = bf16_end_layers(job.training);
  return layer < (count + 1) / 2 || layer >= job.model.layers - count / 2;
}

/// Fills StepCosts chunk by chunk.
class ChunkFiller {
 public:
  ChunkFiller(const Job& job, StepCosts& costs) : job_{job}, costs_{costs} {}

  void begin_chunk() {
    costs_.first.push_back(static_cast<std::uint32_t>(costs_.runs.size()));
    costs_.chunks.emplace_back();
  }
  void add(PieceKind kind, int count = 1) {
    if (count <= 0) return;
    costs_.chunks.back() +=
        static_cast<double>(count) * costs_.pieces[static_cast<std::size_t>(kind)];
    const bool continues =
        costs_.runs.size() > costs_.first.back() && costs_.runs.back().kind == kind;
    if (continues)
      costs_.runs.back().count += count;
    else
      costs_.runs.push_back({kind, count});
  }
  void add_layers(const ChunkLayers& chunk) {
    const int again = recomputed_layers(job_.memory.recompute, chunk.layers);
    const int moe = moe_layers(chunk.forms);
    const bool mixed = (moe > 0 && moe < chunk.layers) || job_.model.is_hybrid() ||
                       !job_.model.special_pattern.empty();
    const int sequence = job_.training.sequence;
    const int frozen = job_.fine_tuning.frozen_layers;
    if (!mixed && bf16_end_layers(job_.training) == 0 && !job_.model.windows_cut(sequence) &&
        frozen == 0) {
      const LayerKind kind = moe > 0 ? LayerKind::moe : LayerKind::dense;
      add(layer_piece({.kind = kind, .recomputed = true}), again);
      add(layer_piece({.kind = kind}), chunk.layers - again);
      return;
    }
    for (int i = 0; i < chunk.layers; ++i) {
      const int layer = chunk.first_layer + i;
      const LayerType type = layer_type(job_.model, layer, sequence);
      LayerVariant variant =
          variant_of(type, i < again && layer >= frozen, is_bf16_layer(job_, layer));
      variant.frozen = layer < frozen;
      add(layer_piece(variant));
    }
  }

 private:
  const Job& job_;
  StepCosts& costs_;
};

void price_pieces(const Job& job, const HeldLayers& layers, StepCosts& costs) {
  const LayerCost cost{job};
  std::optional<Job> reference;
  std::optional<LayerCost> compared;
  if (job.fine_tuning.has_reference()) compared.emplace(reference.emplace(reference_job(job)));
  const auto set = [&](PieceKind kind, PieceTimes times) {
    costs.offload[static_cast<std::size_t>(kind)] =
        add_shard_traffic(job, piece_parameters(job, layers, kind), times);
    costs.pieces[static_cast<std::size_t>(kind)] = times;
  };
  /// With the forward pass through the reference, which runs before.
  const auto with = [](PieceTimes times, const PieceTimes& also) {
    times.forward += also.forward;
    return times;
  };
  if (splits_vocabulary(job.parallel)) set(PieceKind::vocabulary_share, cost.vocabulary_share());
  set(PieceKind::embedding,
      compared ? with(cost.embedding(), compared->embedding()) : cost.embedding());
  set(PieceKind::head, compared ? with(cost.head(), compared->head()) : cost.head());
  if (job.has_tower())
    set(PieceKind::vision,
        compared ? with(tower_times(job), tower_times(*reference)) : tower_times(job));
  if (predicts_apart(job)) set(PieceKind::prediction, cost.prediction());
  const ActivationOffload offload{job};
  for (const LayerVariant& variant : layer_variants(job)) {
    const PieceKind kind = layer_piece(variant);
    const OffloadShown shown = offload.shown(variant, cost.layer(variant));
    LayerVariant kept = variant;
    kept.recomputed = kept.frozen = false;
    set(kind, compared ? with(cost.layer(variant), compared->layer(kept)) : cost.layer(variant));
    PieceTimes& piece = costs.pieces[static_cast<std::size_t>(kind)];
    piece.forward.data += shown.forward;
    piece.input_gradient.data += shown.backward;
    costs.offload[static_cast<std::size_t>(kind)] += shown;
  }
}

/// What torch.nn.DataParallel adds to every micro-batch.
void price_replicas(const Job& job, const StageLayout& layout, StepCosts& costs) {
  if (!job.parallel.single_process()) return;
  const ReplicaTraffic traffic = replica_traffic(job, rank_parameters(job, layout, 0));
  const auto of = [&](PieceKind kind) -> PieceTimes& {
    return costs.pieces[static_cast<std::size_t>(kind)];
  };
  of(PieceKind::replicas) = replicas_piece(traffic);
  of(PieceKind::outputs) = outputs_piece(traffic);
  of(PieceKind::other_loss) = other_loss_piece(job);
}

/// Layers of the chunk at a place; a second copy of weights belongs to the mirrored stage.
const ChunkLayers& layers_at(const StageLayout& layout, const ScheduleShape& shape,
                             PipelinePlace place) {
  if (traits_of(shape.kind).placement == Placement::mirrored && place.chunk == 1)
    return layout.chunks[static_cast<std::size_t>(shape.stages - 1 - place.stage)].front();
  return layout
      .chunks[static_cast<std::size_t>(place.stage)][static_cast<std::size_t>(place.chunk)];
}

void fill_chunk(const Job& job, const ChunkLayers& layers, PipelinePlace place, ChunkFiller& filler,
                const ScheduleShape& shape) {
  const int position = position_of(shape, place);
  const bool split = splits_vocabulary(job.parallel);
  filler.begin_chunk();
  if (job.parallel.single_process()) filler.add(PieceKind::replicas);
  if (position == 0 && job.has_tower()) filler.add(PieceKind::vision);
  if (position == 0 && !split) filler.add(PieceKind::embedding);
  filler.add_layers(layers);
  if (predicts_apart(job) && place.stage == *job.parallel.prediction_stage &&
      place.chunk == shape.chunks - 1)
    filler.add(PieceKind::prediction);
  if (position + 1 == positions(shape) && !split) filler.add(PieceKind::head);
  if (split && place.chunk == shape.chunks - 1) filler.add(PieceKind::vocabulary_share);
  if (!job.parallel.single_process()) return;
  filler.add(PieceKind::outputs);
  if (job.parallel.gather == GatherKind::outputs) filler.add(PieceKind::other_loss);
}

void fill_chunks(const Job& job, const StageLayout& layout, StepCosts& costs) {
  const ScheduleShape& shape = costs.shape;
  const std::size_t chunks =
      static_cast<std::size_t>(shape.stages) * static_cast<std::size_t>(shape.chunks);
  costs.first.reserve(chunks + 1);
  costs.chunks.reserve(chunks);
  costs.runs.reserve(3 * chunks);
  ChunkFiller filler{job, costs};
  for (int stage = 0; stage < shape.stages; ++stage)
    for (int chunk = 0; chunk < shape.chunks; ++chunk)
      fill_chunk(job, layers_at(layout, shape, {stage, chunk}), {stage, chunk}, filler, shape);
  costs.first.push_back(static_cast<std::uint32_t>(costs.runs.size()));
}

/// Of a layer's activations the operands of its products, which wait for the weight gradients
/// (arXiv 2401.10241 table 1; scores as in arXiv 2205.05198).
double weight_share(const Job& job) {
  const bool scores = job.memory.attention == AttentionKind::unfused;
  const double per_token = 5.0 * job.model.heads * job.training.sequence / job.model.hidden;
  return 32.0 / (34.0 + (scores ? per_token : 0.0));
}

/// Parameters of the pieces of a chunk on a rank: norms at the ends and prediction modules aside.
double chunk_parameters(const Job& job, const HeldLayers& layers,
                        std::span<const PieceRun> content) {
  double sum = 0.0;
  for (const PieceRun& run : content) {
    const PieceParameters one = piece_parameters(job, layers, run.kind);
    sum += run.count * (one.trained_dense + one.trained_experts);
  }
  return sum;
}

/// Deals out what a stage exchanges once per step to its chunks, by their parameters.
class TrafficFiller {
 public:
  TrafficFiller(const Job& job, const HeldLayers& layers, StepCosts& costs)
      : job_{job}, layers_{layers}, costs_{costs} {
    costs.overlap = sync_overlap(job);
    costs.traffic.reserve(costs.chunks.size());
    if (costs.overlap.gradients || costs.overlap.weights) bucket_ = bucket_parameters(job);
  }

  /// What the stage before exchanges, once more: they hold the same.
  void repeat() {
    const auto chunks = static_cast<std::size_t>(costs_.shape.chunks);
    for (std::size_t i = 0; i < chunks; ++i)
      costs_.traffic.emplace_back(costs_.traffic[costs_.traffic.size() - chunks]);
  }

  void add(int stage, const RankParameters& held) {
    const Seconds gradients = gradient_time(job_, held);
    const Seconds weights = weight_time(job_, held);
    const int chunks = costs_.shape.chunks;
    if (chunks == 1)
      return costs_.traffic.push_back(cut({stage, 0}, held, 1.0, gradients, weights));
    double all = 0.0;
    for (int chunk = 0; chunk < chunks; ++chunk) all += parameters({stage, chunk});
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const double share = all > 0.0 ? parameters({stage, chunk}) / all : 1.0 / chunks;
      costs_.traffic.push_back(cut({stage, chunk}, held, share, gradients, weights));
    }
  }

 private:
  /// Chunks mostly hold what the one before them does.
  double parameters(PipelinePlace place) {
    const std::span<const PieceRun> content = costs_.content(place);
    if (!std::ranges::equal(content, content_)) {
      content_ = content;
      parameters_ = chunk_parameters(job_, layers_, content);
    }
    return parameters_;
  }
  [[nodiscard]] ChunkTraffic cut(PipelinePlace place, const RankParameters& held, double share,
                                 Seconds gradients, Seconds weights) const {
    ChunkTraffic traffic{{}, share * gradients, share * weights};
    const bool whole = job_.stack.times.bucket_first_chunk && (place.stage > 0 || place.chunk > 0);
    if (bucket_ <= 0.0 || whole) return traffic;
    const bool embeds = position_of(costs_.shape, place) == 0;
    const double count = share * held.total();
    traffic.buckets = cut_buckets(count, bucket_, embeds ? std::min(held.embedding, count) : 0.0);
    return traffic;
  }

  const Job& job_;
  const HeldLayers& layers_;
  StepCosts& costs_;
  double bucket_ = 0.0;  ///< parameters; 0: nothing overlaps
  std::span<const PieceRun> content_;
  double parameters_ = 0.0;
};

/// Inner stages mostly hold the same.
bool alike(const StepCosts& costs, int stage) {
  if (stage == 0) return false;
  const auto embeds = [&](PipelinePlace place) { return position_of(costs.shape, place) == 0; };
  for (int chunk = 0; chunk < costs.shape.chunks; ++chunk) {
    const PipelinePlace here{stage, chunk}, before{stage - 1, chunk};
    if (embeds(here) || embeds(before)) return false;
    if (!std::ranges::equal(costs.content(here), costs.content(before))) return false;
  }
  return true;
}

void fill_stages(const Job& job, const HeldLayers& layers, const StageLayout& layout,
                 StepCosts& costs) {
  costs.stages.reserve(static_cast<std::size_t>(costs.shape.stages));
  TrafficFiller traffic{job, layers, costs};
  RankParameters before;
  for (int stage = 0; stage < costs.shape.stages; ++stage) {
    const RankParameters held = rank_parameters(job, layers.trained, layout, stage);
    if (held == before && alike(costs, stage)) {
      traffic.repeat();
      costs.stages.emplace_back(costs.stages.back());
    } else {
      traffic.add(stage, held);
      costs.stages.push_back({optimizer_time(job, held), Seconds{}});
    }
    before = held;
  }
}

/// Whether saved tensors leave the device.
bool offloads_activations(const MemoryOptions& memory) {
  return memory.offloaded_layers > 0 || !(memory.activation_offload == LayerModules{});
}

}  // namespace

ActivationOffload::ActivationOffload(const Job& job) : job_{job} {
  if (offloads_activations(job.memory)) model_ = activation_model(job);
}

Bytes ActivationOffload::of_layer(const LayerVariant& variant) const {
  if (!model_ || variant.frozen) return Bytes{};
  const double whole =
      std::min(1.0, static_cast<double>(job_.memory.offloaded_layers) / job_.model.layers);
  if (variant.recomputed) {
    const Recompute& recompute = job_.memory.recompute;
    const bool groups = recompute.method == RecomputeMethod::uniform;
    return Bytes{whole * model_->layer_input / (groups ? std::max(1, recompute.layers) : 1)};
  }
  const FormActivations& layer = model_->of(variant.type());
  return Bytes{layer.offloaded + whole * layer.kept.total()};
}

OffloadShown ActivationOffload::shown(const LayerVariant& variant, const PieceTimes& times) const {
  const Bytes bytes = of_layer(variant);
  if (bytes <= Bytes{}) return {};
  const Link& link = job_.cluster.host.pcie;
  const Seconds copies = bytes / (link.achievable * link.bandwidth);
  return {max(Seconds{}, copies - times.forward.total()),
          max(Seconds{}, copies - times.backward().total())};
}

bool scatters_boundaries(const Job& job) {
  return job.communication.scatter_gather.value_or(job.stack.times.scatter_gather);
}

Exchange transfer_exchange(const Job& job, int from) {
  const Parallel& plan = job.parallel;
  // Behind the last round of chunks, between the modules and the loss.
  const bool predicted =
      predicts_apart(job) && from >= *plan.prediction_stage && from + 1 < plan.pipeline;
  const double modules = predicted ? 1.0 * job.model.mtp_layers / plan.virtual_stages : 0.0;
  const double width = job.model.boundary_width() + modules * job.model.hidden;
  const double tokens =
      static_cast<double>(job.training.micro_batch) * job.training.sequence / plan.context;
  const double split = plan.sequence || scatters_boundaries(job) ? plan.tensor : 1.0;
  return {.op = CollectiveOp::send,
          .group = GroupKind::neighbours,
          .payload = Bytes{half * tokens * width / split},
          .cover = Cover::kernels,
          .algorithm = CollectiveAlgorithm::direct};
}

Seconds step_constant(const Job& job, Seconds work) {
  // MLPerf Training 5.1 trains Llama 3.1 8B in steps of 85 ms in all, whole steps captured.
  constexpr Seconds captured{5e-3};
  const StackTimes& times = job.stack.times;
  const double share = work < times.constant_from ? work / times.constant_from : 1.0;
  const Seconds constant = share * times.step_constant;
  return job.training.cuda_graphs.has(GraphPart::full_iteration) ? min(constant, captured)
                                                                 : constant;
}

StepCosts step_costs(const Job& job, const StageLayout& layout) {
  StepCosts costs;
  costs.shape = schedule_shape(job);
  const HeldLayers layers = held_layers(job);
  price_pieces(job, layers, costs);
  price_replicas(job, layout, costs);
  fill_chunks(job, layout, costs);
  fill_stages(job, layers, layout, costs);
  fill_transfers(job, costs);
  costs.transfer_blocks = !job.communication.overlap.pipeline;
  costs.tied_embedding = tied_embedding_time(job);
  costs.constant = step_constant(job, stage_work(costs).busiest) + sharded_update_time(job);
  costs.staggered = traits_of(costs.shape.kind).staggered;
  costs.weight_share = weight_share(job);
  costs.release = job.stack.times.release;
  costs.jitter = job.stack.times.jitter * std::log2(std::max(1, job.cluster.hosts));
  return costs;
}

}  // namespace foretrain
