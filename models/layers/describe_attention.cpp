// SPDX-License-Identifier: Apache-2.0
// The attention half of a layer: multi-head, grouped-query, and latent attention.
#include <algorithm>

#include "models/layers/internal/describe.hpp"

namespace foretrain {
namespace {

using layer_detail::describe_gather;
using layer_detail::half_bytes;
using layer_detail::norm_traffic;

HeadShape head_shape(const LlmShape& model, bool windowed, const LayerCut& cut) {
  HeadShape shape;
  shape.heads = model.heads / cut.tensor;
  shape.window = windowed ? model.window : 0.0;
  shape.chunked = windowed && model.window_chunked;
  if (model.indexer) shape.window = model.indexer->top_k;  // as many pairs
  if (model.mla) {
    const MlaShape& mla = *model.mla;
    shape.head_dim = mla.qk_nope_head_dim + mla.qk_rope_head_dim;
    shape.value_dim = mla.v_head_dim;
    shape.query = shape.key = shape.heads * shape.head_dim;
    shape.value = shape.output = shape.heads * shape.value_dim;
    return shape;
  }
  shape.head_dim = shape.value_dim = model.head_dim;
  shape.query = shape.output = shape.heads * model.head_dim;
  // A rank has one key-value head at least: those that several query heads share are copied.
  shape.key = shape.value = std::max(1.0, model.kv_heads / cut.tensor) * model.head_dim;
  return shape;
}

/// A tensor that attention starts from.
SavedTensor of_qkv(Keep keep, double width) {
  return {.row = &LayerActivations::qkv,
          .keep = keep,
          .width = width,
          .offloaded = &LayerModules::core_attention};
}

void add_qkv(const LlmShape& model, LayerDescription& layer) {
  const HeadShape& heads = layer.heads;
  const double keys = heads.key / (heads.query + heads.key + heads.value);
  describe_gather(model.hidden, nullptr, nullptr, layer);
  layer.add({.name = "QKV projection",
             .work = LayerWork::product,
             .gathered = Gathered::input,
             .out = heads.all() + (model.attention_gate ? heads.output : 0.0),
             .in = static_cast<double>(model.hidden),
             .vectors = model.qkv_bias ? heads.all() : 0.0,
             .every_second = keys,
             .linear = LinearKind::qkv});
  SavedTensor inputs = of_qkv(Keep::attention_input, heads.all());
  inputs.every_second = heads.query + heads.value;
  layer.save(inputs);
  if (model.attention_gate) layer.save(of_qkv(Keep::element, heads.output));
  if (!model.qk_norm && !model.qk_norm_whole) return;
  layer.add({.name = "query and key norms",
             .out = heads.query + heads.key,
             .traffic = norm_traffic,
             .fused_by = FusedKernel::norm,
             .vectors = model.qk_norm_whole ? heads.query + heads.key : 2.0 * model.head_dim,
             .every_second = 1.0});
  layer.save(of_qkv(Keep::element, heads.query + heads.key));
  layer.save(of_qkv(Keep::statistics, 4.0 * heads.heads));
}

/// Down to the latent vectors (DeepSeek-V2, arXiv 2405.04434 section 2.1): whole on every tensor
/// rank, over its share of the tokens.
void add_latents(const LlmShape& model, LayerDescription& layer) {
  const MlaShape& mla = *model.mla;
  const double hidden = model.hidden;
  const double latents = mla.q_lora_rank + mla.kv_lora_rank;
  const auto down = [&](std::string_view name, LinearKind linear, double out) {
    layer.add({.name = name,
               .work = LayerWork::product,
               .rows = RowKind::residual,
               .out = out,
               .in = hidden,
               .every_second = 0.5,  // one of each pair
               .linear = linear});
  };
  if (mla.q_lora_rank > 0) down("query down projection", LinearKind::query_down, mla.q_lora_rank);
  down("key-value down projection", LinearKind::key_value_down,
       mla.kv_lora_rank + mla.qk_rope_head_dim);
  layer.add({.name = "latent norms",
             .rows = RowKind::residual,
             .out = latents,
             .traffic = norm_traffic,
             .fused_by = FusedKernel::norm,
             .vectors = latents,
             .every_second = 0.5});
  // Kept even when the up projections are recomputed.
  SavedTensor kept = of_qkv(Keep::element, latents + mla.kv_lora_rank + mla.qk_rope_head_dim);
  kept.rows = RowKind::residual;
  kept.every_second = 1.5 * kept.width;
  layer.save(kept);
}

/// Up to the heads; what is gathered for it are the latents.
void add_latent_heads(const LlmShape& model, LayerDescription& layer) {
  const MlaShape& mla = *model.mla;
  const HeadShape& heads = layer.heads;
  const double query_input = mla.q_lora_rank > 0 ? mla.q_lora_rank : model.hidden;
  const double key_value = heads.heads * (mla.qk_nope_head_dim + mla.v_head_dim);
  describe_gather(query_input + mla.kv_lora_rank + mla.qk_rope_head_dim, nullptr, nullptr, layer);
  const auto up = [&](std::string_view name, LinearKind linear, double out, double in) {
    layer.add({.name = name,
               .work = LayerWork::product,
               .gathered = Gathered::input,
               .out = out,
               .in = in,
               .again = &LayerModules::mla_up_projection,
               .every_second = 0.5,
               .linear = linear});
  };
  up("query up projection", LinearKind::query_up, heads.query, query_input);
  up("key-value up projection", LinearKind::key_value_up, key_value, mla.kv_lora_rank);
  SavedTensor inputs = of_qkv(Keep::attention_input, 2.0 * heads.query + heads.value);
  inputs.every_second = inputs.width / 2.0;
  inputs.remade = &LayerModules::mla_up_projection;
  layer.save(inputs);
  inputs.keep = Keep::unfused_attention;
  inputs.width = key_value;
  inputs.every_second = key_value / 2.0;
  layer.save(inputs);
}

void add_rotary(const LlmShape& model, LayerDescription& layer) {
  const HeadShape& heads = layer.heads;
  const bool rotary = model.position == PositionKind::rotary;
  const bool fused = rotary && !model.rotary_scaled;
  const double bytes = half_bytes * (fused ? 2.0 : 1.0);
  const LayerModule again = model.mla ? &LayerModules::mla_up_projection : nullptr;
  layer.add({.name = fused ? "rotary" : "head split",
             .out = heads.all(),
             .traffic = {bytes, bytes},
             .fused_by = fused ? std::optional{FusedKernel::rope} : std::nullopt,
             .again = again,
             .every_second = 1.0});
  if (rotary && !fused)
    layer.add({.name = "scaled rotary",
               .work = LayerWork::plain,
               .out = heads.query + heads.key,
               .traffic = layer_detail::scaled_rotary_traffic,
               .launches = layer_detail::scaled_rotary_launches,
               .fused_by = FusedKernel::rope,
               .again = again,
               .every_second = 1.0});
  if (rotary && !model.mla) layer.save(of_qkv(Keep::rotary_copies, heads.query + heads.key));
}

/// The lightning indexer (DeepSeek-V3.2): scores of all pairs in small heads, of which each token
/// takes the best. Whole on every tensor rank, without gradient through the choice.
void add_indexer(const LlmShape& model, LayerDescription& layer) {
  const IndexerShape& indexer = *model.indexer;
  const double width = 1.0 * indexer.heads * indexer.head_dim;
  const double query_input = model.mla->q_lora_rank > 0 ? model.mla->q_lora_rank : model.hidden;
  const auto project = [&](std::string_view name, double out, double in, double vectors) {
    layer.add({.name = name,
               .work = LayerWork::product,
               .out = out,
               .in = in,
               .vectors = vectors,
               .every_second = 1.0});
    layer.save(of_qkv(Keep::element, out));
  };
  project("indexer queries", width, query_input, 0.0);
  project("indexer keys", indexer.head_dim, model.hidden, 2.0 * indexer.head_dim);
  project("indexer weights", indexer.heads, model.hidden, 0.0);
  // Causal half of the pairs: products, then one score that the choice reads.
  constexpr double score_bytes = 4.0;
  layer.add({.name = "indexer scores",
             .work = LayerWork::scan,
             .rows = RowKind::keys,
             .traffic = {score_bytes, 2.0 * score_bytes},
             .scanned = {width, 2.0 * width}});
}

void add_core(const LlmShape& model, LayerDescription& layer) {
  const HeadShape& heads = layer.heads;
  layer.add({.name = "attention",
             .work = LayerWork::attention,
             .vectors = model.attention_sinks ? heads.heads : 0.0,
             .again = &LayerModules::core_attention});
  const auto save = [&](Keep keep, RowKind rows, double width) {
    layer.save({.row = &LayerActivations::scores,
                .keep = keep,
                .rows = rows,
                .width = width,
                .every_second = width,
                .remade = &LayerModules::core_attention,
                .offloaded = &LayerModules::core_attention});
  };
  save(Keep::scores, RowKind::keys, heads.heads);
  save(Keep::softmax, RowKind::tokens, heads.heads);
  save(Keep::flash_copy, RowKind::tokens, heads.output);
  layer.save({.row = &LayerActivations::attention_output,
              .keep = Keep::attention_output,
              .width = heads.output,
              .every_second = heads.output,
              .offloaded = &LayerModules::attention_projection});
}

}  // namespace

void describe_attention(const LlmShape& model, bool windowed, const LayerCut& cut,
                        LayerDescription& layer) {
  const double hidden = model.hidden;
  layer.heads = head_shape(model, windowed, cut);
  layer_detail::describe_norm(
      "attention norm",
      {&LayerActivations::attention_norm_input, &LayerActivations::attention_norm_output,
       &LayerModules::attention_norm, &LayerModules::qkv_linear, LinearKind::qkv},
      model, layer);
  if (model.mla) {
    add_latents(model, layer);
    add_latent_heads(model, layer);
  } else {
    add_qkv(model, layer);
  }
  add_rotary(model, layer);
  if (model.indexer) add_indexer(model, layer);
  add_core(model, layer);
  if (model.attention_gate) {
    layer.add({.name = "attention gate", .out = layer.heads.output, .traffic = {6.0, 10.0}});
    layer.save({.row = &LayerActivations::attention_output,
                .keep = Keep::product_input,
                .width = layer.heads.output,
                .every_second = layer.heads.output});
  }
  layer.add({.name = "projection",
             .work = LayerWork::product,
             .gathered = Gathered::output_gradient,
             .out = hidden,
             .in = layer.heads.output,
             .vectors = model.attention_output_bias && !model.mla ? hidden : 0.0,
             .every_second = 1.0,
             .linear = LinearKind::projection});
  layer_detail::describe_scatter(hidden, nullptr, nullptr, layer);
  layer_detail::describe_residual("attention residual", model, layer);
}

}  // namespace foretrain
