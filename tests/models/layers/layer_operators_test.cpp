// SPDX-License-Identifier: Apache-2.0
#include "models/layers/layer_operators.hpp"

#include <catch2/catch.hpp>

#include "models/layers/layer_cost.hpp"
#include "tests/models/example_job.hpp"
#include "tests/models/layers/layer_sums.hpp"

using namespace foretrain;
using test::check_equal;
using test::sum_of;

namespace {

Job example(RecomputeKind recompute, bool sequence) {
  Job job = test::llama2_70b_job();
  job.memory.recompute.kind = recompute;
  job.parallel.sequence = sequence;
  return job;
}

}  // namespace

TEST_CASE("operators: they add up to the passes of their piece", "[models][layer][property]") {
  const auto recompute =
      GENERATE(RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full);
  const Job job = example(recompute, GENERATE(false, true));
  const LayerCost cost{job};
  check_equal(sum_of(layer_operators(job, {})), cost.layer());
  if (recompute == RecomputeKind::full)
    check_equal(sum_of(layer_operators(job, {.recomputed = true})), cost.recomputed_layer());
  check_equal(sum_of(embedding_operators(job)), cost.embedding());
  check_equal(sum_of(head_operators(job)), cost.head());
  check_equal(sum_of(vocabulary_share_operators(job)), cost.vocabulary_share());
}

TEST_CASE("operators: products of a layer do two FLOPs per weight and token", "[models][layer]") {
  // Llama-2-70B, TP8: (8192 x 10240 + 8192 x 8192 + 3 x 8192 x 28672) / 8 weights of a layer.
  const Job job = example(RecomputeKind::none, true);
  Flop products;
  for (const Operator& op : layer_operators(job, {}))
    if (op.kind == OperatorKind::product) products += op.flop;
  const double weights = (8192.0 * 10240 + 8192.0 * 8192 + 3.0 * 8192 * 28672) / 8.0;
  CHECK(products.value() == Approx(2.0 * 4096 * weights));
}

TEST_CASE("operators: sequence parallelism gathers before and scatters after each half",
          "[models][layer]") {
  std::vector<std::string_view> exchanges;
  for (const Operator& op : layer_operators(example(RecomputeKind::none, true), {}))
    if (op.kind == OperatorKind::tensor) exchanges.push_back(op.name);
  CHECK(exchanges == std::vector<std::string_view>{"tensor all-gather", "tensor reduce-scatter",
                                                   "tensor all-gather", "tensor reduce-scatter"});
}
