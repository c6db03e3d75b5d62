// SPDX-License-Identifier: Apache-2.0
// Latent attention and context parallelism in a layer's time.
#include <catch2/catch.hpp>

#include <algorithm>

#include "models/layers/flops.hpp"
#include "models/layers/layer_cost.hpp"
#include "tests/models/layers/layer_sums.hpp"
#include "tests/models/layers/moe_jobs.hpp"

using namespace foretrain;

namespace {

const Operator* find(const Operators& operators, std::string_view name) {
  const auto found = std::find_if(operators.begin(), operators.end(),
                                  [&](const Operator& op) { return op.name == name; });
  return found == operators.end() ? nullptr : &*found;
}

Flop flop_of(const Operators& operators, OperatorKind kind) {
  Flop sum;
  for (const Operator& op : operators)
    if (op.kind == kind) sum += op.flop;
  return sum;
}

Job long_context_job(int context) {
  Job job = test::llama2_70b_job();
  job.training.sequence = 32768;
  job.training.global_batch = 128;
  job.parallel.context = context;
  job.parallel.data = 16 / context;
  return job;
}

}  // namespace

TEST_CASE("latent attention: its products do the FLOPs of the shape", "[models][layer]") {
  const Job job = test::deepseek_v3_job();
  const ForwardFlops whole = layer_forward_flops(job.model, job.training.sequence,
                                                 {LayerKind::dense}, AttentionFlops::causal);
  const Operators operators = layer_operators(job, {LayerKind::dense});
  CHECK(flop_of(operators, OperatorKind::product) /
            (whole.attention_projections + whole.dense_mlp) ==
        Approx(1.0));
  CHECK(flop_of(operators, OperatorKind::attention) / whole.attention_scores == Approx(1.0));
}

TEST_CASE("latent attention: tensor ranks share the up-projections and repeat the down ones",
          "[models][layer]") {
  Job job = test::deepseek_v3_job();
  const Operators alone = layer_operators(job, {LayerKind::dense});
  job.parallel.tensor = 8;
  job.parallel.sequence = true;
  const Operators split = layer_operators(job, {LayerKind::dense});
  const auto ratio = [&](std::string_view name) {
    return find(split, name)->flop / find(alone, name)->flop;
  };
  CHECK(ratio("query up projection") == Approx(1.0 / 8.0));
  CHECK(ratio("query down projection") ==
        Approx(1.0 / 8.0));  // whole, over an eighth of the tokens
  // The latents travel: 1536 + 512 + 64 elements per token instead of 7168.
  CHECK(find(split, "tensor all-gather")->bytes.value() == Approx(2.0 * 4096 * (1536 + 512 + 64)));
}

TEST_CASE("context parallelism: one rank has no exchange", "[models][layer]") {
  CHECK(find(layer_operators(long_context_job(1), {}), "key-value exchange") == nullptr);
}

TEST_CASE("context parallelism: ranks share tokens and scores evenly", "[models][layer]") {
  const Operators whole = layer_operators(long_context_job(1), {});
  const int ranks = GENERATE(2, 4, 8);
  const Operators part = layer_operators(long_context_job(ranks), {});
  CHECK(flop_of(part, OperatorKind::product) / flop_of(whole, OperatorKind::product) ==
        Approx(1.0 / ranks));
  CHECK(flop_of(part, OperatorKind::attention) / flop_of(whole, OperatorKind::attention) ==
        Approx(1.0 / ranks));
}

TEST_CASE("context parallelism: the ring carries every other rank's keys and values",
          "[models][layer]") {
  const Operators operators = layer_operators(long_context_job(4), {});
  const Operator* ring = find(operators, "key-value exchange");
  REQUIRE(ring != nullptr);
  // three blocks of 8192 tokens with one key and one value head of 128 per tensor rank, 2 bytes
  CHECK(ring->bytes.value() == Approx(3.0 * 8192 * 2 * 128 * 2.0));
  CHECK(ring->kind == OperatorKind::context);
}

TEST_CASE("context parallelism: attention hides the ring, but never all of it",
          "[models][layer][property]") {
  Job job = long_context_job(4);
  const Operator hidden = *find(layer_operators(job, {}), "key-value exchange");
  job.cluster.network.nic_link.bandwidth *= 0.01;
  const Operator shown = *find(layer_operators(job, {}), "key-value exchange");
  CHECK(hidden.forward > Seconds{});
  CHECK(shown.forward > 20.0 * hidden.forward);
  job.stack.times.context_slowdown = 1.0;
  const Operator all = *find(layer_operators(job, {}), "key-value exchange");
  CHECK(all.forward > shown.forward);
}
