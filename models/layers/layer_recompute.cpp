// SPDX-License-Identifier: Apache-2.0
// What selective recomputation runs again. It mirrors what activations.cpp drops.
#include "models/layers/internal/layer_builder.hpp"

namespace foretrain::layer_detail {
namespace {

double key_share(const LlmShape& model) {
  return static_cast<double>(model.kv_heads) / (model.heads + 2.0 * model.kv_heads);
}

/// PyTorch's operator-wise choice: results of every second product are kept (queries, values, gate,
/// down projection) and the attention's; keys, output projection, up projection and everything that
/// streams run again.
RunAgain every_second_product(const LlmShape& model) {
  RunAgain again;
  again.attention_norm = again.mlp_norm = 1.0;
  again.attention_gather = again.mlp_gather = 1.0;
  again.rotary = again.activation = 1.0;
  again.down_projection = 0.5;  // latent attention: one of each pair
  again.qkv = model.mla ? 0.5 : key_share(model);
  again.projection = 1.0;
  again.mlp_in = model.gated_mlp ? 0.5 : 0.0;
  return again;
}

}  // namespace

RunAgain run_again(const Job& job) {
  RunAgain again;
  const Recompute& recompute = job.memory.recompute;
  if (recompute.kind != RecomputeKind::selective) return again;
  if (recompute.every_second_matmul) return every_second_product(job.model);
  const LayerModules& modules = recompute.modules;
  const auto whole = [](bool chosen) { return chosen ? 1.0 : 0.0; };
  again.core_attention = whole(modules.core_attention);
  again.attention_norm = whole(modules.attention_norm);
  again.mlp_norm = whole(modules.mlp_norm);
  if (job.model.mla) again.qkv = again.rotary = whole(modules.mla_up_projection);
  again.mlp_gather = again.mlp_in = again.activation = again.mlp_out = again.mlp_scatter =
      whole(modules.mlp);
  return again;
}

RunExpertsAgain run_experts_again(const Job& job) {
  RunExpertsAgain again;
  const Recompute& recompute = job.memory.recompute;
  if (recompute.kind != RecomputeKind::selective) return again;
  const double gate = job.model.gated_mlp ? 0.5 : 0.0;
  if (recompute.every_second_matmul) {
    again.mlp_norm = again.shared_gather = again.activation = again.shared_activation = 1.0;
    again.in = again.shared_in = gate;
    return again;
  }
  const LayerModules& modules = recompute.modules;
  const auto whole = [](bool chosen) { return chosen ? 1.0 : 0.0; };
  again.mlp_norm = whole(modules.mlp_norm);
  again.routing = again.in = again.out = whole(modules.moe);
  again.activation = whole(modules.moe || modules.activation);
  again.shared_gather = again.shared_in = again.shared_activation = again.shared_out =
      again.shared_scatter = whole(modules.moe || modules.shared_experts);
  return again;
}

}  // namespace foretrain::layer_detail
