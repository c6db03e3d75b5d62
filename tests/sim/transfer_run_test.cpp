// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/transfer_run.hpp"

#include <catch2/catch.hpp>

#include <numeric>

#include "models/base/ranges.hpp"
#include "tests/models/example_job.hpp"
#include "tests/sim/job_fabric.hpp"

using namespace foretrain;

namespace {

/// Four hosts of eight GPUs, a NIC each.
struct Machine {
  Fabric fabric;
  FlowNetwork network;
  BytesPerSecond nic;
};

Machine four_hosts() {
  Job job = test::llama2_70b_job();
  job.cluster.hosts = 4;
  Machine machine{test::fabric_for(job), {}, job.cluster.network.nic_link.bandwidth};
  for (const double rate : machine.fabric.capacity) machine.network.links.emplace_back(rate);
  return machine;
}

std::vector<int> host(int number) {
  std::vector<int> gpus(8);
  std::iota(gpus.begin(), gpus.end(), 8 * number);
  return gpus;
}

TransferRun played(const Machine& machine, const std::vector<PoolTransfer>& transfers) {
  auto run = run_transfers(machine.fabric, machine.network, Simulation{}, transfers);
  REQUIRE(std::holds_alternative<TransferRun>(run));
  return std::get<TransferRun>(std::move(run));
}

}  // namespace

TEST_CASE("transfers: one that meets nobody takes its price", "[sim][transfers]") {
  const Machine machine = four_hosts();
  const PoolTransfer one{host(0), host(1), 80.0 * GB, 4.0 * machine.nic, 3.0 * us};
  const TransferRun run = played(machine, {one});
  CHECK(run.time.value() == Approx(one.alone().value()).epsilon(1e-9));
  CHECK(run.end.front() == run.time);
}

TEST_CASE("transfers: NICs bound what a price promises", "[sim][transfers]") {
  const Machine machine = four_hosts();
  // Eight NICs carry what sixteen would: twice the time.
  const PoolTransfer fast{host(0), host(1), 80.0 * GB, 16.0 * machine.nic, Seconds{}};
  CHECK(played(machine, {fast}).time / fast.alone() == Approx(2.0).epsilon(1e-9));
  // One GPU reaches the eight NICs of its host over NVLink.
  const PoolTransfer narrow{{0}, host(1), 80.0 * GB, 16.0 * machine.nic, Seconds{}};
  CHECK(played(machine, {narrow}).time / narrow.alone() == Approx(2.0).epsilon(1e-9));
  // Eight fill one: they all arrive on its NIC.
  const PoolTransfer gathered{host(0), {8}, 80.0 * GB, 8.0 * machine.nic, Seconds{}};
  CHECK(played(machine, {gathered}).time / gathered.alone() == Approx(8.0).epsilon(1e-9));
}

TEST_CASE("transfers: two that fill one receiver share its NICs, a chain does not",
          "[sim][transfers]") {
  const Machine machine = four_hosts();
  const BytesPerSecond all = 8.0 * machine.nic;
  const PoolTransfer first{host(0), host(2), 80.0 * GB, all, Seconds{}};
  const PoolTransfer second{host(1), host(2), 40.0 * GB, all, Seconds{}};
  const TransferRun meets = played(machine, {first, second});
  // Half each until the second has its 40 GB, then the first alone: 120 GB through one set of NICs.
  CHECK(meets.end[1] / second.alone() == Approx(2.0).epsilon(1e-9));
  CHECK(meets.time.value() == Approx((120.0 * GB / all).value()).epsilon(1e-9));
  const PoolTransfer onward{host(2), host(3), 80.0 * GB, all, Seconds{}};
  CHECK(played(machine, {first, onward}).time.value() ==
        Approx(first.alone().value()).epsilon(1e-9));
  const auto fullest = fullest_link(meets, machine.network);
  REQUIRE(fullest.has_value());
  CHECK(meets.links[index(*fullest)] / machine.network.links[index(*fullest)] / meets.time ==
        Approx(1.0).epsilon(1e-9));
}
