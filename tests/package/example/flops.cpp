// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "models/inputs/llm.hpp"
#include "models/layers/flops.hpp"

int main() {
  foretrain::LlmShape gpt2;
  gpt2.layers = 12;
  gpt2.hidden = 768;
  gpt2.heads = gpt2.kv_heads = 12;
  gpt2.head_dim = 64;
  gpt2.ffn_hidden = 3072;
  gpt2.vocabulary = 50257;
  gpt2.tied_embeddings = true;
  const auto one = foretrain::flops_per_sequence(
      gpt2, 1024, gpt2.vocabulary, foretrain::RecomputeKind::none, foretrain::AttentionFlops::full);
  std::printf("%.4g\n", one.model.value());
}
