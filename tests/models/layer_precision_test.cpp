// SPDX-License-Identifier: Apache-2.0
// FP8 training in a layer's time.
#include <catch2/catch.hpp>

#include "models/layer_cost.hpp"
#include "models/stage_layout.hpp"
#include "models/step_costs.hpp"
#include "models/step_time.hpp"
#include "tests/models/example_job.hpp"
#include "tests/models/layer_sums.hpp"

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
    else
      CHECK(narrow[i].forward == wide[i].forward);
  }
  CHECK(LayerCost{fp8_job()}.head().all().total() ==
        LayerCost{test::llama2_70b_job()}.head().all().total());
}

TEST_CASE("fp8: casts read two bytes and write one per operand element", "[models][layer]") {
  Job job = fp8_job();
  const Operators with = layer_operators(job, {});
  job.stack.times.fp8_cast_forward = job.stack.times.fp8_cast_backward = 0.0;
  const Operators without = layer_operators(job, {});
  // "MLP out product": 4096 x 8192 x 3584 per tensor rank, 0.84 of it at 0.85 x 3.35 TB/s
  for (std::size_t i = 0; i < with.size(); ++i) {
    if (with[i].name != "MLP out product") continue;
    const double bytes = 3.0 * (4096.0 * 3584 + 8192.0 * 3584);
    const Seconds cast = with[i].forward - without[i].forward;
    CHECK(cast.value() == Approx(0.84 * bytes / (0.85 * 3.35e12)));
  }
  CHECK(layer_time(job) < layer_time(fp8_job()));
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
