// SPDX-License-Identifier: Apache-2.0
// What recomputation runs again.
#include <catch2/catch.hpp>

#include <array>
#include <set>
#include <string_view>

#include "models/layers/activations.hpp"
#include "models/layers/layer_cost.hpp"
#include "tests/models/layers/layer_sums.hpp"
#include "tests/models/layers/moe_jobs.hpp"

using namespace foretrain;

namespace {

using Names = std::set<std::string_view>;

Names run_again(const Job& job, LayerKind kind) {
  Names names;
  for (const Operator& op : layer_operators(job, {kind}))
    if (op.recompute > Seconds{}) names.insert(op.name);
  return names;
}

Job selective(Job job, const LayerModules& modules) {
  job.memory.recompute.kind = RecomputeKind::selective;
  job.memory.recompute.modules = modules;
  return job;
}

}  // namespace

TEST_CASE("recompute: a module runs again, and nothing else", "[models][layer]") {
  const Job llama = test::llama2_70b_job();
  CHECK(run_again(selective(llama, {.core_attention = true}), LayerKind::dense) ==
        Names{"attention"});
  CHECK(run_again(selective(llama, {.attention_norm = true, .mlp_norm = true}), LayerKind::dense) ==
        Names{"attention norm", "MLP norm"});
  CHECK(run_again(selective(llama, {.mlp = true}), LayerKind::dense) ==
        Names{"tensor all-gather", "MLP up projection", "activation", "MLP down projection",
              "tensor reduce-scatter"});
  const Job deepseek = test::deepseek_v3_job();
  CHECK(run_again(selective(deepseek, {.mla_up_projection = true}), LayerKind::moe) ==
        Names{"query up projection", "key-value up projection", "rotary"});
  CHECK(run_again(selective(deepseek, {.activation = true}), LayerKind::moe) ==
        Names{"expert activation"});
  CHECK(run_again(selective(deepseek, {.shared_experts = true}), LayerKind::moe) ==
        Names{"shared expert up projection", "shared expert activation",
              "shared expert down projection"});
  CHECK(run_again(selective(deepseek, {.moe = true}), LayerKind::moe) ==
        Names{"router", "top-k", "permute", "dispatch", "expert up projection", "expert activation",
              "expert down projection", "combine", "unpermute", "shared expert up projection",
              "shared expert activation", "shared expert down projection"});
}

TEST_CASE("recompute: modules of experts leave dense layers alone", "[models][layer]") {
  const Job job = selective(test::deepseek_v3_job(), {.moe = true, .shared_experts = true});
  CHECK(run_again(job, LayerKind::dense).empty());
}

TEST_CASE("recompute: recomputed exchanges between experts are counted as such",
          "[models][layer]") {
  Job kept = test::deepseek_v3_job();
  kept.stack.times.expert_latency = Seconds{};  // forward passes alone wait
  const Job again = selective(kept, {.moe = true});
  const TimeParts before = LayerCost{kept}.layer(LayerKind::moe).input_gradient;
  const TimeParts after = LayerCost{again}.layer(LayerKind::moe).input_gradient;
  CHECK(after.expert / before.expert == Approx(2.0));
}

TEST_CASE("recompute: by operator, of routed experts what came through an exchange is kept alone",
          "[models][layer]") {
  Job job = test::deepseek_v3_job();
  job.memory.recompute.kind = RecomputeKind::selective;
  job.memory.recompute.every_second_matmul = true;
  const auto experts = [](const Job& of) {
    const LayerActivations kept = activation_model(of).of({LayerKind::moe}).kept;
    return std::array{kept.dispatch, kept.expert_tokens, kept.expert_input, kept.expert_output};
  };
  REQUIRE(job.parallel.expert > 1);
  const auto spread = experts(job);
  CHECK(spread[0] == 0.0);
  CHECK(spread[1] > 0.0);
  CHECK(spread[2] == 0.0);
  CHECK(spread[3] == 0.0);
  job.parallel.expert = 1;
  CHECK(experts(job)[1] == 0.0);
}

TEST_CASE("recompute: every second product costs between nothing and a forward pass",
          "[models][layer]") {
  Job job = test::llama2_70b_job();
  job.parallel.tensor = 1;
  job.parallel.sequence = false;
  const Seconds forward = LayerCost{job}.layer().forward.compute;
  job.memory.recompute.kind = RecomputeKind::selective;
  job.memory.recompute.every_second_matmul = true;
  const Seconds again = LayerCost{job}.layer().input_gradient.recompute;
  // Keys, output and up projection: (1024 + 8192 + 28672) of 104,448 columns.
  CHECK(again > 0.36 * (1.0 - 0.25) * forward);
  CHECK(again < 0.7 * forward);
}
