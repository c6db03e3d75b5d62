// SPDX-License-Identifier: Apache-2.0
// Compressed attention of DeepSeek-V4; models/layers/README.md, "Compressed attention".
#include "models/base/require.hpp"
#include "models/layers/internal/describe.hpp"

namespace foretrain::layer_detail {
namespace {

SavedTensor of_inputs(Keep keep, double width) {
  return {.row = &LayerActivations::qkv,
          .keep = keep,
          .width = width,
          .every_second = width,
          .offloaded = &LayerModules::core_attention};
}

LayerOperator input_product(std::string_view name, double out, double in) {
  return {.name = name,
          .work = LayerWork::product,
          .out = out,
          .in = in,
          .every_second = 0.5,
          .linear = LinearKind::qkv};
}

}  // namespace

void describe_compressor(const LlmShape& model, int ratio, double width, LayerDescription& layer) {
  // The finest ratio overlaps: a key is made of its own tokens and of those before.
  constexpr int overlapping = 4;
  const double spans = ratio == overlapping ? 2.0 : 1.0;
  const double columns = 2.0 * spans * width;  // values and their weights
  LayerOperator product = input_product("key compression", columns, model.hidden);
  product.vectors = ratio * spans * width + width;  // positions within a group, and a norm
  layer.add(product);
  layer.save(of_inputs(Keep::element, columns));
  layer.add({.name = "weighted keys",
             .out = columns,
             .traffic = {half_bytes + half_bytes / ratio, 2.0 * half_bytes},
             .every_second = 1.0});
  layer.save(of_inputs(Keep::element, width / ratio));
}

void describe_compressed_inputs(const LlmShape& model, const LayerSizes& sizes,
                                LayerDescription& layer) {
  FORETRAIN_REQUIRE(model.compression.has_value());
  const double rank = model.compression->q_lora_rank;
  const HeadShape& heads = layer.heads;
  describe_gather(model.hidden, nullptr, nullptr, layer);
  layer.add(input_product("query down projection", rank, model.hidden));
  layer.add({.name = "latent norms",
             .out = rank + heads.head_dim,
             .traffic = norm_traffic,
             .fused_by = FusedKernel::norm,
             .vectors = rank + heads.head_dim,
             .every_second = 0.5});
  layer.save(of_inputs(Keep::element, 2.0 * rank));
  layer.add(input_product("query up projection", heads.query, rank));
  layer.add(input_product("key projection", heads.head_dim, model.hidden));
  layer.save(of_inputs(Keep::attention_input, heads.query + heads.head_dim));
  if (sizes.compressed > 0) describe_compressor(model, sizes.compressed, heads.head_dim, layer);
}

double describe_grouped_output(const LlmShape& model, double tensor, LayerDescription& layer) {
  const CompressionShape& shape = *model.compression;
  const double inner = shape.o_groups * shape.o_lora_rank / tensor;
  layer.add({.name = "grouped output projection",
             .work = LayerWork::product,
             .out = inner,
             .in = layer.heads.output * tensor / shape.o_groups,
             .every_second = 1.0,
             .linear = LinearKind::projection});
  layer.save({.row = &LayerActivations::attention_output,
              .keep = Keep::product_input,
              .width = inner,
              .every_second = inner});
  return inner;
}

}  // namespace foretrain::layer_detail
