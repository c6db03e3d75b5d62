// SPDX-License-Identifier: Apache-2.0
#include "models/collectives/collective_choice.hpp"

#include <catch2/catch.hpp>

#include "models/grid/process_grid.hpp"
#include "tests/models/collectives/h100_collectives.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

/// Eight H100 hosts on InfiniBand NDR with the cost lines of calibration/profiles/device.
Job h100_job() {
  Job job = test::h100_collectives();
  job.cluster.host.pcie = {};
  job.device_profile.protocols.in_switch = {24.1 * us, 6.26 * us, 1.11};
  return job;
}

}  // namespace

TEST_CASE("collective choice: one rank costs nothing", "[models][collective]") {
  const Job job = h100_job();
  CHECK(collective_time(CollectiveOp::all_reduce, {1, 1, 1}, 1.0 * GB, test::path_of(job)) ==
        Seconds{});
}

TEST_CASE("collective choice: an all-reduce moves from latency to bandwidth with its size",
          "[models][collective]") {
  const Job job = h100_job();
  const CommGroup host = spaced_group(8, 1).on_hosts({8, 8});
  const auto choose = [&](Bytes size) {
    return collective_choice(CollectiveOp::all_reduce, host, size, test::path_of(job));
  };
  CHECK(choose(1.0 * KiB).algorithm == CollectiveAlgorithm::ring);
  CHECK(choose(1.0 * KiB).protocol == Protocol::ll);
  CHECK(choose(1.0 * MiB).protocol == Protocol::ll128);
  // Since NVLS the switch adds: from 2 MiB on instead of rings (H200; asked for within a factor of
  // 2), at 480 GB/s of bus bandwidth against 367 of the ring (16 GiB).
  for (int size = 4; size <= 16384; size *= 2)
    CHECK(choose(size * MiB).algorithm == CollectiveAlgorithm::in_switch);
  // dgxc-benchmarking, 8 H100: 54.2 us, 123.8 us, 324.7 us
  CHECK(choose(4.0 * MiB).time / us == Approx(54.2).epsilon(0.08));
  CHECK(choose(16.0 * MiB).time / us == Approx(123.8).epsilon(0.05));
  CHECK(choose(64.0 * MiB).time / us == Approx(324.7).epsilon(0.05));
  const double bus = 2.0 * 7.0 / 8.0 * (16.0 * GiB / choose(16.0 * GiB).time) / GBps;
  CHECK(bus == Approx(480).epsilon(0.03));
}

TEST_CASE("collective choice: between hosts a tree climbs, then the switches reduce",
          "[models][collective]") {
  const Job job = h100_job();
  const CommGroup four = spaced_group(32, 1).on_hosts({8, 8});
  const auto choose = [&](Bytes size) {
    return collective_choice(CollectiveOp::all_reduce, four, size, test::path_of(job));
  };
  CHECK(choose(64.0 * KiB).algorithm == CollectiveAlgorithm::tree);
  CHECK(choose(1.0 * GiB).algorithm == CollectiveAlgorithm::in_switch_tree);
  // 4 x 8 H100 on NDR: 366 GB/s of bus bandwidth at 8 GiB (nccl_sweeps.csv, xe9680)
  const double bus = 2.0 * 31.0 / 32.0 * (8.0 * GiB / choose(8.0 * GiB).time) / GBps;
  CHECK(bus == Approx(366).epsilon(0.06));
}

TEST_CASE(
    "collective choice: a tree grows with the logarithm of the hosts, a ring with their number",
    "[models][collective]") {
  const Job job = h100_job();
  const auto floor_of = [&](CollectiveOp op, int hosts) {
    return collective_time(op, spaced_group(8 * hosts, 1).on_hosts({8, 8}), Bytes{8.0},
                           test::path_of(job));
  };
  const Seconds reduce_step =
      floor_of(CollectiveOp::all_reduce, 64) - floor_of(CollectiveOp::all_reduce, 32);
  const Seconds gather_step =
      floor_of(CollectiveOp::all_gather, 64) - floor_of(CollectiveOp::all_gather, 32);
  CHECK(reduce_step < 20.0 * us);
  CHECK(gather_step > 32.0 * 5.0 * us);
}

TEST_CASE("collective choice: larger payloads and slower links never save time",
          "[models][collective][property]") {
  Job job = h100_job();
  const auto op =
      GENERATE(CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
               CollectiveOp::all_to_all, CollectiveOp::broadcast, CollectiveOp::reduce,
               CollectiveOp::gather, CollectiveOp::scatter);
  const int ranks = GENERATE(2, 8, 16, 256);
  const CommGroup group = spaced_group(ranks, GENERATE(1, 8)).on_hosts({8, 8});
  CAPTURE(name_of(op), ranks, group.ranks_per_domain);
  Seconds before;
  for (std::int64_t size = 64; size < 10'000'000'000; size *= 4) {
    const Bytes payload{static_cast<double>(size)};
    const Seconds time = collective_time(op, group, payload, test::path_of(job));
    CHECK(time >= before);
    before = time;
  }
  job.cluster.network.nic_link.bandwidth *= 0.5;
  job.cluster.host.gpu_link.bandwidth *= 0.5;
  CHECK(collective_time(op, group, Bytes{1e9}, test::path_of(job)) >
        1.4 * collective_time(op, group, Bytes{1e9}, test::path_of(h100_job())));
}

TEST_CASE("collective choice: a send takes the link, or a NIC", "[models][collective]") {
  const Job job = h100_job();
  const auto rate = [&](const CommGroup& group) {
    return (1.0 * GB / collective_time(CollectiveOp::send, group, 1.0 * GB, test::path_of(job))) /
           GBps;
  };
  CHECK(rate({2, 2, 1}) == Approx(0.703 * 450.0).epsilon(0.03));
  CHECK(rate({2, 1, 2}) == Approx(0.89 * 0.98 * 50.0).epsilon(0.03));
}

TEST_CASE("collective choice: below one leaf a send climbs one level of switches, below a pod two",
          "[models][collective]") {
  Job job = h100_job();
  Network& network = job.cluster.network;
  network.switch_levels = 3;
  network.path_latency = 6.0 * us;
  network.hosts_per_leaf = 4;
  network.hosts_per_pod = 16;
  const auto sent = [&](int hosts) {
    const CommGroup pair{2, 1, hosts};
    return collective_time(CollectiveOp::send, pair, Bytes{8.0}, test::path_of(job)).in(us);
  };
  CHECK(sent(5) - sent(4) == Approx(2.0));
  CHECK(sent(17) - sent(16) == Approx(2.0));
  CHECK(sent(16) == sent(5));
  network.switch_levels = 2;  // rails meet below the second level, whatever tiers are above it
  CHECK(sent(17) == sent(16));
}
