// SPDX-License-Identifier: Apache-2.0
#include "models/layers/flops.hpp"

#include "tests/models/example_shapes.hpp"

using namespace foretrain;
using foretrain::test::gpt;
using foretrain::test::llama2_70b;

namespace {

Flop model_flops(const LlmShape& shape, int sequence, AttentionFlops attention) {
  return flops_per_sequence(shape, sequence, shape.vocabulary, RecomputeKind::none, attention)
      .model;
}

}  // namespace

TEST_CASE("a GPT's model FLOPs are Korthikanti's equation 7", "[models][flops]") {
  const int layers = GENERATE(4, 96);
  const int hidden = GENERATE(1024, 12288);
  const int sequence = GENERATE(512, 2048, 8192);
  const LlmShape shape = gpt(layers, hidden, hidden / 128);
  const Flop paper =
      convention_flops_per_sequence(shape, sequence, 51200, FlopsConvention::korthikanti_model);
  CAPTURE(layers, hidden, sequence);
  CHECK(model_flops(shape, sequence, AttentionFlops::full).value() ==
        Approx(paper.value()).epsilon(1e-12));
}

TEST_CASE("full recompute gives SC21's equation 3", "[models][flops]") {
  const LlmShape shape = gpt(96, 12288, 96);
  const FlopsPerSequence flops =
      flops_per_sequence(shape, 2048, 51200, RecomputeKind::full, AttentionFlops::full);
  const Flop paper =
      convention_flops_per_sequence(shape, 2048, 51200, FlopsConvention::sc21_full_recompute);
  CHECK(flops.hardware.value() == Approx(paper.value()).epsilon(1e-12));
}

TEST_CASE("selective recompute gives Korthikanti's equation 8", "[models][flops]") {
  // 72 s L h^2 (1 + s/(3 h) ... ) counts the scores twice: forward once more, s/(6h) * 4/3.
  const LlmShape shape = gpt(48, 6144, 64);
  const FlopsPerSequence flops =
      flops_per_sequence(shape, 2048, 51200, RecomputeKind::selective, AttentionFlops::full);
  CHECK(flops.recompute.value() == Approx(4.0 * 48 * 6144.0 * 2048 * 2048).epsilon(1e-12));
  CHECK(flops.hardware == flops.model + flops.recompute);
}

TEST_CASE("Llama-2-70B at 4,096 tokens, every component by hand", "[models][flops]") {
  const FlopsPerSequence flops =
      flops_per_sequence(llama2_70b(), 4096, 32000, RecomputeKind::none, AttentionFlops::full);
  const double s = 4096;
  const double h = 8192;
  CHECK(flops.forward.attention_projections.value() == 80 * 2 * s * (2 * h * h + 2 * h * 1024));
  CHECK(flops.forward.attention_scores.value() == 80 * 4 * s * s * h);
  CHECK(flops.forward.dense_mlp.value() == 80 * 2 * s * 3 * h * 28672);
  CHECK(flops.forward.head.value() == 2 * s * h * 32000);
  CHECK(flops.model.value() == Approx(1.82e15).epsilon(0.01));  // dgxc-benchmarking README
  CHECK(flops.recompute == Flop{});
  CHECK(flops.hardware == flops.model);
}

TEST_CASE("the causal count halves the scores and nothing else", "[models][flops]") {
  const auto full =
      flops_per_sequence(llama2_70b(), 4096, 32000, RecomputeKind::selective, AttentionFlops::full);
  const auto causal = flops_per_sequence(llama2_70b(), 4096, 32000, RecomputeKind::selective,
                                         AttentionFlops::causal);
  CHECK(full.forward.attention_scores == 2.0 * causal.forward.attention_scores);
  CHECK(full.model - causal.model == 3.0 * causal.forward.attention_scores);
  CHECK(full.forward.dense_mlp == causal.forward.dense_mlp);
  CHECK(full.recompute == 2.0 * causal.recompute);
}

