// SPDX-License-Identifier: Apache-2.0
#include "models/layers/layer_description.hpp"

#include "models/layers/internal/describe.hpp"

namespace foretrain {

using layer_detail::NormRows;

LayerType layer_type(const LlmShape& model, int layer, int sequence) {
  LayerType type = model.layer_form(layer);
  type.windowed = model.is_windowed_layer(layer, sequence);
  return type;
}

LayerCounts layer_counts(const LlmShape& model, int sequence) {
  LayerCounts counts{};
  if (!model.windows_cut(sequence) && !model.is_hybrid()) {
    const int moe = model.moe_layers();
    counts[type_index({LayerKind::dense})] = model.layers - moe;
    counts[type_index({LayerKind::moe})] = moe;
    return counts;
  }
  for (int layer = 0; layer < model.layers; ++layer)
    ++counts[type_index(layer_type(model, layer, sequence))];
  return counts;
}

LayerCut layer_cut(const Parallel& plan) {
  return {static_cast<double>(plan.tensor), static_cast<double>(plan.expert),
          static_cast<double>(plan.expert_tensor_size())};
}

void describe_mixer(const LlmShape& model, const LayerType& type, const LayerCut& cut,
                    LayerDescription& layer) {
  switch (type.mixer) {
    case MixerKind::attention:
      return describe_attention(model, type.windowed, cut, layer);
    case MixerKind::mamba:
      return describe_mamba(model, cut, layer);
    case MixerKind::delta:
      return describe_delta(model, cut, layer);
    case MixerKind::none:
      break;
  }
}

void describe_second(const LlmShape& model, LayerKind kind, const LayerCut& cut,
                     LayerDescription& layer) {
  if (kind == LayerKind::moe) describe_experts(model, cut, layer);
  if (kind == LayerKind::dense) describe_dense(model, cut, layer);
}

void describe_layer(const LlmShape& model, const LayerType& type, const LayerCut& cut,
                    LayerDescription& layer) {
  describe_mixer(model, type, cut, layer);
  describe_second(model, type.kind, cut, layer);
}

namespace layer_detail {

Traffic activation_traffic(const LlmShape& model) {
  return half_bytes * (model.gated_mlp ? Traffic{3.0, 5.0} : Traffic{2.0, 3.0});
}

void describe_norm(std::string_view name, const NormRows& rows, const LlmShape& model,
                   LayerDescription& layer) {
  const double norms = model.norms_per_layer / 2.0;
  const double width = norms * model.hidden;
  layer.add({.name = name,
             .part = LayerPart::norm,
             .rows = RowKind::residual,
             .out = width,
             .traffic = norm_traffic,
             .fused_by = FusedKernel::norm,
             .vectors = width * (model.norm_bias ? 2.0 : 1.0),
             .again = rows.module,
             .every_second = 1.0});
  layer.save({.row = rows.input,
              .rows = RowKind::residual,
              .width = width,
              .every_second = width,
              .offloaded = rows.module});
  layer.save({.row = rows.output,
              .keep = Keep::product_input,
              .rows = RowKind::residual,
              .width = width,
              .remade = rows.module,
              .offloaded = rows.output_offloaded,
              .for_weights = rows.feeds});
  const double vectors = model.norm == NormKind::layernorm ? 2.0 : 1.0;
  layer.save({.row = &LayerActivations::norm_statistics,
              .keep = Keep::statistics,
              .rows = RowKind::residual,
              .width = norms * vectors});
  if (model.norm == NormKind::rmsnorm)  // the stack's constant is for both norms of a layer
    layer.save({.row = &LayerActivations::norm_statistics,
                .keep = Keep::norm_copies,
                .rows = RowKind::residual,
                .width = model.hidden / 2.0});
}

void describe_residual(std::string_view name, const LlmShape& model, LayerDescription& layer) {
  const double hidden = model.hidden;
  layer.add({.name = name,
             .part = LayerPart::norm,
             .rows = RowKind::residual,
             .out = hidden,
             .traffic = residual_traffic});
  layer.save({.row = &LayerActivations::dropout_masks,
              .keep = Keep::dropout_mask,
              .rows = RowKind::residual,
              .width = hidden});
}

void describe_gather(double width, LayerModule again, LayerModule again_too,
                     LayerDescription& layer) {
  layer.add({.name = "gather",
             .work = LayerWork::tensor_gather,
             .out = width,
             .again = again,
             .again_too = again_too,
             .every_second = 1.0});
}

void describe_scatter(double width, LayerModule again, LayerModule again_too,
                      LayerDescription& layer) {
  layer.add({.name = "scatter",
             .work = LayerWork::tensor_scatter,
             .out = width,
             .again = again,
             .again_too = again_too});
}

}  // namespace layer_detail
}  // namespace foretrain
