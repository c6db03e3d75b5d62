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
  if (!model.windows_cut(sequence) && !model.is_hybrid() && model.special_pattern.empty()) {
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
  return {.tensor = static_cast<double>(plan.tensor),
          .expert = static_cast<double>(plan.expert),
          .expert_tensor = static_cast<double>(plan.expert_tensor_size()),
          .context = static_cast<double>(plan.context)};
}

void describe_mixer(const LlmShape& model, const LayerType& type, const LayerCut& cut,
                    LayerDescription& layer) {
  switch (type.mixer) {
    case MixerKind::attention:
      describe_attention(model, type, cut, layer);
      if (model.mamba_beside) describe_mamba_beside(model, cut, layer);
      return;
    case MixerKind::mamba:
      return describe_mamba(model, cut, layer);
    case MixerKind::delta:
      return describe_delta(model, cut, layer);
    case MixerKind::convolution:
      return describe_convolution_mixer(model, cut, layer);
    case MixerKind::none:
      break;
  }
}

void describe_second(const LlmShape& model, const LayerType& type, const LayerCut& cut,
                     LayerDescription& layer) {
  const LayerSizes sizes = model.sizes(type);
  if (type.kind == LayerKind::moe) describe_experts(model, sizes, cut, layer);
  if (type.kind == LayerKind::dense) describe_dense(model, sizes, cut, layer);
  if (type.kind == LayerKind::none) return;
  if (model.per_layer_input > 0) layer_detail::describe_per_layer_input(model, layer);
  if (model.layer_scale)
    layer.add({.name = "layer scale",
               .work = LayerWork::unpriced,
               .part = LayerPart::norm,
               .vectors = 1.0});
}

void describe_layer(const LlmShape& model, const LayerType& type, const LayerCut& cut,
                    LayerDescription& layer) {
  describe_mixer(model, type, cut, layer);
  describe_second(model, type, cut, layer);
}

namespace layer_detail {

Traffic activation_traffic(const LlmShape& model) {
  return half_bytes * (model.gated_mlp ? Traffic{3.0, 5.0} : Traffic{2.0, 3.0});
}

Traffic eager_activation_traffic(const LlmShape& model) {
  return model.gated_mlp ? Traffic{10.0, 18.0} : Traffic{4.0, 6.0};
}

Traffic eager_norm_traffic(NormKind norm) {
  return norm == NormKind::rmsnorm ? Traffic{36.0, 84.0} : Traffic{4.0, 10.0};
}

void describe_norm(std::string_view name, const NormRows& rows, const LlmShape& model,
                   LayerDescription& layer) {
  describe_stream_mix(model, layer);
  const double norms = model.norms_per_layer / 2.0;
  const double width = norms * model.hidden;
  layer.add({.name = name,
             .part = LayerPart::norm,
             .rows = RowKind::residual,
             .out = width,
             .traffic = norm_traffic,
             .eager = eager_norm_traffic(model.norm),
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

/// Rows that a kernel reads and writes of each element of the residual stream, and what it keeps.
void add_mix(std::string_view name, double streams, double parameters, const LlmShape& model,
             LayerDescription& layer) {
  const double width = streams * model.hidden;
  layer.add({.name = name,
             .part = LayerPart::norm,
             .rows = RowKind::residual,
             .out = width,
             .traffic = {4.0, 8.0},
             .vectors = parameters,
             .every_second = 1.0});
  layer.save({.row = &LayerActivations::attention_norm_input,
              .rows = RowKind::residual,
              .width = width,
              .every_second = width});
}

void describe_stream_mix(const LlmShape& model, LayerDescription& layer) {
  const double hidden = model.hidden;
  if (model.hyper_connections > 1) {
    // Weights of what is read, of what is added, and of the copies among each other.
    const double copies = model.hyper_connections;
    const double mixes = (2.0 + copies) * copies;
    layer.add({.name = "hyper-connection weights",
               .work = LayerWork::product,
               .part = LayerPart::norm,
               .rows = RowKind::residual,
               .out = mixes,
               .in = copies * hidden,
               .vectors = mixes + 3.0,
               .every_second = 1.0});
    add_mix("hyper-connections", copies, 0.0, model, layer);
  }
  if (model.residual_blocks > 0) {
    // Half of the blocks lie before a layer on average; a query and a norm each.
    const double before = 1.0 + 0.5 * model.layers / model.residual_blocks;
    add_mix("residual attention", before, 2.0 * hidden, model, layer);
  }
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
