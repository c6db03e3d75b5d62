// SPDX-License-Identifier: Apache-2.0
// A mixture of experts: router, routed experts with their exchanges, shared experts.
#include "models/base/require.hpp"
#include "models/layers/internal/describe.hpp"

namespace foretrain {
namespace {

using layer_detail::activation_traffic;

constexpr double logit_traffic = 16.0;   // softmax, top-k and map of one fp32 logit
constexpr double permute_traffic = 8.0;  // one routed element: two copies, read and written
constexpr LayerModule routing = &LayerModules::moe;

/// PyTorch's selective recomputation by operator keeps results of plain products and of exchanges.
/// The router's product is excepted by name, grouped products are not in its list: of the routed
/// experts what arrives through an exchange is kept, nothing else (torchtitan, `_op_sac_save_list`
/// and `per_op_sac_force_recompute_mm_shapes_by_fqns`).
SavedTensor of_experts(double LayerActivations::*row, Keep keep, RowKind rows, double width) {
  return {.row = row, .keep = keep, .rows = rows, .width = width, .remade = routing};
}

void add_router(const LlmShape& model, bool hashed, LayerDescription& layer) {
  const MoeShape& moe = *model.moe;
  const double hidden = model.hidden;
  const double experts = moe.experts + moe.identity_experts;
  const double scales = moe.router_scales ? hidden + experts : 0.0;
  layer.add({.name = "router",
             .work = LayerWork::router,
             .part = LayerPart::router,
             .rows = RowKind::residual,
             .out = experts,
             .in = hidden,
             .vectors = (moe.linear_bias ? experts : 0.0) + scales,
             .buffers = moe.router_bias && !hashed ? experts : 0.0,
             .again = routing,
             .every_second = 1.0,
             .linear = LinearKind::router});
  layer.add({.name = "top-k",
             .work = LayerWork::expert_streaming,
             .part = LayerPart::router,
             .rows = RowKind::residual,
             .out = experts,
             .traffic = {logit_traffic, logit_traffic},
             .again = routing,
             .every_second = 1.0});
  const auto save = [&](Keep keep, double width) {
    layer.save(of_experts(&LayerActivations::dispatch, keep, RowKind::residual, width));
  };
  save(Keep::router, experts);
  save(Keep::router_fp32, hidden);
  save(Keep::element, hidden);
}

constexpr std::string_view dispatch = "dispatch";
constexpr std::string_view permute = "permute";

void add_exchange(std::string_view name, LayerWork work, const LlmShape& model,
                  LayerDescription& layer) {
  layer.add({.name = name,
             .work = work,
             .part = LayerPart::experts,
             .out = static_cast<double>(model.moe->expert_input(model.hidden)),
             .waits = name == dispatch,
             .again = routing});
}

void add_permute(std::string_view name, const LlmShape& model, LayerDescription& layer) {
  layer.add({.name = name,
             .work = LayerWork::expert_streaming,
             .part = LayerPart::experts,
             .rows = RowKind::permuted,
             .out = static_cast<double>(model.moe->expert_input(model.hidden)),
             .traffic = {permute_traffic, permute_traffic},
             .again = routing,
             .every_second = name == permute ? 1.0 : 0.0});
}

void add_activation(const LlmShape& model, double width, LayerDescription& layer) {
  if (model.mlp_clamp > 0.0) {
    layer_detail::describe_clamp({LayerPart::experts, RowKind::expert, width},
                                 {routing, &LayerModules::activation, false}, model, layer);
    SavedTensor clamped = of_experts(&LayerActivations::expert_input, Keep::element,
                                     RowKind::expert, (model.gated_mlp ? 2.0 : 1.0) * width);
    clamped.remade_too = &LayerModules::activation;
    layer.save(clamped);
  }
  layer.add({.name = "expert activation",
             .work = LayerWork::expert_streaming,
             .part = LayerPart::experts,
             .rows = RowKind::expert,
             .out = width,
             .traffic = activation_traffic(model),
             .again = routing,
             .again_too = &LayerModules::activation,
             .every_second = 1.0});
}

/// The products of the routed experts with what they save.
void add_products(const LlmShape& model, const LayerCut& cut, LayerDescription& layer) {
  const double hidden = model.moe->expert_input(model.hidden);
  const double inputs = model.gated_mlp ? 2.0 : 1.0;
  const double local = model.moe->experts / cut.expert;
  const double width = model.moe->expert_ffn_hidden / cut.expert_tensor;
  const auto product = [&](std::string_view name, LinearKind linear, double out, double in,
                           bool again) {
    layer.add({.name = name,
               .work = LayerWork::expert_product,
               .part = LayerPart::experts,
               .rows = RowKind::expert,
               .out = out,
               .in = in,
               .copies = local,
               .vectors = model.mlp_bias ? local * out : 0.0,
               .again = routing,
               .every_second = again ? 1.0 : 0.0,
               .linear = linear,
               .fused = linear == LinearKind::expert_fc1 ? inputs : 1.0});
  };
  SavedTensor tokens =
      of_experts(&LayerActivations::expert_tokens, Keep::product_input, RowKind::expert, hidden);
  tokens.offloaded = &LayerModules::expert_fc1;
  tokens.for_weights = LinearKind::expert_fc1;
  if (cut.expert > 1) tokens.every_second = hidden;
  layer.save(tokens);
  product("expert up projection", LinearKind::expert_fc1, inputs * width, hidden, true);
  SavedTensor input = of_experts(&LayerActivations::expert_input, Keep::activation_input,
                                 RowKind::expert, inputs * width);
  input.offloaded = &LayerModules::activation;
  layer.save(input);
  if (model.gated_mlp) {
    input.keep = Keep::unfused_activation;
    input.width = width;
    layer.save(input);
  }
  add_activation(model, width, layer);
  SavedTensor output =
      of_experts(&LayerActivations::expert_output, Keep::product_input, RowKind::expert, width);
  output.remade_too = &LayerModules::activation;
  output.for_weights = LinearKind::expert_fc2;
  layer.save(output);
  // Run again only on the way to a shared expert's tensors, which come after it.
  product("expert down projection", LinearKind::expert_fc2, hidden, width,
          model.moe->shared_ffn_hidden > 0);
  if (model.mlp_bias)
    layer.add({.name = "expert biases",
               .work = LayerWork::expert_bias,
               .part = LayerPart::experts,
               .rows = RowKind::expert,
               .out = hidden,
               .launches = 2.0 * local + 1.0,
               .again = routing});
}

void add_shared(const LlmShape& model, const LayerCut& cut, LayerDescription& layer) {
  const MoeShape& moe = *model.moe;
  if (moe.shared_ffn_hidden == 0) return;
  layer_detail::describe_mlp(
      {"shared expert up projection", "shared expert activation", "shared expert down projection"},
      {&LayerModules::shared_experts, routing, true}, moe.shared_ffn_hidden / cut.tensor, model,
      layer);
  if (moe.shared_gate)
    layer.add({.name = "shared expert gate",
               .work = LayerWork::unpriced,
               .part = LayerPart::mlp,
               .out = 1.0,
               .in = static_cast<double>(model.hidden),
               .linear = LinearKind::shared_gate});
}

/// A projection of the tokens into the space that experts work in, or back; whole on every rank.
void add_latent(std::string_view name, double out, double in, LayerDescription& layer) {
  layer.add({.name = name,
             .work = LayerWork::product,
             .part = LayerPart::mlp,
             .rows = RowKind::residual,
             .out = out,
             .in = in,
             .again = routing,
             .every_second = 1.0});
  layer.save(of_experts(&LayerActivations::dispatch, Keep::element, RowKind::residual, out));
}

void add_latent_norm(double width, LayerDescription& layer) {
  layer.add({.name = "latent norm",
             .part = LayerPart::mlp,
             .rows = RowKind::residual,
             .out = width,
             .traffic = layer_detail::norm_traffic,
             .eager = layer_detail::eager_norm_traffic(NormKind::rmsnorm),
             .fused_by = FusedKernel::norm,
             .vectors = width,
             .again = routing,
             .every_second = 1.0});
}

/// An MLP of every token beside the experts, with norms of its own where a layer has two on either
/// side of a half.
void add_dense_beside(const LlmShape& model, double width, const LayerCut& cut,
                      LayerDescription& layer) {
  if (!model.moe->dense_beside) return;
  layer_detail::describe_mlp({"MLP up projection", "activation", "MLP down projection"},
                             {&LayerModules::mlp, nullptr, false}, width / cut.tensor, model,
                             layer);
  if (model.norms_per_layer < 4) return;
  const double norms = 3.0 * model.hidden;
  layer.add({.name = "norms beside experts",
             .part = LayerPart::norm,
             .rows = RowKind::residual,
             .out = norms,
             .traffic = layer_detail::norm_traffic,
             .eager = layer_detail::eager_norm_traffic(model.norm),
             .fused_by = FusedKernel::norm,
             .vectors = norms,
             .every_second = 1.0});
  layer.save({.row = &LayerActivations::mlp_norm_input,
              .rows = RowKind::residual,
              .width = norms,
              .every_second = norms});
}

}  // namespace

void describe_experts(const LlmShape& model, const LayerSizes& sizes, const LayerCut& cut,
                      LayerDescription& layer) {
  FORETRAIN_REQUIRE(model.moe.has_value());
  const MoeShape& moe = *model.moe;
  const bool shared = moe.shared_ffn_hidden > 0 || moe.dense_beside;
  const double latent = moe.latent_hidden;
  layer_detail::describe_mlp_norm(shared ? LinearKind::mixture : LinearKind::router, model, layer);
  add_router(model, sizes.hash_routed, layer);
  if (latent > 0.0) add_latent("latent down projection", latent, model.hidden, layer);
  add_permute(permute, model, layer);
  add_exchange(dispatch, LayerWork::expert_exchange, model, layer);
  add_exchange("expert all-gather", LayerWork::expert_gather, model, layer);
  add_products(model, cut, layer);
  add_exchange("expert reduce-scatter", LayerWork::expert_scatter, model, layer);
  add_exchange("combine", LayerWork::expert_exchange, model, layer);
  SavedTensor combined = of_experts(&LayerActivations::expert_combined, Keep::expert_result,
                                    RowKind::received, moe.expert_input(model.hidden));
  if (cut.expert > 1) combined.every_second = combined.width;
  layer.save(combined);
  add_permute("unpermute", model, layer);
  if (moe.latent_norm) add_latent_norm(latent, layer);
  if (latent > 0.0) add_latent("latent up projection", model.hidden, latent, layer);
  add_shared(model, cut, layer);
  add_dense_beside(model, sizes.ffn_hidden, cut, layer);
  layer_detail::describe_residual("MLP residual", model, layer);
}

}  // namespace foretrain
