// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/llm.hpp"

namespace foretrain::test {

/// Llama 3.1 8B (arXiv 2407.21783, table 3).
inline LlmShape llama_8b() {
  LlmShape model;
  model.name = "llama3.1-8b";
  model.layers = 32;
  model.hidden = 4096;
  model.heads = 32;
  model.kv_heads = 8;
  model.head_dim = 128;
  model.ffn_hidden = 14336;
  model.vocabulary = 128256;
  model.gated_mlp = true;
  return model;
}

}  // namespace foretrain::test
