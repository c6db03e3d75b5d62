// SPDX-License-Identifier: Apache-2.0
#include "models/data/data_parallel.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

#include "models/rules/plan_rules.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

/// Replicas of a small stage on whole hosts: 128 ranks, 200 M parameters.
Job plain_data_job() {
  Job job = test::llama2_70b_job();
  job.parallel = Parallel{};
  job.parallel.data = 128;
  job.cluster.hosts = 16;
  return job;
}

RankParameters some_parameters() {
  RankParameters parameters;
  parameters.layers = 2e8;
  return parameters;
}

Seconds reduction(const Job& job) { return gradient_time(job, some_parameters()); }

}  // namespace

TEST_CASE("data parallel: buckets beyond the usual ones pay for their calls, up to one per tensor",
          "[models][data]") {
  Job job = plain_data_job();
  const Seconds usual = reduction(job);  // 800 MB of fp32 gradients: 31 calls
  job.communication.bucket = 100.0 * MiB;
  CHECK(reduction(job) == usual);
  job.communication.bucket = 5.0 * MiB;
  const Seconds small = reduction(job);  // 153 calls
  job.communication.bucket = 2.5 * MiB;
  const Seconds smaller = reduction(job);  // 306
  CHECK(small > usual);
  // Calls that carry nothing: launch and 254 steps of a ring over 16 hosts, each alike.
  CHECK((smaller - usual) / (small - usual) ==
        Approx((306.0 - 31.0) / (153.0 - 31.0)).epsilon(0.01));
  job.communication.bucket = 1.0 * KiB;
  const Seconds all = reduction(job);
  job.communication.bucket = 0.5 * KiB;
  CHECK(reduction(job) == all);  // 12 tensors per layer, and no more
}

TEST_CASE("data parallel: gloo is bound by one core per process", "[models][data]") {
  Job job = plain_data_job();
  job.communication.backend = Backend::gloo;
  // 1.16 GB/s (pytorch/gloo issue 248), nearly twice the payload around the ring.
  const Seconds wire = 2.0 * Bytes{4.0 * 2e8} / (1.16 * GB / Seconds{1.0});
  CHECK(reduction(job) > wire);
  CHECK(reduction(job) < 3.0 * wire);
  CHECK(sync_overlap(job).slowdown == 0.0);
}

TEST_CASE("data parallel: gloo is refused for anything but the sum of gradients",
          "[models][data][rules]") {
  const auto refused = [](const Job& job) {
    const auto reasons = not_modelled(job);
    return std::any_of(reasons.begin(), reasons.end(), [](const Infeasible& reason) {
      return reason.key == "communication.backend";
    });
  };
  Job job = plain_data_job();
  job.communication.backend = Backend::gloo;
  CHECK_FALSE(refused(job));
  SECTION("sharded states") { job.parallel.zero = 1; }
  SECTION("tensor ranks") { job.parallel.tensor = 8; }
  SECTION("stages") { job.parallel.pipeline = 2; }
  SECTION("context ranks") { job.parallel.context = 2; }
  SECTION("MPI") { job.communication.backend = Backend::mpi; }
  CHECK(refused(job));
}
