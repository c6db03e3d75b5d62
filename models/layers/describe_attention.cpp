// SPDX-License-Identifier: Apache-2.0
// The attention half of a layer: multi-head, grouped-query, and latent attention.
#include <algorithm>

#include "models/base/require.hpp"
#include "models/layers/context_kinds.hpp"
#include "models/layers/internal/describe.hpp"

namespace foretrain {
namespace {

using layer_detail::describe_gather;
using layer_detail::half_bytes;
using layer_detail::norm_traffic;

/// Elements per token that context ranks gather for sparse attention: keys that tokens share, or
/// latents, which queries meet as they are (DeepSeek-V3.2, arXiv 2512.02556 section 2.1), or keys
/// and values; and the indexer's own keys.
double gathered_keys(const LlmShape& model, const LayerSizes& sizes, const HeadShape& heads) {
  const double tokens = sizes.compressed > 0 ? sizes.compressed : 1.0;  // of a key
  double width = 0.0;
  if (sizes.compressed > 0)
    width = heads.head_dim;
  else if (sizes.index != IndexUse::none)
    width =
        model.mla ? model.mla->kv_lora_rank + model.mla->qk_rope_head_dim : heads.key + heads.value;
  if (sizes.index == IndexUse::own) width += model.indexer->head_dim;
  return width / tokens;
}

/// What one rank has of heads and their widths.
HeadShape cut_heads(const LlmShape& model, const LayerSizes& sizes, const LayerCut& cut) {
  HeadShape shape;
  shape.heads = sizes.heads / cut.tensor;
  shape.window = sizes.window;
  shape.chunked = sizes.window > 0 && model.window_chunked;
  shape.both_ways = model.bidirectional;
  shape.compressed = sizes.compressed;
  if (sizes.index != IndexUse::none && sizes.compressed > 0)
    shape.chosen = model.indexer->top_k;
  else if (sizes.index != IndexUse::none)
    shape.window = model.indexer->top_k;  // as many pairs
  if (model.mla) {
    const MlaShape& mla = *model.mla;
    shape.head_dim = mla.qk_nope_head_dim + mla.qk_rope_head_dim;
    shape.value_dim = mla.v_head_dim;
    shape.query = shape.key = shape.heads * shape.head_dim;
    shape.value = shape.output = shape.heads * shape.value_dim;
    return shape;
  }
  shape.head_dim = sizes.head_dim;
  shape.value_dim = sizes.value_dim > 0 ? sizes.value_dim : sizes.head_dim;
  shape.query = shape.heads * shape.head_dim;
  shape.output = shape.heads * shape.value_dim;
  // A rank attends to one key-value head at least, which it shares with others.
  const double part = sizes.kv_heads / cut.tensor;
  const double heads = std::max(1.0, part);
  shape.key = heads * shape.head_dim;
  shape.value = heads * shape.value_dim;
  if (!cut.copies_heads && !model.compression) shape.made = part / heads;
  return shape;
}

HeadShape head_shape(const LlmShape& model, const LayerSizes& sizes, const LayerCut& cut) {
  HeadShape shape = cut_heads(model, sizes, cut);
  shape.gathered = gathered_keys(model, sizes, shape);
  shape.borrowed = borrowed_tokens(model, sizes);
  return shape;
}

/// A tensor that attention starts from.
SavedTensor of_qkv(Keep keep, double width) {
  return {.row = &LayerActivations::qkv,
          .keep = keep,
          .width = width,
          .offloaded = &LayerModules::core_attention};
}

/// Columns of the gate on the attention's output.
double gate_columns(const LlmShape& model, const HeadShape& heads) {
  if (model.attention_gate) return heads.output;
  return model.head_gate ? heads.heads : 0.0;
}

/// What a layer makes of its own input; keys and values may be an earlier layer's.
struct OwnInputs {
  double key;
  double value;
  double made_keys;  ///< columns of the projection beside the queries
  double projected;  ///< all of them

