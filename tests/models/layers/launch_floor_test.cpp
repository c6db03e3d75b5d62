// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <cmath>

#include "models/layers/layer_cost.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

/// A processor so slow that every pass of a layer waits for it.
Job launch_bound_job(int tensor) {
  Job job = test::llama2_70b_job();
  job.parallel.tensor = tensor;
  job.stack.times.launch_forward = 1000.0 * ms;
  job.stack.times.launch_backward = 2000.0 * ms;
  job.stack.times.launch_tensor = 10.0 * ms;
  return job;
}

Seconds forward_of(const Job& job) { return LayerCost{job}.layer().forward.total(); }

}  // namespace

TEST_CASE("launch floor: grows with tensor ranks of a host and no further", "[models][layer]") {
  CHECK(forward_of(launch_bound_job(1)).in(ms) == Approx(1000.0).epsilon(1e-4));
  const double of_eight = 1000.0 + 10.0 * std::pow(7.0, 1.23);
  CHECK(forward_of(launch_bound_job(8)).in(ms) == Approx(of_eight).epsilon(1e-4));
  // vTrain's 16 tensor ranks and nanotron's 32 run at the device's pace, not at a higher floor
  CHECK(forward_of(launch_bound_job(16)).in(ms) == Approx(of_eight).epsilon(1e-4));
}

TEST_CASE("launch floor: recomputation launches the forward pass again", "[models][layer]") {
  Job job = launch_bound_job(1);
  job.memory.recompute.kind = RecomputeKind::full;
  const LayerCost cost{job};
  CHECK(cost.layer().backward().total().in(ms) == Approx(2000.0).epsilon(1e-4));
  CHECK(cost.recomputed_layer().backward().total().in(ms) == Approx(3000.0).epsilon(1e-4));
}

TEST_CASE("gaps between kernels: once per pass of a layer, once for the head", "[models][layer]") {
  Job job = test::llama2_70b_job();
  job.stack.times.launch_forward = job.stack.times.launch_backward = Seconds{};
  const LayerCost before{job};
  job.stack.times.layer_fixed = 0.3 * ms;
  job.stack.times.head_fixed = 0.9 * ms;
  const LayerCost after{job};
  CHECK((after.layer().all().total() - before.layer().all().total()).in(ms) == Approx(0.6));
  CHECK((after.head().all().total() - before.head().all().total()).in(ms) == Approx(0.9));
}
