// SPDX-License-Identifier: Apache-2.0

#include <catch2/catch.hpp>

#include "models/forecast/closed_form.hpp"
#include "models/layers/flops.hpp"
#include "models/layers/layer_cost.hpp"
#include "models/layers/parameters.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/step/step_costs.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

/// Mistral 7B v0.1 (arXiv 2310.06825 table 1).
LlmShape mistral(int window) {
  LlmShape shape;
  shape.name = "mistral-7b-v0.1";
  shape.layers = 32;
  shape.hidden = 4096;
  shape.heads = 32;
  shape.kv_heads = 8;
  shape.head_dim = 128;
  shape.ffn_hidden = 14336;
  shape.vocabulary = 32000;
  shape.gated_mlp = true;
  shape.window = window;
  return shape;
}

Job mistral_job(int window, int full_every = 0) {
  Job job = test::llama2_70b_job();
  job.model = mistral(window);
  job.model.full_attention_every = full_every;
  job.training.sequence = 16384;
  return job;
}

Seconds attention_time(const Job& job, const LayerVariant& variant) {
  for (const Operator& op : layer_operators(job, variant))
    if (op.kind == OperatorKind::attention) return op.forward + op.input_gradient;
  return Seconds{};
}

Flop scores(const LlmShape& shape, int sequence, AttentionFlops count = AttentionFlops::causal) {
  return flops_per_sequence(shape, sequence, shape.vocabulary, RecomputeKind::none, count)
      .forward.attention_scores;
}

}  // namespace

TEST_CASE("windows: pairs are those that the mask keeps, half of the diagonal aside",
          "[models][window]") {
  const int sequence = GENERATE(64, 257);
  for (const int window : {1, 8, 63}) {
    long pairs = 0;
    for (int query = 0; query < sequence; ++query)
      for (int key = 0; key <= query; ++key) pairs += query - key < window ? 1 : 0;
    // window * sequence - window (window - 1) / 2, of which the diagonal neglected is window / 2.
    CHECK(pairs == long{window} * sequence - long{window} * (window - 1) / 2);
    const double counted = sequence * attended_keys(sequence, window) / 2.0;
    CHECK(static_cast<double>(pairs) - counted == Approx(window / 2.0));
  }
}

TEST_CASE("windows: one that holds the sequence changes nothing, to the last bit",
          "[models][window]") {
  const Job plain = [] {
    Job job = mistral_job(0);
    job.training.sequence = 4096;
    return job;
  }();
  for (const int window : {4096, 32768}) {
    Job job = plain;
    job.model.window = window;
    CHECK(scores(job.model, 4096) == scores(plain.model, 4096));
    const Prediction with = closed_form(job);
    const Prediction without = closed_form(plain);
    CHECK(with.step->time == without.step->time);
    CHECK(with.warnings.size() == without.warnings.size());
  }
}

TEST_CASE("windows: Mistral's scores at 16,384 tokens by hand", "[models][window]") {
  // 32 layers, 4 FLOPs per pair, head and element: 32 heads of 128, 4096 x 16384 - 4096^2 / 2
  // pairs.
  const double pairs = 4096.0 * 16384 - 4096.0 * 4096 / 2;
  CHECK(scores(mistral(4096), 16384).value() == 32 * 4.0 * 32 * 128 * pairs);
  CHECK(scores(mistral(4096), 16384, AttentionFlops::full).value() ==
        32 * 4.0 * 32 * 128 * 2 * pairs);
  CHECK(parameters(mistral(4096)) == parameters(mistral(0)));
}

TEST_CASE("windows: where every other layer sees everything, the model has half of both",
          "[models][window]") {
  LlmShape alternate = mistral(4096);
  alternate.full_attention_every = 2;
  CHECK_FALSE(alternate.is_windowed_layer(1, 16384));
  CHECK(alternate.is_windowed_layer(0, 16384));
  const double half =
      (scores(mistral(4096), 16384).value() + scores(mistral(0), 16384).value()) / 2.0;
  CHECK(scores(alternate, 16384).value() == Approx(half).epsilon(1e-12));

  const Job job = mistral_job(4096, 2);
  const StepCosts costs = step_costs(job, stage_layout(job.model, job.parallel));
  int windowed = 0, whole = 0;
  for (const PieceRun& run : costs.runs) {
    if (run.kind == layer_piece({.windowed = true})) windowed += run.count;
    if (run.kind == PieceKind::layer) whole += run.count;
  }
  CHECK(windowed == 16);
  CHECK(whole == 16);
}

TEST_CASE("windows: fused attention takes less, the shorter the window; nothing else changes",
          "[models][window]") {
  const Job plain = mistral_job(0);
  Seconds before = attention_time(plain, {});
  for (const int window : {12288, 4096, 1024, 128}) {
    const Job job = mistral_job(window);
    const Seconds now = attention_time(job, {.windowed = true});
    CHECK(now < before);
    before = now;
    const Operators whole = layer_operators(plain, {});
    const Operators cut = layer_operators(job, {.windowed = true});
    REQUIRE(whole.size() == cut.size());
    for (std::size_t i = 0; i < whole.size(); ++i)
      if (whole[i].kind != OperatorKind::attention) CHECK(whole[i].forward == cut[i].forward);
  }
  CHECK(closed_form(mistral_job(4096)).step->time < closed_form(plain).step->time);
}

TEST_CASE("windows: unfused attention makes all scores and masks them, in time and memory",
          "[models][window]") {
  Job plain = mistral_job(0);
  Job job = mistral_job(4096);
  plain.memory.attention = job.memory.attention = AttentionKind::unfused;
  CHECK(attention_time(job, {.windowed = true}) == attention_time(plain, {}));
  CHECK(memory_need(job, stage_layout(job.model, job.parallel)).peak ==
        memory_need(plain, stage_layout(plain.model, plain.parallel)).peak);
}

TEST_CASE("windows: a ring of context ranks is refused by name, where a window cuts",
          "[models][window]") {
  Job job = mistral_job(4096);
  job.parallel.context = 2;
  job.parallel.data = 8;
  const auto reasons = not_modelled(job);
  REQUIRE(reasons.size() == 1);
  CHECK(reasons.front().key == "parallel.context");
  CHECK(reasons.front().message.find("attention with a window") != std::string::npos);
  job.training.sequence = 4096;
  CHECK(not_modelled(job).empty());
}
