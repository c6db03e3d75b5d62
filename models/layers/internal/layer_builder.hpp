// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "models/collectives/collective_cost.hpp"
#include "models/inputs/job.hpp"
#include "models/kernels/kernel_cost.hpp"
#include "models/layers/layer_operators.hpp"
#include "models/layers/pass_times.hpp"

namespace foretrain::layer_detail {

inline constexpr double half_bytes = 2.0;  // of a bf16 or fp16 element

/// Adds up the operators of a piece as they are priced, and keeps them when asked to: forecasts
/// want only the sums, without touching the heap.
class OperatorSum {
 public:
  OperatorSum() = default;
  explicit OperatorSum(Operators& listed) : listed_{&listed} {}

  void add(const Operator& op);
  /// What follows belongs to a layer of its own.
  void start_layer();
  /// Takes off the all-to-alls between expert ranks what `window` of the layer's kernels covers.
  void hide_expert_exchanges(double window);

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

/// Share of an operator's forward time that selective recomputation runs again.
struct RunAgain {
  double attention_norm = 0.0;
  double down_projection = 0.0;  ///< of latent attention, with the norms of the latents
  double attention_gather = 0.0;
  double qkv = 0.0;  ///< or the up-projections of latent attention
  double rotary = 0.0;
  double core_attention = 0.0;
  double projection = 0.0;
  double mlp_norm = 0.0;
  double mlp_gather = 0.0;
  double mlp_in = 0.0;
  double activation = 0.0;
  double mlp_out = 0.0;
  double mlp_scatter = 0.0;
};

/// The same for the second half of a layer with experts.
struct RunExpertsAgain {
  double mlp_norm = 0.0;
  double routing = 0.0;  ///< router, permutation, exchanges between expert ranks and back
  double in = 0.0;
  double activation = 0.0;
  double out = 0.0;
  double shared_gather = 0.0;
  double shared_in = 0.0;
  double shared_activation = 0.0;
  double shared_out = 0.0;
  double shared_scatter = 0.0;
};

[[nodiscard]] RunAgain run_again(const Job& job);
[[nodiscard]] RunExpertsAgain run_experts_again(const Job& job);

/// What every operator of a job is priced from.
struct LayerContext {
  /// @param wide a layer that fp8 training computes in bf16.
  explicit LayerContext(const Job& job, bool wide = false);

  const Job& job;
  KernelDevice device;    ///< in 16 bits with fp8 training: everything but `products`
  KernelDevice products;  ///< linear layers
  CollectivePath path;
  double tokens;           ///< of one micro-batch on one rank
  double tensor;           ///< tensor-parallel ranks
  double residual_tokens;  ///< tokens of the residual stream that a rank works on
  double slower;           ///< products and attention at this site against the device profile's
};

/// What of a linear layer the tensor ranks with sequence parallelism gather: its input, or the
/// gradient of its output. With fp8 operands it is cast before.
enum class Gathered { nothing, input, output_gradient };

/// A linear layer's product in its three passes; with fp8 operands their casts are part of it.
[[nodiscard]] GemmPasses product_times(const Gemm& gemm, Gathered gathered,
                                       const LayerContext& context);

struct LinearLayer {
  std::string_view name;
  Gemm gemm;
  Gathered gathered;
};
void add_product(const LinearLayer& linear, double again, const LayerContext& context,
                 OperatorSum& sum);

/// Bytes per pass.
struct Traffic {
  double forward = 0.0;
  double backward = 0.0;

  friend Traffic operator*(double factor, const Traffic& traffic) {
    return {factor * traffic.forward, factor * traffic.backward};
  }
};

// Traffic that fused kernels would move at least, in bytes per element; models/README.md, "Layers".
inline constexpr Traffic norm_traffic{4.0, 6.0};
inline constexpr Traffic residual_traffic{7.0, 6.0};

/// Memory-bound kernels that move `traffic` as it is, or times the stack's factor.
void add_memory_bound(std::string_view name, const Traffic& traffic, double again,
                      const LayerContext& context, OperatorSum& sum);
void add_streaming(std::string_view name, const Traffic& traffic, double again,
                   const LayerContext& context, OperatorSum& sum);
/// Norms before (and, in sandwich models, after) a half of a layer, and the sum at its end.
void add_norm(std::string_view name, double again, const LayerContext& context, OperatorSum& sum);
void add_residual(std::string_view name, const LayerContext& context, OperatorSum& sum);
/// Of the activation function over one element of a gated or plain MLP's width.
[[nodiscard]] Traffic activation_traffic(const LlmShape& model);

/// The tensor-parallel exchanges before and after a half of a layer that is split over the tensor
/// ranks: all-gather and reduce-scatter with sequence parallelism, else an all-reduce of the
/// result, and of the gradient of the input in the backward pass. `width` elements per token.
void add_gather(double width, double again, const LayerContext& context, OperatorSum& sum);
void add_scatter(double width, double again, const LayerContext& context, OperatorSum& sum);

void add_attention_half(const LayerContext& context, OperatorSum& sum);
void add_dense_half(const LayerContext& context, OperatorSum& sum);
/// @pre the model has experts.
void add_expert_half(const LayerContext& context, OperatorSum& sum);
/// Both halves.
void add_layer(const LayerContext& context, LayerKind kind, OperatorSum& sum);

/// The ends of the model stay in 16 bits: `context` is that of a wide layer.
void add_embedding(const LayerContext& context, OperatorSum& sum);
/// Output projection and loss; `layers` is the context of the layers, for what a module of
/// multi-token prediction adds: two norms, a projection, a layer and the head once more
/// (DeepSeek-V3, arXiv 2412.19437 section 2.2).
void add_head(const LayerContext& context, const LayerContext& layers, OperatorSum& sum);

}  // namespace foretrain::layer_detail
