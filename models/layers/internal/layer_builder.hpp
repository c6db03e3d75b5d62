// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "models/collectives/collective_cost.hpp"
#include "models/inputs/job.hpp"
#include "models/inputs/recipe.hpp"
#include "models/kernels/kernel_cost.hpp"
#include "models/layers/internal/describe.hpp"
#include "models/layers/layer_description.hpp"
#include "models/layers/layer_operators.hpp"
#include "models/layers/pass_times.hpp"
#include "models/layers/row_statistics.hpp"

namespace foretrain::layer_detail {

/// Adds up the operators of a piece as they are priced, and keeps them when asked to: forecasts
/// want only the sums, without touching the heap.
class OperatorSum {
 public:
  OperatorSum() = default;
  explicit OperatorSum(Operators& listed) : listed_{&listed} {}

  void add(const Operator& op);
  /// What follows belongs to a layer of its own.
  void start_layer();
  /// Leaves of the all-to-alls between expert ranks what shows beside the layer's kernels.
  void hide_expert_exchanges(double slowdown);

  TimeParts forward;
  TimeParts input_gradient;
  TimeParts weight_gradient;
  TimeParts again;  ///< run again by selective recomputation; kernels count as compute here

 private:
  Operators* listed_ = nullptr;
  TimeParts before_;  ///< all passes before the layer
  TimeParts again_before_;
  TimeParts forward_before_;
  TimeParts input_before_;
  std::size_t listed_before_ = 0;
};

/// Share of an operator's forward pass that selective recomputation runs again.
[[nodiscard]] double run_again(const LayerOperator& op, const Job& job);

/// Rows that a rank's experts work on, and the groups that exchange them.
struct ExpertPlan {
  double experts = 0.0;  ///< of this rank
  double own = 0.0;      ///< rows that the busiest rank receives
  double rows = 0.0;     ///< the same, gathered over the experts' tensor ranks
  /// Copies of a token that a fused dispatch sends, one to each different rank, over its choices.
  double distinct = 1.0;
  CommGroup exchange;
  CommGroup tensor;
};

/// What every operator of a job is priced from.
struct LayerContext {
  /// @param wide a layer that a quantised training computes in bf16.
  explicit LayerContext(const Job& job, bool wide = false);

  const Job& job;
  RowStatistics lengths;
  KernelDevice device;    ///< in 16 bits where products are quantised: everything but those
  KernelDevice products;  ///< linear layers
  Recipe recipe;          ///< of the layers that are not wide
  CollectivePath path;
  RowCounts rows;
  LayerCut cut;
  CommGroup tensor_group;
  ExpertPlan experts;      ///< where the model has them
  double tokens;           ///< of one micro-batch on one rank, pads included
  double tensor;           ///< tensor-parallel ranks
  double residual_tokens;  ///< tokens of the residual stream that a rank works on
  double slower;           ///< products and attention at this site against the device profile's
};

/// What becomes of the gradient of a product's weights: nobody asks for it; it is made and handed
/// on; or it is added to its sum in 32 bits.
enum class WeightGradient : std::uint8_t { none, made, summed };
[[nodiscard]] WeightGradient weight_gradient_of(const LayerOperator& op);

/// A linear layer's product in its three passes; with quantised operands their casts are part of
/// it.
[[nodiscard]] GemmPasses product_times(const Gemm& gemm, Gathered gathered,
                                       const LayerContext& context, WeightGradient gradient);

struct LinearLayer {
  std::string_view name;
  Gemm gemm;
  Gathered gathered;
};
/// @param times what product_times gives
void add_product(const LinearLayer& linear, const GemmPasses& times, double again,
                 const LayerContext& context, OperatorSum& sum);

/// Memory-bound kernels that move `traffic` as it is, or times the stack's factor.
void add_memory_bound(std::string_view name, const Traffic& traffic, double again,
                      const LayerContext& context, OperatorSum& sum);
/// The all-gather and the reduce-scatter of sequence parallelism over `payload` 16-bit bytes.
/// Recipes gather operands as they were cast, but for those with scales of rows.
struct SequenceExchange {
  SequenceExchange(Bytes payload, const LayerContext& context);

  Bytes sent;  ///< to be gathered
  Seconds gather;
  Seconds scatter;
};
/// The tensor-parallel exchanges before and after a half of a layer that is split over the tensor
/// ranks: all-gather and reduce-scatter with sequence parallelism, else an all-reduce of the
/// result, and of the gradient of the input in the backward pass. `width` elements per token.
/// `product`: the one that needs what is gathered, or makes what is scattered, which the exchange
/// may run beside.
void add_gather(double width, double again, const GemmPasses& product, const LayerContext& context,
                OperatorSum& sum);
void add_scatter(double width, double again, const GemmPasses& product, const LayerContext& context,
                 OperatorSum& sum);

/// The product of an operator that every expert of the rank has: of all at once, or one after
/// another.
struct ExpertGemm {
  Gemm gemm;            ///< of all experts or of one
  double factor = 1.0;  ///< of its time: what grouping costs, or the number of experts
  double products = 1.0;
};
[[nodiscard]] ExpertGemm expert_gemm(const LayerOperator& op, const LayerContext& context);

/// One of the operators that fine-tuning adds to a layer.
void add_adapter_operator(const LayerOperator& op, double again, const LayerContext& context,
                          OperatorSum& sum);

/// Attention over the heads, with the exchange of keys and values between context ranks.
void add_attention(const HeadShape& heads, double again, const LayerContext& context,
                   OperatorSum& sum);
/// The exchange between context ranks of a mixer that goes through whole sequences.
void add_context_swap(const LayerOperator& op, double again, const LayerContext& context,
                      OperatorSum& sum);
/// A kernel of a chunked scan.
void add_scan(const LayerOperator& op, double again, const LayerContext& context, OperatorSum& sum);
/// One of the operators around routed experts. @pre the model has experts.
void add_expert_operator(const LayerOperator& op, double again, const LayerContext& context,
                         OperatorSum& sum);
/// Lets the exchanges between experts run beside another micro-batch's kernels, where they may.
void hide_behind_kernels(const LayerContext& context, OperatorSum& sum);

/// One of the operators that only the ends of a model have.
void add_end_operator(const LayerOperator& op, const LayerContext& context, OperatorSum& sum);

/// Operators of a description, priced one after another. `heads` are those of its attention.
void add_operators(std::span<const LayerOperator> operators, const HeadShape& heads,
                   const LayerContext& context, OperatorSum& sum);
/// The halves of a layer.
void add_mixer(const LayerType& type, const LayerContext& context, OperatorSum& sum);
void add_second_half(const LayerType& type, const LayerContext& context, OperatorSum& sum);
/// Both halves.
void add_layer(const LayerContext& context, const LayerType& type, OperatorSum& sum);

/// The ends of the model stay in 16 bits: `context` is that of a wide layer.
void add_embedding(const LayerContext& context, OperatorSum& sum);
/// Output projection and loss, once more for every prediction module, with its layer unless another
/// stage has that; `layers` is the context of the layers.
void add_head(const LayerContext& context, const LayerContext& layers, OperatorSum& sum);
/// A prediction module without its output. @pre the model has some
void add_prediction(const LayerContext& layers, OperatorSum& sum);
/// Of the head, the losses alone.
void add_losses(const LayerContext& context, OperatorSum& sum);

}  // namespace foretrain::layer_detail
