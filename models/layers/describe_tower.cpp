// SPDX-License-Identifier: Apache-2.0
// A vision tower as layers, and what it has around them; models/layers/README.md, "Vision towers".
#include "models/layers/internal/describe.hpp"
#include "models/layers/vision_tower.hpp"

namespace foretrain {
namespace {

double norm_parameters(double width, bool with_bias) { return width * (with_bias ? 2.0 : 1.0); }

LayerOperator tower_norm(std::string_view name, double width, bool with_bias, bool frozen) {
  return {.name = name,
          .part = LayerPart::ends,
          .out = width,
          .traffic = layer_detail::norm_traffic,
          .fused_by = FusedKernel::norm,
          .vectors = norm_parameters(width, with_bias),
          .frozen = frozen};
}

LayerOperator tower_product(std::string_view name, double out, double in, bool with_bias,
                            bool frozen) {
  return {.name = name,
          .work = LayerWork::product,
          .part = LayerPart::ends,
          .out = out,
          .in = in,
          .vectors = with_bias ? out : 0.0,
          .frozen = frozen};
}

/// A tensor that is kept for a weight gradient alone, or for the gradient of an input.
EndTensor kept(Keep keep, double width) {
  return {.row = &EndActivations::kept, .keep = keep, .width = width};
}

}  // namespace

LlmShape tower_shape(const VisionShape& vision) {
  LlmShape shape;
  shape.name = "vision tower";
  shape.layers = vision.layers;
  shape.hidden = vision.hidden;
  shape.heads = vision.heads;
  shape.kv_heads = vision.kv_heads > 0 ? vision.kv_heads : vision.heads;
  shape.head_dim = vision.head_dim > 0 ? vision.head_dim : vision.hidden / vision.heads;
  shape.ffn_hidden = vision.mlp_hidden;
  shape.window = vision.window;
  shape.window_chunked = true;
  shape.full_attention_every = vision.full_attention_every;
  shape.bidirectional = true;
  shape.vocabulary = 1;
  shape.tied_embeddings = true;
  shape.position = vision.rotary ? PositionKind::rotary : PositionKind::none;
  shape.norm = vision.norm;
  shape.norm_bias = vision.norm == NormKind::layernorm;
  shape.norms_per_layer = vision.norms_per_layer;
  shape.qk_norm = vision.qk_norm;
  shape.gated_mlp = vision.mlp_gated;
  shape.qkv_bias = shape.attention_output_bias = shape.mlp_bias = vision.bias;
  return shape;
}

void describe_tower_ends(const VisionShape& vision, bool frozen, EndDescription& ends) {
  const double hidden = vision.hidden;
  const double pixels = 1.0 * vision.patch * vision.patch * vision.channels * vision.frames;
  const bool bias = vision.norm == NormKind::layernorm;
  ends.add(tower_product("patch embedding", hidden, pixels, vision.patch_bias, frozen));
  ends.save(kept(Keep::product_input, frozen ? 0.0 : pixels));
  if (vision.positions > 0)
    ends.add({.name = "patch positions",
              .work = LayerWork::unpriced,
              .part = LayerPart::ends,
              .vectors = vision.positions * hidden,
              .frozen = frozen});
  const auto norm = [&](std::string_view name) {
    ends.add(tower_norm(name, hidden, bias, frozen));
    ends.save(kept(Keep::element, frozen ? 0.0 : hidden));
  };
  if (vision.first_norm) norm("first tower norm");
  if (vision.final_norm) norm("final tower norm");
}

void describe_projector(const VisionShape& vision, int hidden, bool inner, bool frozen,
                        EndDescription& projector) {
  const double input = vision.projector_input();
  const double merged = vision.pooled ? 1.0 : vision.merged();
  if (vision.projector_norm != ProjectorNorm::none) {
    LayerOperator norm = tower_norm("projector norm", input,
                                    vision.projector_norm == ProjectorNorm::layernorm, frozen);
    if (!inner) norm.vectors /= merged;  // of patches, before they are merged
    projector.add(norm);
    projector.save(kept(Keep::element, input));
  }
  double width = input;
  const auto product = [&](std::string_view name, double out, bool bias) {
    projector.add(tower_product(name, out, width, bias, frozen));
    if (!frozen) projector.save(kept(Keep::product_input, width));
    width = out;
  };
  if (vision.merger_hidden > 0) product("patch merger", vision.merger_hidden, false);
  if (vision.projector_hidden > 0) {
    product("projector", vision.projector_hidden, vision.projector_bias);
    projector.add({.name = "projector activation",
                   .part = LayerPart::ends,
                   .out = width,
                   .traffic = layer_detail::half_bytes * Traffic{2.0, 3.0}});
    projector.save(kept(Keep::activation_input, width));
  }
  product("projector", hidden, vision.projector_bias);
}

}  // namespace foretrain
