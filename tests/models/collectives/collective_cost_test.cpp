// SPDX-License-Identifier: Apache-2.0
#include "models/collectives/collective_cost.hpp"

#include <catch2/catch.hpp>

#include "models/grid/process_grid.hpp"
#include "tests/models/collectives/h100_collectives.hpp"
#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {}  // namespace

TEST_CASE("collectives: one rank costs nothing", "[models][collective]") {
  const Job job = test::llama2_70b_job();
  CHECK(all_reduce_time({1, 1, 1}, 1.0 * GB, test::path_of(job)) == Seconds{});
  CHECK(all_gather_time({1, 1, 1}, 1.0 * GB, test::path_of(job)) == Seconds{});
}

TEST_CASE("collectives: ring all-gather over NVLink, one worked point", "[models][collective]") {
  // 8 ranks, 64 MiB: 10.6 us + 3.8 ns * sqrt(67108864) + 7/8 * 67.108864 MB / (450 * 0.79 GB/s)
  const Job job = test::llama2_70b_job();
  const Seconds time =
      all_gather_time(spaced_group(8, 1).on_hosts({8, 8}), 64.0 * MiB, test::path_of(job));
  CHECK(time.in(us) == Approx(10.6 + 3.8e-3 * 8192.0 + 58720.256 / 355.5));
  // 8 x H100 all-gather measures 281 GB/s of bus bandwidth at this size (nccl_sweeps.csv)
  CHECK((0.875 * 64.0 * MiB / time) / GBps == Approx(281).epsilon(0.05));
}

TEST_CASE("collectives: a ring across hosts is bound by one NIC per rank", "[models][collective]") {
  const Job job = test::llama2_70b_job();
  const CommGroup group =
      spaced_group(16, 8).on_hosts({8, 8});  // data-parallel ranks with tensor 8: one per host
  CHECK(group.ranks_per_domain == 1);
  CHECK(group.domains() == 16);
  CHECK(bus_bandwidth(group, test::path_of(job)) / GBps == Approx(50.0 * 0.98 * 0.86));
}

TEST_CASE("collectives: ranks that share a host share its NICs and its NVLink",
          "[models][collective]") {
  const Job job = test::llama2_70b_job();
  const CommGroup pairs = spaced_group(16, 4).on_hosts({8, 8});
  CHECK(pairs.ranks_per_domain == 2);
  CHECK(bus_bandwidth(pairs, test::path_of(job)) / GBps == Approx(2.0 * 50.0 * 0.98 * 0.86));
  const CommGroup whole =
      spaced_group(64, 1).on_hosts({8, 8});  // all GPUs of eight hosts: NVLink may bind
  CHECK(bus_bandwidth(whole, test::path_of(job)) / GBps == Approx(8.0 * 50.0 * 0.98 * 0.86));
  CHECK(bus_bandwidth(whole, test::path_of(job)) <= 450.0 * GBps);
}

TEST_CASE("collectives: an all-reduce is a reduce-scatter and an all-gather in one call",
          "[models][collective][property]") {
  const Job job = test::llama2_70b_job();
  const int ranks = GENERATE(2, 8, 64);
  const Bytes payload = GENERATE(1.0, 1e3, 1e6, 1e9) * MB;
  const CommGroup group = spaced_group(ranks, 1).on_hosts({8, 8});
  const Seconds two = all_gather_time(group, payload, test::path_of(job)) +
                      reduce_scatter_time(group, payload, test::path_of(job));
  CHECK(all_reduce_time(group, payload, test::path_of(job)) <= two);
  CHECK(all_reduce_time(group, payload, test::path_of(job)) >= 0.5 * two);
}

TEST_CASE("collectives: oversubscription binds only beyond a leaf", "[models][collective]") {
  Job job = test::llama2_70b_job();
  job.cluster.network.hosts_per_leaf = 32;
  const Seconds within =
      all_gather_time(spaced_group(16, 8).on_hosts({8, 8}), 1.0 * GB, test::path_of(job));
  const Seconds beyond =
      all_gather_time(spaced_group(64, 8).on_hosts({8, 8}), 1.0 * GB, test::path_of(job));
  job.cluster.network.oversubscription = 2.0;
  CHECK(all_gather_time(spaced_group(16, 8).on_hosts({8, 8}), 1.0 * GB, test::path_of(job)) ==
        within);
  CHECK(all_gather_time(spaced_group(64, 8).on_hosts({8, 8}), 1.0 * GB, test::path_of(job)) >
        1.9 * beyond);
}

TEST_CASE("collectives: more bandwidth is never slower", "[models][collective][property]") {
  Job job = test::llama2_70b_job();
  const CommGroup group = spaced_group(GENERATE(2, 8, 16, 512), GENERATE(1, 8)).on_hosts({8, 8});
  const Seconds before = all_reduce_time(group, 100.0 * MB, test::path_of(job));
  job.cluster.network.nic_link.bandwidth *= 2.0;
  job.cluster.host.gpu_link.bandwidth *= 2.0;
  CHECK(all_reduce_time(group, 100.0 * MB, test::path_of(job)) < before);
}

TEST_CASE("collectives: a ring with one rank per host uses one NIC, and its own share",
          "[models][collective]") {
  Job job = test::llama2_70b_job();
  job.site.across.share = 0.87;  // Selene: all NICs of a host together, and one alone
  job.site.lone_share = 0.49;
  job.site.send_share = 0.73;
  const double nic = 50.0 * 0.98;
  CHECK(bus_bandwidth(spaced_group(16, 8).on_hosts({8, 8}), test::path_of(job)) / GBps ==
        Approx(0.49 * nic));
  CHECK(bus_bandwidth(spaced_group(16, 4).on_hosts({8, 8}), test::path_of(job)) / GBps ==
        Approx(2.0 * 0.87 * nic));
  const Seconds sent =
      send_time(1.0 * GB, 2, test::path_of(job)) - send_time(Bytes{}, 2, test::path_of(job));
  CHECK((1.0 * GB / sent) / GBps == Approx(0.73 * nic));
}

TEST_CASE("collectives: a host waits for its slowest rank once per call", "[models][collective]") {
  Job job = test::llama2_70b_job();
  const CommGroup host = spaced_group(8, 1).on_hosts({8, 8});
  const Seconds before = all_reduce_time(host, 1.0 * MB, test::path_of(job));
  job.site.wait = 27.0 * us;
  const Seconds after = all_reduce_time(host, 1.0 * MB, test::path_of(job));
  CHECK((after - before).in(us) == Approx(27.0));
}
