// SPDX-License-Identifier: Apache-2.0
// FP8 training in a layer's time.
#include <catch2/catch.hpp>

#include "models/grid/stage_layout.hpp"
#include "models/layers/layer_cost.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/example_job.hpp"
#include "tests/models/layers/layer_sums.hpp"

using namespace foretrain;

namespace {

Job fp8_job() {
  Job job = test::llama2_70b_job();
  job.training.precision = Precision::fp8;
  job.cluster.host.device.peak[Precision::fp8] = 1978.9 * TFLOPS;
  job.device_profile.gemm[Precision::fp8] = {0.72, 400.0, 1.0, 1.0, 2.4 * us};
  return job;
}

Seconds layer_time(const Job& job) { return LayerCost{job}.layer().all().total(); }

}  // namespace

TEST_CASE("fp8: products speed up, attention, element-wise kernels and the head do not",
          "[models][layer]") {
  const Operators wide = layer_operators(test::llama2_70b_job(), {});
  const Operators narrow = layer_operators(fp8_job(), {});
  REQUIRE(wide.size() == narrow.size());
  for (std::size_t i = 0; i < wide.size(); ++i) {
    CAPTURE(wide[i].name);
    if (wide[i].kind == OperatorKind::product)
      CHECK(narrow[i].weight_gradient < wide[i].weight_gradient);
    else if (wide[i].name == "tensor all-gather")
      CHECK(narrow[i].forward < wide[i].forward);  // 8-bit operands travel
    else
      CHECK(narrow[i].forward == wide[i].forward);
  }
  CHECK(LayerCost{fp8_job()}.head().all().total() ==
        LayerCost{test::llama2_70b_job()}.head().all().total());
}

namespace {

Operator product_of(const Job& job, std::string_view name) {
  for (const Operator& op : layer_operators(job, {}))
    if (op.name == name) return op;
  FAIL("no such product");
  return {};
}

/// Bytes that casting adds to the passes of a product, at the achieved memory bandwidth.
struct CastBytes {
  double forward, backward;
};

CastBytes cast_bytes_of(Job job, std::string_view name) {
  const Operator with = product_of(job, name);
  const double forward = job.stack.times.fp8_cast_forward;
  const double backward = job.stack.times.fp8_cast_backward;
  job.stack.times.fp8_cast_forward = job.stack.times.fp8_cast_backward = 0.0;
  const Operator without = product_of(job, name);
  const double bandwidth = 0.85 * 3.35e12;
  return {(with.forward - without.forward).value() * bandwidth / forward,
          (with.input_gradient - without.input_gradient).value() * bandwidth / backward};
}

constexpr double tokens = 4096.0;  // of example_job: 8-way tensor and sequence parallel
constexpr double wide_hidden = 8192.0;
constexpr double width = 28672.0 / 8.0;

}  // namespace

TEST_CASE("fp8: a cast reads two bytes and writes one, and one more for its transposed copy",
          "[models][layer]") {
  Job job = fp8_job();
  job.stack.memory.fp8_copy_bytes = 0.0;
  const CastBytes out = cast_bytes_of(job, "MLP down projection");
  CHECK(out.forward == Approx(4.0 * (tokens * width + wide_hidden * width)));
}

TEST_CASE("fp8: what tensor ranks gather is cast before and transposed after", "[models][layer]") {
  Job job = fp8_job();
  job.stack.memory.fp8_copy_bytes = 0.0;
  const CastBytes in = cast_bytes_of(job, "MLP up projection");
  const double gathered = (3.0 / 8.0 + 2.0) * tokens * wide_hidden;
  CHECK(in.forward == Approx(gathered + 4.0 * 2.0 * width * wide_hidden));
  CHECK(in.backward == Approx(4.0 * tokens * 2.0 * width));
  CHECK(cast_bytes_of(job, "MLP down projection").backward == Approx(gathered));
}

TEST_CASE("fp8: cached copies of the weights are made once per step", "[models][layer]") {
  Job job = fp8_job();
  job.stack.memory.fp8_copy_bytes = 0.0;
  const double each = cast_bytes_of(job, "MLP down projection").forward;
  job.stack.memory.fp8_copy_bytes = 2.0;
  const double cached = cast_bytes_of(job, "MLP down projection").forward;
  const double share = 1.0 - 1.0 / job.microbatches();
  CHECK(each - cached == Approx(4.0 * share * wide_hidden * width));
}

