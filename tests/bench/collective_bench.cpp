// SPDX-License-Identifier: Apache-2.0
// Ring all-reduces on rail-optimized fabrics with every flow simulated. CPU time of this process
// and the most memory it held, one case per run: foretrain_bench_collective RANKS
#include <fmt/core.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <variant>

#include "models/collectives/registry.hpp"
#include "planner/collective_table.hpp"

namespace {

using namespace foretrain;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double most_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

int run(int ranks) {
  const double begin = cpu_seconds();
  const double memory = most_megabytes();
  MachineWish wish;
  wish.host = "dgx-h100";
  wish.hosts = ranks / 8;
  CollectiveRequest request;
  request.machine = collective_machine(wish);
  request.wish.scheme = find_scheme("ring");
  request.sizes = {1.0 * GB};
  request.groups = parse_groups({*wish.hosts, 8, 8, 1, ""});
  const double read = cpu_seconds();
  const auto result = collective_table(request);
  if (!std::holds_alternative<CollectiveTable>(result)) return 3;
  const CollectiveRow& row = std::get<CollectiveTable>(result).rows.front();
  fmt::print(
      "ring all-reduce of 1 GB, {} ranks: {:.4f} s simulated, {} flows; catalogs {:.1f} ms, fabric "
      "and flows {:.1f} ms of CPU, {:.1f} MB more than at the start\n",
      ranks, row.time.value(), row.flows, (read - begin) * 1e3, (cpu_seconds() - read) * 1e3,
      most_megabytes() - memory);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? std::atoi(argv[1]) : 4096);
  } catch (const std::exception& error) {
    fmt::print(stderr, "foretrain_bench_collective: {}\n", error.what());
    return 2;
  }
}