TEST_CASE("a token pays for top_k experts, the shared expert and the router", "[models][flops]") {
  LlmShape shape = llama2_70b();
  shape.moe = MoeShape{};
  shape.moe->experts = 64;
  shape.moe->top_k = 6;
  shape.moe->expert_ffn_hidden = 1408;
  shape.moe->shared_ffn_hidden = 2816;
  const ForwardFlops layer = layer_forward_flops(shape, 10, {LayerKind::moe}, AttentionFlops::full);
  CHECK(layer.experts.value() == 2.0 * 10 * 6 * 3 * 8192 * 1408);
  CHECK(layer.dense_mlp.value() == 2.0 * 10 * 3 * 8192 * 2816);
  CHECK(layer.router.value() == 2.0 * 10 * 8192 * 64);
  shape.moe->experts = 128;  // more experts cost only router work
  CHECK(layer_forward_flops(shape, 10, {LayerKind::moe}, AttentionFlops::full).experts ==
        layer.experts);
}

TEST_CASE("latent attention scores use its own head widths", "[models][flops]") {
  LlmShape shape = gpt(1, 2048, 16);
  shape.mla = MlaShape{0, 512, 128, 64, 128};
  const ForwardFlops layer =
      layer_forward_flops(shape, 100, {LayerKind::dense}, AttentionFlops::full);
  CHECK(layer.attention_scores.value() == 100.0 * 100 * 2 * 16 * (128 + 64 + 128));
  const double weights =
      2048.0 * 16 * 192 + 2048.0 * (512 + 64) + 512.0 * 16 * 256 + 16.0 * 128 * 2048;
  CHECK(layer.attention_projections.value() == 2.0 * 100 * weights);
}

TEST_CASE("a multi-token-prediction module adds a layer, a projection and a head",
          "[models][flops]") {
  LlmShape shape = gpt(2, 1024, 8);
  const auto without =
      flops_per_sequence(shape, 512, 51200, RecomputeKind::full, AttentionFlops::full);
  shape.mtp_layers = 1;
  const auto with =
      flops_per_sequence(shape, 512, 51200, RecomputeKind::full, AttentionFlops::full);
  const Flop layer =
      layer_forward_flops(shape, 512, {LayerKind::dense}, AttentionFlops::full).total() +
      Flop{2.0 * 512 * 2 * 1024 * 1024};
  CHECK(with.forward.mtp == layer + Flop{2.0 * 512 * 1024 * 51200});
  CHECK(with.recompute - without.recompute == layer);  // the head is not recomputed
}

TEST_CASE("a step costs its sequences", "[models][flops]") {
  const auto one =
      flops_per_sequence(llama2_70b(), 4096, 32000, RecomputeKind::full, AttentionFlops::full);
  const auto step = flops_per_step(one, 1024);
  CHECK(step.model == 1024.0 * one.model);
  CHECK(step.hardware == 1024.0 * one.hardware);
  CHECK(step.forward.total() == 1024.0 * one.forward.total());
}

TEST_CASE("every convention has a name and a positive count", "[models][flops]") {
  for (const auto& [convention, name] : EnumNames<FlopsConvention>::names) {
    CAPTURE(name);
    CHECK(from_name<FlopsConvention>(name) == convention);
    CHECK(convention_flops_per_sequence(llama2_70b(), 4096, 32000, convention, 70e9) > Flop{});
  }
  CHECK_THROWS_AS(
      convention_flops_per_sequence(llama2_70b(), 4096, 32000, FlopsConvention::six_n_label),
      std::logic_error);
}

TEST_CASE("the classic hand table for 70e9 parameters", "[models][flops]") {
  // Mixed precision: 2 bytes of weight and of gradient, 12 of fp32 master weight and two moments
  // (Rajbhandari et al., ZeRO, arXiv 1910.02054 section 3.1).
  const double nominal = 70e9;
  CHECK(Bytes{nominal * 2.0}.in(GB) == Approx(140));
  CHECK(Bytes{nominal * 2.0}.in(GB) == Approx(140));
  CHECK(Bytes{nominal * 12.0}.in(GB) == Approx(840));

  // 6 N D (Kaplan et al., arXiv 2001.08361 section 2.1) at 40 % MFU on 1,024 H100.
  const Flop work = convention_flops_per_sequence(llama2_70b(), 4096, 32000,
                                                  FlopsConvention::six_n_label, nominal) *
                    (2e12 / 4096.0);
  const FlopPerSecond peak = 1024.0 * 989.4 * TFLOPS;
  CHECK((work / (0.4 * peak)).in(days) == Approx(24.0).epsilon(0.005));
  const double mfu_for_seven_days = work / (7.0 * days) / peak;
  CHECK(mfu_for_seven_days == Approx(1.37).epsilon(0.01));  // above 100 %: impossible
}