TEST_CASE("fp8: a scale per row is cast after the gather, at its own price", "[models][layer]") {
  Job job = fp8_job();
  job.stack.memory.fp8_copy_bytes = 0.0;
  job.stack.times.fp8_row_casts = 2.5;
  const CastBytes tensor = cast_bytes_of(job, "MLP down projection");
  job.training.fp8_scaling = Fp8Scaling::row;
  const CastBytes row = cast_bytes_of(job, "MLP down projection");
  CHECK(row.forward == Approx(2.5 * tensor.forward));
  CHECK(row.backward == Approx(2.5 * 4.0 * tokens * wide_hidden));
  const Operator gather = product_of(job, "tensor all-gather");
  CHECK(gather.forward == product_of(test::llama2_70b_job(), "tensor all-gather").forward);
}

TEST_CASE("sums of fp32 gradients read and write four bytes per weight and micro-batch",
          "[models][layer]") {
  Job job = test::llama2_70b_job();
  const Seconds before = product_of(job, "MLP down projection").weight_gradient;
  job.stack.times.gradient_sums = 0.5;
  const Seconds added = product_of(job, "MLP down projection").weight_gradient - before;
  CHECK(added.value() == Approx(0.5 * 8.0 * wide_hidden * width / (0.85 * 3.35e12)));
}

TEST_CASE("sums that a product writes itself show the more the less it computes",
          "[models][layer]") {
  const Seconds traffic{8.0 * wide_hidden * width / (0.85 * 3.35e12)};
  const auto shown = [&](int micro_batch) {
    Job job = test::llama2_70b_job();
    job.training.micro_batch = micro_batch;
    const Seconds product = product_of(job, "MLP down projection").weight_gradient;
    job.stack.times.gradient_sums_fused = 1.0;
    const Seconds added = product_of(job, "MLP down projection").weight_gradient - product;
    CHECK(added.value() == Approx((traffic * (traffic / (traffic + product))).value()));
    return added;
  };
  CHECK(shown(4) < 0.5 * shown(1));
}

TEST_CASE("layouts with the batch first copy what tensor ranks exchange", "[models][layer]") {
  Job job = test::llama2_70b_job();
  job.communication.overlap.tensor = false;
  const Seconds before = product_of(job, "tensor reduce-scatter").forward;
  job.stack.times.exchange_copy = 4.0;
  const Seconds added = product_of(job, "tensor reduce-scatter").forward - before;
  CHECK(added.value() == Approx(4.0 * tokens * wide_hidden / (0.85 * 3.35e12)));
}

TEST_CASE("fp8: layers that stay in bf16 cost what bf16 training pays", "[models][layer]") {
  Job job = fp8_job();
  job.training.bf16_end_layers = 2;
  const LayerCost cost{job};
  CHECK(cost.layer({.wide = true}).all().total() ==
        LayerCost{test::llama2_70b_job()}.layer().all().total());
  CHECK(cost.layer().all().total() < cost.layer({.wide = true}).all().total());
  test::check_equal(test::sum_of(layer_operators(job, {.wide = true})), cost.layer({.wide = true}));
}

TEST_CASE("fp8: bf16 layers stand at both ends of the model, the odd one at its start",
          "[models][layer][step]") {
  Job job = fp8_job();
  job.training.bf16_end_layers = 3;
  const StepCosts costs = step_costs(job, stage_layout(job.model, job.parallel));
  const auto wide_of = [&](int stage) {
    int count = 0;
    for (const PieceRun& run : costs.content({stage, 0}))
      if (run.kind == PieceKind::wide_layer) count += run.count;
    return count;
  };
  CHECK(wide_of(0) == 2);
  CHECK(wide_of(1) == 0);
  CHECK(wide_of(7) == 1);
  job.training.bf16_end_layers = 0;
  const StepCosts without = step_costs(job, stage_layout(job.model, job.parallel));
  CHECK(step_seconds(without) < step_seconds(costs));
}

TEST_CASE("fp8: faster machines are never slower", "[models][layer][property]") {
  Job faster = fp8_job();
  SECTION("peak") { faster.cluster.host.device.peak[Precision::fp8] *= 1.3; }
  SECTION("bf16 peak") { faster.cluster.host.device.peak[Precision::bf16] *= 1.3; }
  SECTION("memory bandwidth") { faster.cluster.host.device.memory_bandwidth *= 1.3; }
  CHECK(layer_time(faster) <= layer_time(fp8_job()));
}
