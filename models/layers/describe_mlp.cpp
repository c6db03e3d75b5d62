// SPDX-License-Identifier: Apache-2.0
// A dense MLP, and the same for shared experts.
#include "models/layers/internal/describe.hpp"

namespace foretrain {
namespace layer_detail {

void describe_mlp_norm(LinearKind feeds, const LlmShape& model, LayerDescription& layer) {
  describe_norm("MLP norm",
                {&LayerActivations::mlp_norm_input, &LayerActivations::mlp_norm_output,
                 &LayerModules::mlp_norm, nullptr, feeds},
                model, layer);
}

void describe_clamp(const Activation& activation, const MlpSwitches& switches,
                    const LlmShape& model, LayerDescription& layer) {
  // Both inputs of a gate are clamped apart and put together again.
  const Traffic traffic = model.gated_mlp ? Traffic{16.0, 20.0} : Traffic{4.0, 6.0};
  layer.add({.name = "clamp",
             .work = LayerWork::plain,
             .part = activation.part,
             .rows = activation.rows,
             .out = activation.width,
             .traffic = traffic,
             .launches = model.gated_mlp ? 3.0 : 1.0,
             .again = switches.module,
             .again_too = switches.module_too,
             .every_second = 1.0});
}

void describe_mlp(const MlpNames& names, const MlpSwitches& switches, double width,
                  const LlmShape& model, LayerDescription& layer) {
  const double hidden = model.hidden;
  const double inputs = model.gated_mlp ? 2.0 : 1.0;
  LayerOperator op{.work = LayerWork::product,
                   .part = LayerPart::mlp,
                   .again = switches.module,
                   .again_too = switches.module_too};
  const auto product = [&](std::string_view name, double out, double in, double bias) {
    op.name = name;
    op.out = out;
    op.in = in;
    op.vectors = model.mlp_bias ? bias : 0.0;
    layer.add(op);
  };
  SavedTensor saved{.row = &LayerActivations::mlp_input,
                    .remade = switches.module,
                    .remade_too = switches.module_too};
  const auto save = [&](Keep keep, double elements, double every_second) {
    saved.keep = keep;
    saved.width = elements;
    saved.every_second = every_second;
    layer.save(saved);
  };

  describe_gather(hidden, switches.module, switches.module_too, layer);
  op.gathered = Gathered::input;
  op.every_second = model.gated_mlp ? 0.5 : 0.0;
  op.linear = LinearKind::fc1;
  op.fused = inputs;
  product(names.up, inputs * width, hidden, inputs * width);
  save(Keep::activation_input, inputs * width, switches.keeps_half ? inputs * width / 2.0 : width);
  if (model.gated_mlp)
    save(Keep::unfused_activation, width, switches.keeps_half ? width / 2.0 : 0.0);
  if (model.mlp_clamp > 0.0) {
    describe_clamp({LayerPart::mlp, RowKind::tokens, width}, switches, model, layer);
    save(Keep::element, inputs * width, 0.0);
  }
  layer.add({.name = names.activation,
             .part = LayerPart::mlp,
             .out = width,
             .traffic = activation_traffic(model),
             .eager = eager_activation_traffic(model),
             .fused_by = FusedKernel::swiglu,
             .again = switches.module,
             .again_too = switches.module_too,
             .every_second = 1.0});
  saved.row = &LayerActivations::mlp_output;
  saved.for_weights = LinearKind::fc2;
  save(Keep::product_input, width, 0.0);
  op.gathered = Gathered::output_gradient;
  op.linear = LinearKind::fc2;
  op.fused = 1.0;
  op.every_second = 0.0;
  product(names.down, hidden, width, hidden);
  describe_scatter(hidden, switches.module, switches.module_too, layer);
}

/// Every layer reads its part of a second embedding, gated by the residual stream, and adds it.
void describe_per_layer_input(const LlmShape& model, LayerDescription& layer) {
  const double hidden = model.hidden;
  const double width = model.per_layer_input;
  const auto product = [&](std::string_view name, double out, double in) {
    layer.add({.name = name,
               .work = LayerWork::product,
               .part = LayerPart::mlp,
               .rows = RowKind::residual,
               .out = out,
               .in = in,
               .every_second = 0.5});
  };
  const auto save = [&](double elements) {
    layer.save({.row = &LayerActivations::mlp_input,
                .rows = RowKind::residual,
                .width = elements,
                .every_second = elements});
  };
  product("per-layer gate", width, hidden);
  save(2.0 * width);  // of the gate, before and after its activation
  layer.add({.name = "per-layer activation",
             .part = LayerPart::mlp,
             .rows = RowKind::residual,
             .out = width,
             .traffic = half_bytes * Traffic{3.0, 5.0},
             .every_second = 1.0});
  save(width);
  product("per-layer projection", hidden, width);
  save(hidden);
  layer.add({.name = "per-layer norm",
             .part = LayerPart::norm,
             .rows = RowKind::residual,
             .out = hidden,
             .traffic = norm_traffic,
             .eager = eager_norm_traffic(model.norm),
             .fused_by = FusedKernel::norm,
             .vectors = hidden,
             .every_second = 1.0});
  describe_residual("per-layer residual", model, layer);
}

}  // namespace layer_detail

void describe_dense(const LlmShape& model, const LayerSizes& sizes, const LayerCut& cut,
                    LayerDescription& layer) {
  layer_detail::describe_mlp_norm(LinearKind::fc1, model, layer);
  layer_detail::describe_mlp({"MLP up projection", "activation", "MLP down projection"},
                             {&LayerModules::mlp, nullptr, false}, sizes.ffn_hidden / cut.tensor,
                             model, layer);
  layer_detail::describe_residual("MLP residual", model, layer);
}

}  // namespace foretrain
