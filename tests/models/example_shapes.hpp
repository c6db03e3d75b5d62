// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/llm.hpp"

namespace foretrain::test {

/// Llama-2-70B: arXiv 2307.09288, 68,976,648,192 parameters in the released checkpoint.
inline LlmShape llama2_70b() {
  LlmShape shape;
  shape.name = "llama2-70b";
  shape.layers = 80;
  shape.hidden = 8192;
  shape.heads = 64;
  shape.kv_heads = 8;
  shape.head_dim = 128;
  shape.ffn_hidden = 28672;
  shape.vocabulary = 32000;
  shape.gated_mlp = true;
  return shape;
}

/// A GPT with the shape and vocabulary of SC21 (arXiv 2104.04473).
inline LlmShape gpt(int layers, int hidden, int heads) {
  LlmShape shape;
  shape.layers = layers;
  shape.hidden = hidden;
  shape.heads = shape.kv_heads = heads;
  shape.head_dim = hidden / heads;
  shape.ffn_hidden = 4 * hidden;
  shape.vocabulary = 51200;
  shape.positions = 2048;
  shape.position = PositionKind::learned;
  shape.norm = NormKind::layernorm;
  shape.norm_bias = shape.qkv_bias = shape.attention_output_bias = shape.mlp_bias = true;
  shape.tied_embeddings = true;
  return shape;
}

}  // namespace foretrain::test