  OwnInputs(const LayerSizes& sizes, const HeadShape& heads)
      : key{sizes.shared_keys ? 0.0 : heads.key},
        value{sizes.shared_keys ? 0.0 : heads.value},
        made_keys{heads.made * (key + (sizes.keys_are_values ? 0.0 : value))},
        projected{heads.query + made_keys} {}
};

/// Tensor ranks that outnumber key-value heads have equal parts of all columns, cut across heads:
/// they gather the whole, and each takes its queries and the head that they attend to
/// (Megatron-Core, `attention.py`, get_query_key_value_tensors).
void add_head_gather(double columns, double tensor, LayerDescription& layer) {
  layer.add({.name = "head gather",
             .work = LayerWork::column_gather,
             .out = columns * tensor,
             .every_second = 1.0});
}

void add_qkv(const LlmShape& model, const LayerSizes& sizes, double tensor,
             LayerDescription& layer) {
  const HeadShape& heads = layer.heads;
  const OwnInputs own{sizes, heads};
  const double gate = gate_columns(model, heads);
  describe_gather(model.hidden, nullptr, nullptr, layer);
  layer.add({.name = "QKV projection",
             .work = LayerWork::product,
             .gathered = Gathered::input,
             .out = own.projected + gate,
             .in = static_cast<double>(model.hidden),
             .vectors = model.qkv_bias ? own.projected : 0.0,
             .every_second = heads.made * own.key / own.projected,
             .linear = LinearKind::qkv});
  if (own.key > 0.0 && heads.made < 1.0) add_head_gather(own.projected + gate, tensor, layer);
  SavedTensor inputs = of_qkv(Keep::attention_input, heads.query + own.key + own.value);
  inputs.every_second = heads.query + own.value;
  layer.save(inputs);
  if (gate > 0.0) layer.save(of_qkv(Keep::element, gate));
  if (!model.qk_norm && !model.qk_norm_whole) return;
  const double normed = heads.query + own.key;
  layer.add(
      {.name = "query and key norms",
       .out = normed,
       .traffic = norm_traffic,
       .eager = layer_detail::eager_norm_traffic(NormKind::rmsnorm),
       .fused_by = FusedKernel::norm,
       .vectors = model.qk_norm_whole ? normed : heads.head_dim * (sizes.shared_keys ? 1.0 : 2.0),
       .every_second = 1.0});
  layer.save(of_qkv(Keep::element, normed));
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
             .eager = layer_detail::eager_norm_traffic(NormKind::rmsnorm),
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

void add_rotary(const LlmShape& model, const LayerSizes& sizes, LayerDescription& layer) {
  const HeadShape& heads = layer.heads;
  const OwnInputs own{sizes, heads};
  const double turned = heads.query + own.key;
  const bool rotary = model.position == PositionKind::rotary;
  const bool fused = rotary && !model.rotary_scaled;
  const double bytes = half_bytes * (fused ? 2.0 : 1.0);
  const LayerModule again = model.mla ? &LayerModules::mla_up_projection : nullptr;
  const double split = half_bytes * own.value;  // values are split off, as without a rotation
  const auto eager = [&](double element) {
    return (element * turned + split) / (turned + own.value);
  };
  layer.add({.name = fused ? "rotary" : "head split",
             .out = turned + own.value,
             .traffic = {bytes, bytes},
             .eager = fused ? Traffic{eager(layer_detail::eager_rotary_traffic.forward),
                                      eager(layer_detail::eager_rotary_traffic.backward)}
                            : Traffic{},
             .fused_by = fused ? std::optional{FusedKernel::rope} : std::nullopt,
             .again = again,
             .every_second = 1.0});
  if (rotary && !fused)
    layer.add({.name = "scaled rotary",
               .work = LayerWork::plain,
               .out = turned,
               .traffic = layer_detail::scaled_rotary_traffic,
               .launches = layer_detail::scaled_rotary_launches,
               .fused_by = FusedKernel::rope,
               .again = again,
               .every_second = 1.0});
  if (rotary && !model.mla) layer.save(of_qkv(Keep::rotary_copies, turned));
}

/// Width of the vector that queries come from; 0: from the residual stream.
double query_latent(const LlmShape& model) {
  if (model.compression) return model.compression->q_lora_rank;
  return model.mla ? model.mla->q_lora_rank : 0.0;
}

/// The lightning indexer (DeepSeek-V3.2): scores of all pairs in small heads, of which each token
/// takes the best. Whole on every tensor rank, without gradient through the choice.
void add_indexer(const LlmShape& model, int compressed, LayerDescription& layer) {
  const IndexerShape& indexer = *model.indexer;
  const double width = 1.0 * indexer.heads * indexer.head_dim;
  const double query_input = query_latent(model) > 0.0 ? query_latent(model) : model.hidden;
  const double group = compressed > 0 ? compressed : 1.0;  // tokens of a key
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
  if (compressed > 0)
    layer_detail::describe_compressor(model, compressed, indexer.head_dim, layer);
  else
    project("indexer keys", indexer.head_dim, model.hidden, 2.0 * indexer.head_dim);
  if (indexer.weighted) project("indexer weights", indexer.heads, model.hidden, 0.0);
  // Causal half of the pairs: products, then one score that the choice reads.
  constexpr double score_bytes = 4.0;
  layer.add({.name = "indexer scores",
             .work = LayerWork::scan,
             .rows = RowKind::keys,
             .traffic = {score_bytes / group, 2.0 * score_bytes / group},
             .scanned = {width / group, 2.0 * width / group}});
}

void add_core(const LayerSizes& sizes, double context, LayerDescription& layer) {
  const HeadShape& heads = layer.heads;
  if (context > 1.0 && heads.gathered > 0.0) {
    // What sparse attention gathered is kept: its backward pass does not gather again.
    SavedTensor gathered = of_qkv(Keep::element, context * heads.gathered);
    gathered.remade = &LayerModules::core_attention;
    layer.save(gathered);
  }
  layer.add({.name = "attention",
             .work = LayerWork::attention,
             .vectors = sizes.attention_sinks ? heads.heads : 0.0,
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

/// On what attention gives; latent attention has no projection in common with it.
void add_gate(const LlmShape& model, LayerDescription& layer) {
  const double width = layer.heads.output;
  const double columns = gate_columns(model, layer.heads);
  if (columns == 0.0) return;
  if (model.mla) {
    layer.add({.name = "gate projection",
               .work = LayerWork::product,
               .out = columns,
               .in = static_cast<double>(model.hidden),
               .every_second = 1.0});
    layer.save(of_qkv(Keep::element, columns));
  }
  layer.add({.name = "attention gate", .out = width, .traffic = {6.0, 10.0}});
  layer.save({.row = &LayerActivations::attention_output,
              .keep = Keep::product_input,
              .width = width,
              .every_second = width});
}

}  // namespace

void describe_attention(const LlmShape& model, const LayerType& type, const LayerCut& cut,
                        LayerDescription& layer) {
  const double hidden = model.hidden;
  const LayerSizes sizes = model.sizes(type);
  if (sizes.heads == 0) return;
  layer.heads = head_shape(model, sizes, cut);
  layer_detail::describe_norm(
      "attention norm",
      {&LayerActivations::attention_norm_input, &LayerActivations::attention_norm_output,
       &LayerModules::attention_norm, &LayerModules::qkv_linear, LinearKind::qkv},
      model, layer);
  if (model.compression) {
    layer_detail::describe_compressed_inputs(model, sizes, layer);
  } else if (model.mla) {
    add_latents(model, layer);
    add_latent_heads(model, layer);
  } else {
    add_qkv(model, sizes, cut.tensor, layer);
  }
  add_rotary(model, sizes, layer);
  if (sizes.index == IndexUse::own) add_indexer(model, sizes.compressed, layer);
  add_core(sizes, cut.context, layer);
  add_gate(model, layer);
  const double inner = model.compression
                           ? layer_detail::describe_grouped_output(model, cut.tensor, layer)
                           : layer.heads.output;
  layer.add({.name = "projection",
             .work = LayerWork::product,
             .gathered = Gathered::output_gradient,
             .out = hidden,
             .in = inner,
             .vectors = model.attention_output_bias && !model.mla ? hidden : 0.0,
             .every_second = 1.0,
             .linear = LinearKind::projection});
  layer_detail::describe_scatter(hidden, nullptr, nullptr, layer);
  layer_detail::describe_residual("attention residual", model, layer);
}

}  // namespace foretrain

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

// Compressed attention of DeepSeek-V4; models/layers/README.md, "Compressed attention".
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
