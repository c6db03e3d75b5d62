// SPDX-License-Identifier: Apache-2.0
#include "models/layer_operators.hpp"

#include <catch2/catch.hpp>

#include "models/layer_cost.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

TimeParts& add_to(TimeParts& parts, OperatorKind kind, Seconds time) {
  switch (kind) {
    case OperatorKind::tensor:
      parts.tensor += time;
      break;
    case OperatorKind::context:
      parts.context += time;
      break;
    case OperatorKind::expert:
      parts.expert += time;
      break;
    default:
      parts.compute += time;
  }
  return parts;
}

/// The passes of a piece as the sums of its operators.
PieceTimes sum_of(const Operators& operators) {
  PieceTimes sum;
  for (const Operator& op : operators) {
    add_to(sum.forward, op.kind, op.forward);
    add_to(sum.input_gradient, op.kind, op.input_gradient);
    add_to(sum.weight_gradient, op.kind, op.weight_gradient);
    TimeParts again;
    add_to(again, op.kind, op.recompute);
    again.recompute = again.compute;
    again.compute = Seconds{};
    sum.input_gradient += again;
  }
  return sum;
}

void check_equal(const TimeParts& sum, const TimeParts& parts) {
  CHECK(sum.compute.value() == Approx(parts.compute.value()).epsilon(1e-12));
  CHECK(sum.recompute.value() == Approx(parts.recompute.value()).epsilon(1e-12));
  CHECK(sum.tensor.value() == Approx(parts.tensor.value()).epsilon(1e-12));
  CHECK(sum.context.value() == Approx(parts.context.value()).epsilon(1e-12));
  CHECK(sum.expert.value() == Approx(parts.expert.value()).epsilon(1e-12));
}

void check_equal(const PieceTimes& sum, const PieceTimes& piece) {
  check_equal(sum.forward, piece.forward);
  check_equal(sum.input_gradient, piece.input_gradient);
  check_equal(sum.weight_gradient, piece.weight_gradient);
}

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
  check_equal(sum_of(layer_operators(job, {.recomputed = true})), cost.recomputed_layer());
  check_equal(sum_of(embedding_operators(job)), cost.embedding());
  check_equal(sum_of(head_operators(job)), cost.head());
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
