// SPDX-License-Identifier: Apache-2.0
// CUDA graphs: what the processor still launches, and where what passes save lies.
#include "models/layers/launch_graphs.hpp"

#include <array>

#include "models/base/ranges.hpp"
#include "models/inputs/recipe.hpp"

namespace foretrain {
namespace {

/// Whether the operator is launched at all.
bool is_launched(const LayerOperator& op, const Parallel& plan) {
  switch (op.work) {
    case LayerWork::unpriced:
      return false;
    case LayerWork::tensor_gather:
    case LayerWork::tensor_scatter:
      return plan.tensor > 1;
    case LayerWork::context_swap:
      return plan.context > 1;
    case LayerWork::column_gather:
      return op.part == LayerPart::experts ? plan.expert_tensor_size() > 1 : plan.tensor > 1;
    case LayerWork::expert_gather:
    case LayerWork::expert_scatter:
      return plan.expert_tensor_size() > 1;
    case LayerWork::expert_exchange:
      return plan.expert > 1;
    default:
      return true;
  }
}

// Launches of operators that are several kernels in Megatron-Core, fused where it can
// (core/transformer/moe/{router,moe_utils,token_dispatcher,experts}.py): the gate with its casts;
// scores, top-k, map, counts and auxiliary loss; rows and probabilities that are put in order, and
// travel; an activation with its probabilities.
constexpr double gate_launches = 3.0;
constexpr double routing_launches = 8.0;
constexpr double sorting_launches = 3.0;
constexpr double exchange_launches = 4.0;
constexpr double activation_launches = 2.0;
// What a library launches in a loop over the experts takes a third of an operator of the framework:
// groups whose products are shorter take 9.2 us each (kernels_2026.csv, grouped_gemm_fwd), where a
// dense layer's 11 operators take 0.3 ms.
constexpr double looped_launch = 1.0 / 3.0;

/// Kernels of one expert's product: itself, and what quantised operands need: a cast, after one for
/// its scale where that is of the values; scales of blocks are reordered for either operand.
double kernels_per_expert(const Job& job) {
  if (!quantised(job.training.precision)) return 1.0;
  const bool tensor = job.training.precision == Precision::fp8;
  if (!tensor) return 4.0;
  return job.training.fp8_scaling == Fp8Scaling::tensor ? 2.0 : 3.0;
}

// Megatron-Core's checkpoints (core/tensor_parallel/random.py, CheckpointFunction and
// CheckpointWithoutOutput) read three states of random numbers in the forward pass, and read, set
// and set back as many in the backward pass.
constexpr double checkpoint_launches = 12.0;

constexpr std::array checkpointed_modules{&LayerModules::core_attention,
                                          &LayerModules::attention_norm,
                                          &LayerModules::mlp_norm,
                                          &LayerModules::mla_up_projection,
                                          &LayerModules::activation,
                                          &LayerModules::mlp,
                                          &LayerModules::moe,
                                          &LayerModules::shared_experts};

/// Of a dense layer with plain attention: norm, QKV, rotary, attention, projection, residual; norm,
/// up, activation, down, residual; and the exchanges of tensor ranks around both halves.
double plain_launches(const Job& job) { return job.parallel.tensor > 1 ? 15.0 : 11.0; }

/// Of one product for each of some experts, with so many kernels for each.
double launches_of_experts(double experts, double kernels, const Job& job) {
  return job.training.grouped_experts ? 1.0 + looped_launch * (experts * kernels - 1.0)
                                      : experts * (1.0 + looped_launch * (kernels - 1.0));
}

/// How many launches of a plain operator it takes.
double launches_of(const LayerOperator& op, const Job& job) {
  if (op.work == LayerWork::plain && op.is_fused(job.training)) return 0.0;
  switch (op.work) {
    case LayerWork::router:
      return gate_launches;
    case LayerWork::expert_streaming:
      if (op.part == LayerPart::router) return routing_launches;
      return op.rows == RowKind::permuted ? sorting_launches : activation_launches;
    case LayerWork::adapter:
      return launches_of_experts(op.copies, 1.0, job);
    case LayerWork::plain:
      return op.launches * (job.training.grouped_experts ? 1.0 : op.copies);
    case LayerWork::weight_streaming:
    case LayerWork::adapter_merge:
    case LayerWork::scan:
    case LayerWork::expert_bias:
      return op.launches;
    case LayerWork::expert_exchange:
      return exchange_launches;
    case LayerWork::expert_product:
      return launches_of_experts(op.copies, kernels_per_expert(job), job);
    default:
      return 1.0;
  }
}

/// Goes through the operators of a layer in order.
class Launches {
 public:
  explicit Launches(const Job& job) : job_{job}, graphs_{job.training.cuda_graphs} {}

  void half(const LayerDescription& half, GraphPart whole) {
    bool sorted = false;  // rows are on their way to the experts
    for (const LayerOperator& op : half.operators()) {
      sorted = sorted || op.work == LayerWork::expert_exchange;
      if (is_launched(op, job_.parallel))
        add(launches_of(op, job_), graphs_.has(whole) || captured(op, whole, sorted));
    }
  }

  [[nodiscard]] double count() const { return launched_; }

