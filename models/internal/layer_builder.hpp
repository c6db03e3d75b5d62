// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "models/collective_cost.hpp"
#include "models/job.hpp"
#include "models/kernel_cost.hpp"
#include "models/layer_operators.hpp"
#include "models/pass_times.hpp"

namespace foretrain::layer_detail {

inline constexpr double half_bytes = 2.0;  // of a bf16 or fp16 element

/// Adds up the operators of a piece as they are priced, and keeps them when asked to: forecasts
/// want only the sums, without touching the heap.
class OperatorSum {
 public:
  OperatorSum() = default;
  explicit OperatorSum(Operators& listed) : listed_{&listed} {}

  void add(const Operator& op);

  TimeParts forward;
  TimeParts input_gradient;
  TimeParts weight_gradient;
  TimeParts again;  ///< run again by selective recomputation; kernels under `recompute`

 private:
  Operators* listed_ = nullptr;
};

/// Share of an operator's forward time that selective recomputation runs again.
struct RunAgain {
  double attention_norm = 0.0;
  double qkv = 0.0;
  double rotary = 0.0;
  double core_attention = 0.0;
  double projection = 0.0;
  double attention_gather = 0.0;
  double mlp_norm = 0.0;
  double mlp_gather = 0.0;
  double mlp_in = 0.0;
  double activation = 0.0;
  double mlp_out = 0.0;
  double mlp_scatter = 0.0;
};

[[nodiscard]] RunAgain run_again(const Job& job);

/// What every operator of a job is priced from.
struct LayerContext {
  explicit LayerContext(const Job& job);

  const Job& job;
  KernelDevice device;
  CollectivePath path;
  RunAgain again;
  double tokens;           ///< of one micro-batch on one rank
  double tensor;           ///< tensor-parallel ranks
  double residual_tokens;  ///< tokens of the residual stream that a rank works on
};

struct ProductTimes {
  Seconds forward;
  Seconds input_gradient;
  Seconds weight_gradient;
};

[[nodiscard]] ProductTimes product_times(const Gemm& gemm, const LayerContext& context);
void add_product(std::string_view name, const Gemm& gemm, double again, const LayerContext& context,
                 OperatorSum& sum);

/// Bytes that fused kernels would move at least; the stack's factor comes on top.
struct Traffic {
  double forward = 0.0;
  double backward = 0.0;
};

void add_streaming(std::string_view name, const Traffic& traffic, double again,
                   const LayerContext& context, OperatorSum& sum);

/// The tensor-parallel exchanges before and after a half of a layer that is split over the tensor
/// ranks: all-gather and reduce-scatter with sequence parallelism, else an all-reduce of the
/// result, and of the gradient of the input in the backward pass. `width` elements per token.
void add_gather(double width, double again, const LayerContext& context, OperatorSum& sum);
void add_scatter(double width, double again, const LayerContext& context, OperatorSum& sum);

void add_attention_half(const LayerContext& context, OperatorSum& sum);
void add_dense_half(const LayerContext& context, OperatorSum& sum);
void add_embedding(const LayerContext& context, OperatorSum& sum);
void add_head(const LayerContext& context, OperatorSum& sum);

}  // namespace foretrain::layer_detail
