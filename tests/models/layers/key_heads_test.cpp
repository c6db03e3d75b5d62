// SPDX-License-Identifier: Apache-2.0
// Tensor ranks that outnumber key-value heads.
#include <catch2/catch.hpp>

#include <algorithm>

#include "models/layers/layer_operators.hpp"
#include "models/layers/parameters.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/rules/plan_sizes.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

/// Llama 2 70B: 64 heads of 128, 8 key-value heads, over 16 tensor ranks.
Job wide_job() {
  Job job = test::llama2_70b_job();
  job.parallel.tensor = 16;
  job.parallel.data = 8;
  return job;
}

const LayerOperator* named(const LayerDescription& layer, std::string_view name) {
  const auto found = std::ranges::find(layer.operators(), name, &LayerOperator::name);
  return found == layer.operators().end() ? nullptr : &*found;
}

double saved_inputs(const LayerDescription& layer) {
  double width = 0.0;
  for (const SavedTensor& tensor : layer.saved())
    if (tensor.keep == Keep::attention_input) width += tensor.width;
  return width;
}

std::vector<std::string> rules_of(const Job& job) {
  std::vector<std::string> rules;
  for (const Infeasible& broken : broken_rules(job)) rules.push_back(broken.rule);
  return rules;
}

}  // namespace

TEST_CASE("key heads: ranks that share one have equal parts of the projection and gather it",
          "[models][layer]") {
  const Job job = wide_job();
  REQUIRE(broken_rules(job).empty());
  LayerDescription layer{job};
  describe_layer(job.model, {}, layer_cut(job.parallel), layer);
  const double columns = 128.0 * (64 + 8 + 8);
  CHECK(named(layer, "QKV projection")->out == columns / 16);
  CHECK(named(layer, "head gather")->out == columns);
  CHECK(saved_inputs(layer) == 128.0 * (4 + 1 + 1));  // its queries and the head that they share

  const Operators operators = layer_operators(job, {});
  const auto gather = std::ranges::find(operators, "head gather", &Operator::name);
  REQUIRE(gather != operators.end());
  CHECK(gather->exchange.forward == CollectiveOp::all_gather);
  CHECK(gather->exchange.backward == CollectiveOp::reduce_scatter);
  CHECK(gather->exchange.sent == Bytes{2.0 * 4096 * 10240});  // 16 bits, 4096 tokens
  CHECK(gather->exchange.returned == gather->exchange.sent);
  CHECK(gather->forward > Seconds{});
}

TEST_CASE("key heads: weights of ranks that share one add up to the model's", "[models][layer]") {
  const Job wide = wide_job();
  Job whole = wide;
  whole.parallel.tensor = 1;
  CHECK(16.0 * rank_layer(wide, {}).dense_matrices == rank_layer(whole, {}).dense_matrices);
}

TEST_CASE("key heads: engines of inference copy them", "[models][layer]") {
  LayerDescription layer{false};
  describe_layer(test::llama2_70b(), {}, {.tensor = 16.0, .copies_heads = true}, layer);
  CHECK(named(layer, "QKV projection")->out == 128.0 * (4 + 1 + 1));
  CHECK(named(layer, "head gather") == nullptr);
}

TEST_CASE("key heads: as many heads as ranks need no gather", "[models][layer]") {
  LayerDescription layer{false};
  describe_layer(test::llama2_70b(), {}, {.tensor = 8.0}, layer);
  CHECK(named(layer, "QKV projection")->out == 128.0 * (8 + 1 + 1));
  CHECK(named(layer, "head gather") == nullptr);
}

TEST_CASE("key heads: adapters beside queries, keys and values are cut as the projection is",
          "[models][layer]") {
  Job job = wide_job();
  job.fine_tuning.adapter = AdapterKind::lora;
  job.fine_tuning.rank = 16;
  job.fine_tuning.targets = {AdapterTarget::key};
  const auto trained = [&](int tensor) {
    job.parallel.tensor = tensor;
    return rank_layer(job, {}, Counted::trained).dense;
  };
  // Half a head of 128 columns on each of 16 ranks, one on each of 8; the rank's columns are cut,
  // too.
  CHECK(trained(16) == 16.0 * 8192 / 16 + 16.0 * 128 / 2);
  CHECK(trained(8) == 16.0 * 8192 / 8 + 16.0 * 128);
}

TEST_CASE("key heads: tensor ranks are a multiple or a divisor of them", "[models][rules]") {
  Job job = wide_job();
  job.model.heads = 96;
  job.model.hidden = 96 * 128;
  job.parallel.tensor = 12;
  job.parallel.sequence = false;
  job.cluster.hosts = 12 * 8 * 8 / 8;
  CHECK(std::ranges::count(rules_of(job), "kv-heads-divide-tensor") == 1);
  job.model.kv_heads = 12;
  CHECK(std::ranges::count(rules_of(job), "kv-heads-divide-tensor") == 0);
  CHECK(shares_key_heads(job.model, 24));
  CHECK_FALSE(cuts_key_heads(job.model, 24));
}

TEST_CASE("key heads: frameworks without the gather keep whole ones", "[models][rules]") {
  Job job = wide_job();
  job.parallel.framework = PlanFramework::accelerate;
  CHECK(std::ranges::count(rules_of(job), "kv-heads-divide-tensor") == 1);
}

TEST_CASE("key heads: context ranks cannot exchange the one that tensor ranks share",
          "[models][rules]") {
  Job job = wide_job();
  job.parallel.context = 2;
  job.parallel.data = 4;
  job.communication.context_exchange = ContextExchange::all_to_all;
  CHECK(rules_of(job) == std::vector<std::string>{"heads-divide-context"});
}
