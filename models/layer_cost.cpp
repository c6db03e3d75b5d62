// SPDX-License-Identifier: Apache-2.0
#include "models/layer_cost.hpp"

#include <cmath>

#include "models/require.hpp"

namespace foretrain {

/// Bytes per element of the residual stream, and passes over the MLP's inner activation.
struct LayerCost::ElementwiseTraffic {
  double residual;
  double mlp;
  double mlp_gated;
};

namespace {

// Traffic of fused kernels, in bytes per element; models/README.md, "Layers".
constexpr double embedding_traffic = 8.0;
constexpr double loss_traffic = 18.0;
constexpr double half = 2.0;  // bytes of a bf16 or fp16 element
constexpr double backward_over_forward = 2.0;

double attention_width(const LlmShape& model) {
  return static_cast<double>(model.heads) * model.head_dim;
}

double qkv_width(const LlmShape& model) {
  return static_cast<double>(model.heads + 2 * model.kv_heads) * model.head_dim;
}

/// The slower of device and launching processor, as (a^6 + b^6)^(1/6), and what that adds.
Seconds launch_excess(Seconds device, Seconds processor) {
  if (processor <= Seconds{}) return Seconds{};
  const double ratio = processor / device;
  return device * (std::pow(1.0 + std::pow(ratio, 6.0), 1.0 / 6.0) - 1.0);
}

}  // namespace

LayerCost::LayerCost(const Job& job)
    : job_{job},
      device_{job.cluster.host.device, job.device_profile, job.training.precision},
      path_{job.cluster, job.device_profile, job.site},
      tokens_{static_cast<double>(job.training.micro_batch) * job.training.sequence /
              job.parallel.context},
      tensor_{static_cast<double>(job.parallel.tensor)},
      residual_tokens_{job.parallel.sequence ? tokens_ / tensor_ : tokens_} {
  FORETRAIN_REQUIRE(!job.model.moe && !job.model.mla);
  const Kernels kernels = layer_kernels();
  kept_ = assemble(kernels, false);
  recomputed_ = assemble(kernels, true);
}

void LayerCost::add_product(const Gemm& gemm, Kernels& kernels) const {
  kernels.forward += gemm_time(gemm, device_);
  kernels.input_gradient += gemm_time(gemm.data_gradient(), device_);
  kernels.weight_gradient += gemm_time(gemm.weight_gradient(), device_);
}

Bytes LayerCost::elementwise(const ElementwiseTraffic& traffic) const {
  const LlmShape& model = job_.model;
  const double mlp = model.gated_mlp ? traffic.mlp_gated : traffic.mlp;
  const double rotary = model.position == PositionKind::rotary ? 2.0 : 1.0;
  const double elements = traffic.residual * residual_tokens_ * model.hidden +
                          half * tokens_ * model.ffn_hidden / tensor_ * mlp +
                          half * tokens_ * qkv_width(model) / tensor_ * rotary;
  return Bytes{job_.stack.times.elementwise * elements};
}

PassTimes LayerCost::attention() const {
  const LlmShape& model = job_.model;
  AttentionWork work;
  work.batch = job_.training.micro_batch;
  work.heads = model.heads / tensor_;
  work.query_length = static_cast<double>(job_.training.sequence) / job_.parallel.context;
  work.key_length = job_.training.sequence;
  work.head_dim = model.head_dim;
  work.value_dim = model.head_dim;
  if (job_.memory.attention == AttentionKind::unfused)
    return unfused_attention_time(work, device_, job_.stack.times);
  return flash_attention_time(work, device_, job_.stack.times.flash_factor);
}

LayerCost::Kernels LayerCost::layer_kernels() const {
  const LlmShape& model = job_.model;
  const double hidden = model.hidden;
  const double mlp = static_cast<double>(model.ffn_hidden) / tensor_;
  const double mlp_in = model.gated_mlp ? 2.0 * mlp : mlp;
  constexpr ElementwiseTraffic forward_traffic{22.0, 2.0, 3.0};
  constexpr ElementwiseTraffic backward_traffic{24.0, 3.0, 5.0};

  Kernels kernels;
  add_product({tokens_, qkv_width(model) / tensor_, hidden}, kernels);
  add_product({tokens_, hidden, attention_width(model) / tensor_}, kernels);
  add_product({tokens_, mlp_in, hidden}, kernels);
  add_product({tokens_, hidden, mlp}, kernels);
  const PassTimes core = attention();
  kernels.attention_forward = core.forward;
  kernels.forward += core.forward + streaming_time(elementwise(forward_traffic), device_);
  kernels.input_gradient += core.backward + streaming_time(elementwise(backward_traffic), device_);
  return kernels;
}

/// One all-reduce of a layer's output, or the all-gather and reduce-scatter that stand for it.
Seconds LayerCost::tensor_exchange() const {
  if (job_.parallel.tensor == 1) return Seconds{};
  const CommGroup group = comm_group(job_.parallel.tensor, 1, job_.cluster.host.gpus);
  const Bytes payload{half * tokens_ * job_.model.hidden};
  const Seconds time = job_.parallel.sequence ? all_gather_time(group, payload, path_) +
                                                    reduce_scatter_time(group, payload, path_)
                                              : all_reduce_time(group, payload, path_);
  const double hidden = job_.communication.overlap.tensor ? job_.stack.times.tensor_hidden : 0.0;
  return time * (1.0 - hidden);
}

PieceTimes LayerCost::assemble(const Kernels& kernels, bool full_recompute) const {
  const StackTimes& times = job_.stack.times;
  const Seconds exchange = tensor_exchange();
  PieceTimes piece;
  piece.forward.compute = kernels.forward;
  piece.forward.tensor = 2.0 * exchange;
  piece.input_gradient.compute = kernels.input_gradient;
  piece.input_gradient.tensor = (full_recompute ? 4.0 : 2.0) * exchange;
  if (full_recompute)
    piece.input_gradient.recompute = kernels.forward;
  else if (job_.memory.recompute.kind == RecomputeKind::selective)
    piece.input_gradient.recompute = kernels.attention_forward;
  piece.weight_gradient.compute = kernels.weight_gradient;

  const Seconds input = piece.input_gradient.total();
  const Seconds weight = piece.weight_gradient.total();
  const Seconds again = full_recompute ? times.launch_forward : Seconds{};
  const Seconds excess = launch_excess(input + weight, times.launch_backward + again);
  piece.forward.launch = launch_excess(piece.forward.total(), times.launch_forward);
  piece.input_gradient.launch = excess * (input / (input + weight));
  piece.weight_gradient.launch = excess * (weight / (input + weight));
  return piece;
}

PieceTimes LayerCost::embedding() const {
  const Seconds traffic =
      streaming_time(Bytes{embedding_traffic * tokens_ * job_.model.hidden}, device_);
  PieceTimes piece;
  piece.forward.compute = traffic / 2.0;
  piece.weight_gradient.compute = traffic / 2.0;
  if (job_.parallel.tensor > 1) piece.forward.tensor = tensor_exchange() / 2.0;  // forward only
  return piece;
}

PieceTimes LayerCost::head() const {
  const double columns = job_.vocabulary() / tensor_;
  Kernels kernels;
  add_product({tokens_, columns, static_cast<double>(job_.model.hidden)}, kernels);
  const Seconds loss =
      streaming_time(Bytes{job_.stack.times.head * loss_traffic * tokens_ * columns}, device_);
  const Seconds exchange = tensor_exchange();  // gradient of the hidden state, and its gather
  PieceTimes piece;
  piece.forward.compute = kernels.forward + loss / (1.0 + backward_over_forward);
  piece.forward.tensor = exchange / 2.0;
  piece.input_gradient.compute =
      kernels.input_gradient + loss * (backward_over_forward / (1.0 + backward_over_forward));
  piece.input_gradient.tensor = exchange / 2.0;
  piece.weight_gradient.compute = kernels.weight_gradient;
  return piece;
}

}  // namespace foretrain
