// SPDX-License-Identifier: Apache-2.0
// Counts by hand from the formulas of models/layers/README.md, "Parameters". The counts of every
// catalog model are checked in tests/scenarios/catalog_test.cpp, where the files are read.
#include "models/layers/parameters.hpp"

#include <stdexcept>

#include "tests/models/example_shapes.hpp"

using namespace foretrain;
using foretrain::test::gpt;
using foretrain::test::llama2_70b;

namespace {

/// DeepSeek-V3: arXiv 2412.19437 section 4.2.
LlmShape deepseek_v3() {
  LlmShape shape;
  shape.layers = 61;
  shape.hidden = 7168;
  shape.heads = shape.kv_heads = 128;
  shape.head_dim = 56;
  shape.ffn_hidden = 18432;
  shape.vocabulary = 129280;
  shape.gated_mlp = true;
  shape.mla = MlaShape{1536, 512, 128, 64, 128};
  MoeShape moe;
  moe.experts = 256;
  moe.top_k = 8;
  moe.expert_ffn_hidden = moe.shared_ffn_hidden = 2048;
  moe.router_bias = true;
  moe.first_dense_layers = 3;
  shape.moe = moe;
  shape.mtp_layers = 1;
  return shape;
}

}  // namespace

TEST_CASE("Llama-2-70B: one layer counted by hand", "[models][llm]") {
  const LayerParameters layer = layer_parameters(llama2_70b(), LayerKind::dense);
  CHECK(layer.attention == 2 * 8192LL * 8192 + 2 * 8192LL * 1024);
  CHECK(layer.dense_mlp == 3 * 8192LL * 28672);
  CHECK(layer.norms == std::int64_t{2} * 8192);
  CHECK(layer.router == 0);
  CHECK(layer.routed_experts == 0);
  CHECK(parameters(llama2_70b()) == 68'976'648'192);
  CHECK(active_parameters(llama2_70b()) == parameters(llama2_70b()));
}

TEST_CASE("GPT: SC21 equation 2 plus the final LayerNorm", "[models][llm]") {
  // P = 12 l h^2 (1 + 13/(12 h) + (V + s)/(12 l h)), arXiv 2104.04473 section 5.1.
  const int layers = GENERATE(24, 80, 128);
  const int hidden = GENERATE(2304, 12288, 25600);
  const double l = layers;
  const double h = hidden;
  const double equation =
      12.0 * l * h * h * (1.0 + 13.0 / (12.0 * h) + (51200.0 + 2048.0) / (12.0 * l * h));
  const LlmShape shape = gpt(layers, hidden, hidden / 128);
  CAPTURE(layers, hidden);
  CHECK(static_cast<double>(parameters(shape)) == Approx(equation + 2.0 * h).epsilon(1e-12));
}

TEST_CASE("DeepSeek-V3: latent attention, shared expert, dense layers and MTP", "[models][llm]") {
  const LlmShape shape = deepseek_v3();
  CHECK(shape.moe_layers() == 58);
  CHECK_FALSE(shape.is_moe_layer(2));
  CHECK(shape.is_moe_layer(3));
  CHECK(parameters(shape) == 671'026'419'200);
  // The report's "37B activated for each token" (abstract).
  CHECK(static_cast<double>(active_parameters(shape)) / 1e9 == Approx(37.5).margin(0.5));
  // DeepSeek-V3 README_WEIGHTS.md: 11.5B unique parameters in the MTP module; the 2h x h
  // projection is on top of that figure (inferred: only without it the digits agree).
  const std::int64_t projection = 2 * 7168LL * 7168;
  CHECK(static_cast<double>(mtp_parameters(shape) - projection) / 1e9 == Approx(11.5).margin(0.05));
}

TEST_CASE("mixture of experts: only top_k of the routed experts are active", "[models][llm]") {
  LlmShape shape = llama2_70b();
  shape.moe = MoeShape{};
  shape.moe->experts = 8;
  shape.moe->top_k = 2;
  shape.moe->expert_ffn_hidden = 1024;
  const std::int64_t expert = 3 * 8192LL * 1024;
  CHECK(parameters(shape) - active_parameters(shape) == std::int64_t{80} * 6 * expert);
  shape.moe->top_k = 8;
  CHECK(parameters(shape) == active_parameters(shape));
}

TEST_CASE("mixture of experts in every second layer halves the experts", "[models][llm]") {
  LlmShape shape = llama2_70b();
  shape.moe = MoeShape{};
  shape.moe->experts = 8;
  shape.moe->top_k = 2;
  shape.moe->expert_ffn_hidden = 1024;
  shape.moe->every = 2;
  CHECK(shape.moe_layers() == 40);
  int counted = 0;
  for (int layer = 0; layer < shape.layers; ++layer) counted += shape.is_moe_layer(layer) ? 1 : 0;
  CHECK(counted == 40);
  shape.moe->first_dense_layers = 5;  // 75 layers left, the first of each pair: 38
  CHECK(shape.moe_layers() == 38);
}

TEST_CASE("multi-query attention keeps one key and one value head", "[models][llm]") {
  LlmShape shape = llama2_70b();
  shape.kv_heads = 1;
  CHECK(layer_parameters(shape, LayerKind::dense).attention ==
        2 * 8192LL * 8192 + 2 * 8192LL * 128);
}

TEST_CASE("tying the embedding saves exactly one vocabulary matrix", "[models][llm]") {
  LlmShape shape = llama2_70b();
  const std::int64_t untied = parameters(shape);
  shape.tied_embeddings = true;
  CHECK(untied - parameters(shape) == 32000LL * 8192);
}

TEST_CASE("biases, query-key norms and the embedding norm are counted", "[models][llm]") {
  LlmShape shape = llama2_70b();
  const std::int64_t bare = layer_parameters(shape, LayerKind::dense).attention;
  shape.qkv_bias = true;
  CHECK(layer_parameters(shape, LayerKind::dense).attention - bare == 8192 + 2 * 1024);
  shape.attention_output_bias = true;
  shape.qk_norm = true;
  CHECK(layer_parameters(shape, LayerKind::dense).attention - bare ==
        8192 + 2 * 1024 + 8192 + 2 * 128);
  const std::int64_t embedding = embedding_parameters(shape, 32000);
  shape.embedding_norm = true;
  CHECK(embedding_parameters(shape, 32000) - embedding == 8192);
}

TEST_CASE("vocabulary padding rounds up to the multiple", "[models][llm]") {
  CHECK(padded_vocabulary(50257, 1) == 50257);
  CHECK(padded_vocabulary(50257, 128) == 50304);
  CHECK(padded_vocabulary(50257, 128 * 8) == 51200);
  CHECK(padded_vocabulary(51200, 128 * 8) == 51200);
  CHECK_THROWS_AS(padded_vocabulary(50257, 0), std::logic_error);
}
