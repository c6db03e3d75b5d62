// SPDX-License-Identifier: Apache-2.0
// Ring all-reduces on rail-optimized fabrics of 8-GPU hosts, one flow per edge and channel. One
// case per run, so that the memory is its own: foretrain_bench_collective [RANKS]
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <variant>
#include <vector>

#include "models/collectives/registry.hpp"
#include "sim/collectives/collective_run.hpp"
#include "sim/flows/shared_links.hpp"
#include "tests/models/collectives/h100_collectives.hpp"

namespace {

using namespace foretrain;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double most_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

Fabric rails(int hosts) {
  FabricSpec spec;
  spec.hosts = hosts;
  spec.host = {8, ScaleUpKind::nvswitch, 450.0 * GBps, 63.0 * GBps, 8, 50.0 * GBps, {}};
  spec.network = ClosShape{};
  auto built = build_fabric(spec);
  if (!std::holds_alternative<Fabric>(built)) throw std::runtime_error("no such fabric");
  return std::get<Fabric>(std::move(built));
}

CollectiveCall ring(const Job& job, int ranks) {
  std::vector<int> gpus(static_cast<std::size_t>(ranks));
  std::iota(gpus.begin(), gpus.end(), 0);
  CollectiveCall call;
  call.seats = seats_of(gpus, {8, 8});
  call.payload = 1.0 * GB;
  call.price = nccl_price({call.op, call.seats, 0}, call.payload, test::path_of(job),
                          {find_scheme("ring"), Protocol::simple})
                   .price;
  return call;
}

void run(int ranks) {
  const double begin = cpu_seconds();
  const double memory = most_megabytes();
  const Job job = test::h100_collectives();
  const Fabric fabric = rails(ranks / 8);
  const CollectiveSetting setting{fabric,
                                  achievable_links(fabric, job.cluster, job.device_profile)};
  const double built = cpu_seconds();
  const auto played = run_collectives(setting, {ring(job, ranks)});
  const double end = cpu_seconds();
  const auto& result = std::get<CollectiveRun>(played);
  fmt::print(
      "ring all-reduce of 1 GB, {} ranks: {:.6f} s simulated, {} flows; CPU {:.1f} ms for the "
      "fabric, {:.1f} ms for the collective; {:.1f} MB above the {:.1f} of the start\n",
      ranks, result.end[0].value(), result.flows, (built - begin) * 1e3, (end - built) * 1e3,
      most_megabytes() - memory, memory);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(std::max(16, argc > 1 ? std::atoi(argv[1]) : 4096));
  } catch (const std::exception& error) {
    fmt::print(stderr, "foretrain_bench_collective: {}\n", error.what());
    return 2;
  }
  return 0;
}
