// SPDX-License-Identifier: Apache-2.0
#include "models/collectives/collective_cost.hpp"

#include <catch2/catch.hpp>

#include "models/layers/layer_operators.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

/// Tensor-parallel time of a layer's forward pass over what it would be with nothing beside it.
double shown_of(const Job& job) {
  Seconds shown, alone;
  for (const Operator& op : layer_operators(job, {})) {
    if (op.kind != OperatorKind::tensor) continue;
    shown += op.forward;
    alone += op.beside.alone;
  }
  return shown / alone;
}

Job overlapped_job() {
  Job job = test::llama2_70b_job();
  job.parallel.sequence = true;
  job.communication.overlap.tensor = true;
  return job;
}

}  // namespace

TEST_CASE("exposed exchange: what kernels do not cover, and what they lose meanwhile",
          "[models][collective]") {
  const Seconds exchange{3.0};
  CHECK(exposed_exchange(exchange, Seconds{5.0}, 0.2).shown().value() == Approx(0.6));
  CHECK(exposed_exchange(exchange, Seconds{2.0}, 0.2).shown().value() == Approx(1.4));
  CHECK(exposed_exchange(exchange, Seconds{}, 0.2).shown() == exchange);
  CHECK(exposed_exchange(exchange, Seconds{5.0}, 1.0).shown() == exchange);
  CHECK(exposed_exchange(exchange, Seconds{5.0}, 0.0).shown() == Seconds{});
  Seconds before{100.0};
  for (int quarters = 24; quarters >= 0; --quarters) {
    const Seconds kernels{quarters * 0.25};
    const Seconds both = kernels + exposed_exchange(exchange, kernels, 0.3).shown();
    CHECK(both <= before);
    before = both;
  }
}

TEST_CASE("exposed exchange: products that get faster cover less", "[models][collective]") {
  Job job = overlapped_job();
  const double slowdown = job.stack.times.tensor_slowdown;
  job.cluster.host.device.peak[Precision::bf16] *= 0.3;
  CHECK(shown_of(job) == Approx(slowdown).epsilon(1e-9));  // wholly covered
  job.cluster.host.device.peak[Precision::bf16] *= 60.0;
  CHECK(shown_of(job) > slowdown + 0.1);
  job.stack.times.tensor_slowdown = 1.0;
  CHECK(shown_of(job) == Approx(1.0));
}

TEST_CASE("exposed exchange: without a product beside it all shows", "[models][collective]") {
  const Job job = overlapped_job();
  Job apart = job;
  apart.communication.overlap.tensor = false;
  const auto embedding = [](const Job& of) { return embedding_operators(of).back().forward; };
  CHECK(embedding_operators(job).back().kind == OperatorKind::tensor);
  CHECK(embedding(job) == embedding(apart));
}
