// SPDX-License-Identifier: Apache-2.0
// What models like GPT-OSS have and fused kernels lack: biases of experts, clamped activations,
// rotary positions of scaled amplitude, attention sinks.
#include <catch2/catch.hpp>

#include <string_view>

#include "models/layers/activations.hpp"
#include "models/layers/context_kinds.hpp"
#include "models/layers/launch_graphs.hpp"
#include "models/layers/layer_cost.hpp"
#include "models/layers/parameters.hpp"
#include "models/rules/plan_rules.hpp"
#include "tests/models/layers/moe_jobs.hpp"

using namespace foretrain;

namespace {

/// Mixtral's layers with GPT-OSS's additions, on one rank.
Job gpt_oss_job() {
  Job job = test::mixtral_job();
  job.parallel = Parallel{};
  job.parallel.data = 128;
  job.stack.times.flash2 = false;
  job.model.qkv_bias = job.model.attention_output_bias = job.model.mlp_bias = true;
  job.model.mlp_clamp = 7.0;
  job.model.rotary_scaled = true;
  job.model.attention_sinks = true;
  job.model.moe->linear_bias = true;
  return job;
}

Operator operator_of(const Job& job, std::string_view name) {
  for (const Operator& op : layer_operators(job, {.kind = LayerKind::moe}))
    if (op.name == name) return op;
  return {};
}

double bytes_per_second(const Job& job) {
  return job.cluster.host.device.memory_bandwidth.value() * job.device_profile.memory_efficiency;
}

double tokens_of(const Job& job) { return 1.0 * job.training.micro_batch * job.training.sequence; }

}  // namespace

TEST_CASE("plain kernels take what they read and write, whatever the stack's factors",
          "[models][layer]") {
  Job job = gpt_oss_job();
  job.stack.times.elementwise = 3.0;
  job.stack.times.expert_elementwise = 5.0;
  const double rows = 2.0 * tokens_of(job);  // two experts per token
  const double rate = bytes_per_second(job);
  const Operator clamp = operator_of(job, "clamp");
  CHECK(clamp.forward.value() == Approx(16.0 * rows * 16384 / rate));
  CHECK(clamp.input_gradient.value() == Approx(20.0 * rows * 16384 / rate));
  const Operator rotary = operator_of(job, "scaled rotary");
  const double heads = 48 + 8;
  CHECK(rotary.forward.value() ==
        Approx(24.0 * tokens_of(job) * heads * job.model.head_dim / rate));
  job.training.router_fp32 = false;
  CHECK(operator_of(job, "expert biases").forward.value() == Approx(12.0 * rows * 6144 / rate));
  job.training.router_fp32 = true;
  CHECK(operator_of(job, "expert biases").forward.value() == Approx(28.0 * rows * 6144 / rate));
  CHECK(operator_of(job, "expert biases").input_gradient.value() ==
        Approx(40.0 * rows * 6144 / rate));
}

TEST_CASE("plain kernels are launched one by one", "[models][layer]") {
  const Job job = gpt_oss_job();
  Job fused = job;
  fused.model.mlp_bias = fused.model.rotary_scaled = false;
  fused.model.mlp_clamp = 0.0;
  const double more = relative_launches(job, {LayerKind::moe, false}) -
                      relative_launches(fused, {LayerKind::moe, false});
  // Three of the clamp, twelve of queries and keys, and for each of the eight experts a product and
  // a sum, which are put in a row; a plain layer has eleven.
  CHECK(more == Approx((3.0 + 12.0 + 17.0) / 11.0));
}

TEST_CASE("a clamp keeps its input beside its result, which recomputation makes again",
          "[models][layer]") {
  Job job = gpt_oss_job();
  Job free = job;
  free.model.mlp_clamp = 0.0;
  const double rows = 2.0 * tokens_of(job);
  const double input = 2.0 * rows * 2.0 * 16384;
  CHECK(activation_model(job).of({LayerKind::moe}).kept.total() -
            activation_model(free).of({LayerKind::moe}).kept.total() ==
        input);
  job.memory.recompute.kind = free.memory.recompute.kind = RecomputeKind::selective;
  job.memory.recompute.modules = free.memory.recompute.modules = LayerModules{};
  job.memory.recompute.modules.activation = free.memory.recompute.modules.activation = true;
  CHECK(activation_model(job).of({LayerKind::moe}).kept.total() ==
        activation_model(free).of({LayerKind::moe}).kept.total());
  CHECK(operator_of(job, "clamp").recompute == operator_of(job, "clamp").forward);
}

TEST_CASE("GPT-OSS's additions have the parameters of its card", "[models][layer]") {
  const Job job = gpt_oss_job();
  Job plain = job;
  plain.model.qkv_bias = plain.model.attention_output_bias = plain.model.mlp_bias = false;
  plain.model.attention_sinks = plain.model.moe->linear_bias = false;
  const LayerParameters with = layer_parameters(job.model, LayerKind::moe);
  const LayerParameters without = layer_parameters(plain.model, LayerKind::moe);
  CHECK(with.router - without.router == 8);
  CHECK(with.attention - without.attention == (48 + 2 * 8) * 128 + 6144 + 48);
  CHECK(with.routed_experts - without.routed_experts == std::int64_t{8} * (2 * 16384 + 6144));
}

TEST_CASE("sinks are refused where no kernel computes them", "[models][layer]") {
  Job job = gpt_oss_job();
  CHECK_FALSE(refuse_sinks(job).has_value());
  job.stack.times.flash2 = true;
  REQUIRE(refuse_sinks(job).has_value());
  CHECK(refuse_sinks(job)->key == "memory.attention");
  job.memory.attention = AttentionKind::unfused;
  CHECK_FALSE(refuse_sinks(job).has_value());
}

TEST_CASE("Gemma 3 sees everything in every sixth layer, and a window in the others",
          "[models][window]") {
  LlmShape model = test::llama2_70b_job().model;
  model.layers = 62;  // 27B
  model.window = 1024;
  model.full_attention_every = 6;
  const LayerCounts counts = layer_counts(model, 32768);
  CHECK(counts[type_index({LayerKind::dense, false})] == 10);
  CHECK(counts[type_index({LayerKind::dense, true})] == 52);
  for (int layer = 0; layer < model.layers; ++layer)
    CHECK(model.is_windowed_layer(layer, 32768) == ((layer + 1) % 6 != 0));
}