 private:
  /// Parts of a mixture of experts that are captured by themselves.
  [[nodiscard]] bool captured(const LayerOperator& op, GraphPart whole, bool sorted) const {
    if (whole != GraphPart::moe) return false;
    const bool permutes = op.work == LayerWork::expert_streaming && op.part == LayerPart::experts;
    if (permutes) return !sorted && graphs_.has(GraphPart::moe_preprocess);
    const bool routes = op.part == LayerPart::router || op.part == LayerPart::mlp ||
                        (op.part == LayerPart::norm && !sorted);
    return routes && graphs_.has(GraphPart::moe_router);
  }

  void add(double launches, bool captured) {
    if (!captured)
      launched_ += launches;
    else if (!inside_)
      launched_ += 1.0;
    inside_ = captured;
  }

  const Job& job_;
  const CudaGraphs& graphs_;
  double launched_ = 0.0;
  bool inside_ = false;  ///< a captured stretch
};

}  // namespace

double relative_launches(const Job& job, const LayerType& type) {
  const CudaGraphs& graphs = job.training.cuda_graphs;
  const LlmShape& model = job.model;
  const bool plain = type.kind == LayerKind::dense && type.mixer == MixerKind::attention &&
                     !model.attention_gate && !model.head_gate && !model.mla && !model.qk_norm &&
                     !model.mamba_beside && model.per_layer_input == 0 && type.special == 0 &&
                     !model.qk_norm_whole && !model.rotary_scaled && model.mlp_clamp == 0.0;
  if (plain && !graphs.any() && !job.fine_tuning.freezes()) return 1.0;
  if (graphs.has(GraphPart::full_iteration)) return 0.0;
  const LayerCut cut = layer_cut(job.parallel);
  Launches launches{job};
  LayerDescription mixer{job, false};
  describe_mixer(job.model, type, cut, mixer);
  launches.half(mixer, type.mixer == MixerKind::mamba ? GraphPart::mamba : GraphPart::attention);
  LayerDescription second{job, false};
  describe_second(job.model, type, cut, second);
  launches.half(second, type.kind == LayerKind::moe ? GraphPart::moe : GraphPart::mlp);
  return launches.count() / plain_launches(job);
}

double again_launches(const Job& job, const LayerType& type) {
  const Recompute& recompute = job.memory.recompute;
  if (recompute.kind != RecomputeKind::selective || recompute.every_second_matmul ||
      job.training.cuda_graphs.any())
    return 0.0;
  LayerDescription layer{job, false};
  describe_layer(job.model, type, layer_cut(job.parallel), layer);
  double launches = 0.0;
  for (const LayerModule module : checkpointed_modules) {
    if (!(recompute.modules.*module)) continue;
    double region = 0.0;
    for (const LayerOperator& op : layer.operators())
      if ((op.again == module || op.again_too == module) && is_launched(op, job.parallel))
        region += launches_of(op, job);
    if (region > 0.0) launches += region + checkpoint_launches;
  }
  return launches / plain_launches(job);
}

double weight_launches(const Job& job, const LayerType& type) {
  if (!job.fine_tuning.freezes()) return 1.0;
  LayerDescription layer{job, false};
  describe_layer(job.model, type, layer_cut(job.parallel), layer);
  double linear = 0.0, trained = 0.0;
  for (const LayerOperator& op : layer.operators()) {
    const bool base = op.work == LayerWork::product || op.work == LayerWork::expert_product;
    const bool adapter = op.work == LayerWork::adapter || op.work == LayerWork::adapter_merge;
    if (!base && !adapter) continue;
    const double launches = launches_of(op, job);
    if (base) linear += launches;
    if (!op.frozen || op.merged) trained += launches;
  }
  return trained / linear;
}

bool waits_for_counts(const Training& training) {
  const CudaGraphs& graphs = training.cuda_graphs;
  return training.moe_capacity <= 0.0 && !graphs.has(GraphPart::full_iteration) &&
         !graphs.has(GraphPart::moe);
}

bool saved_in_graph(const CudaGraphs& graphs, const LayerType& type,
                    double LayerActivations::*row) {
  using Rows = LayerActivations;
  constexpr std::array attention{&Rows::attention_norm_input, &Rows::attention_norm_output,
                                 &Rows::qkv, &Rows::scores, &Rows::attention_output};
  constexpr std::array mlp{&Rows::mlp_norm_input, &Rows::mlp_norm_output, &Rows::mlp_input,
                           &Rows::mlp_output};
  constexpr std::array experts{&Rows::expert_tokens, &Rows::expert_input, &Rows::expert_output,
                               &Rows::expert_combined};
  if (!graphs.any() || graphs.has(GraphPart::full_iteration)) return false;
  const auto in = [row](const auto& rows) { return contains(rows, row); };
  const bool mixes = row == &Rows::mixer_input || row == &Rows::mixer_states;
  if (mixes) return graphs.has(GraphPart::mamba);
  if (in(attention))
    return graphs.has(type.mixer == MixerKind::mamba ? GraphPart::mamba : GraphPart::attention);
  if (type.kind == LayerKind::dense) return in(mlp) && graphs.has(GraphPart::mlp);
  if (in(mlp) || row == &Rows::dispatch)
    return graphs.has(GraphPart::moe_router) || graphs.has(GraphPart::moe);
  return in(experts) && graphs.has(GraphPart::moe);
}

}  // namespace foretrain
