// SPDX-License-Identifier: Apache-2.0
// Collectives on catalog machines against recorded times, every flow simulated.
// FORETRAIN_UPDATE_GOLDEN=1 rewrites the records; review the difference.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "models/collectives/registry.hpp"
#include "planner/network/collective_table.hpp"

using namespace foretrain;

namespace {

CollectiveRequest request_on(int hosts, Bytes size) {
  MachineWish wish;
  wish.host = "dgx-h100";
  wish.fabric = "ib-ndr";
  wish.hosts = hosts;
  CollectiveRequest request;
  request.machine = collective_machine(wish);
  request.sizes = {size};
  request.groups = parse_groups({hosts, 8, 8, 1, ""});
  return request;
}

Seconds time_of(const CollectiveRequest& request) {
  const auto result = collective_table(request);
  REQUIRE(std::holds_alternative<CollectiveTable>(result));
  return std::get<CollectiveTable>(result).rows.front().time;
}

Seconds forced(const char* algorithm, int hosts, Bytes size) {
  CollectiveRequest request = request_on(hosts, size);
  request.wish.scheme = find_scheme(algorithm);
  return time_of(request);
}

using Rows = std::vector<std::vector<double>>;

/// Numbers of a CSV file behind one header line.
Rows read(const std::string& file) {
  std::ifstream stream{file};
  REQUIRE(stream.good());
  Rows rows;
  std::string line;
  std::getline(stream, line);
  while (std::getline(stream, line)) {
    std::istringstream cells{line};
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(std::stod(cell));
  }
  return rows;
}

void compare(const std::string& name, const std::string& header, const Rows& actual) {
  const std::string file =
      std::string(FORETRAIN_SOURCE_DIR "/tests/golden/") + name + ".expected.csv";
  if (std::getenv("FORETRAIN_UPDATE_GOLDEN") != nullptr) {
    std::ofstream stream{file};
    stream << header << "\n";
    for (const auto& row : actual) {
      for (std::size_t i = 0; i < row.size(); ++i)
        stream << (i > 0 ? "," : "") << fmt::format("{}", row[i]);
      stream << "\n";
    }
    return;
  }
  const Rows expected = read(file);
  REQUIRE(expected.size() == actual.size());
  for (std::size_t row = 0; row < actual.size(); ++row) {
    REQUIRE(expected[row].size() == actual[row].size());
    CAPTURE(name, row);
    for (std::size_t i = 0; i < actual[row].size(); ++i)
      CHECK(actual[row][i] == Approx(expected[row][i]).epsilon(1e-9));
  }
}

}  // namespace

// Right because a ring hands every byte from host to host, 2 (N - 1) hops one after the other, and
// a tree climbs and descends 2 log2(N): the ring's latency doubles with the hosts, the tree's grows
// by one constant. At 1 MiB the tree still wins everywhere beyond one host: both are latency alone.
TEST_CASE("collectives: a ring's latency grows with the hosts, a tree's with their logarithm",
          "[golden][collective]") {
  Rows rows;
  for (int hosts = 2; hosts <= 3072; hosts = hosts == 2048 ? 3072 : 2 * hosts)
    rows.push_back({8.0 * hosts, forced("ring", hosts, Bytes{8.0}).in(us),
                    forced("tree", hosts, Bytes{8.0}).in(us),
                    forced("ring", hosts, 1.0 * MiB).in(us),
                    forced("tree", hosts, 1.0 * MiB).in(us)});
  rows.insert(rows.begin(), {8.0, forced("ring", 1, Bytes{8.0}).in(us), 0.0,
                             forced("ring", 1, 1.0 * MiB).in(us), 0.0});  // a tree joins hosts
  compare("collective-ring-against-tree", "gpus,ring_8B_us,tree_8B_us,ring_1MiB_us,tree_1MiB_us",
          rows);
  const auto& large = rows.back();
  REQUIRE(large[0] == 24576.0);
  CHECK(large[1] / rows[rows.size() - 2][1] == Approx(1.5).epsilon(0.02));  // 3072 of 2048 hosts
  // A doubling of the hosts is one more level, up and down; two more tiers of switches come on top.
  const double level = rows[2][2] - rows[1][2];
  for (std::size_t i = 1; i + 2 < rows.size(); ++i) {
    CHECK(rows[i + 1][2] - rows[i][2] > 0.5 * level);
    CHECK(rows[i + 1][2] - rows[i][2] < 4.0 * level);
  }
  CHECK(large[1] > 100.0 * large[2]);
}

// Right because gloo moves a chunk with one core's socket per process and copies it to host memory
// and back, while NCCL's NICs read device memory; and every step of a socket costs some 100 us
// more.
TEST_CASE("collectives: gloo over TCP is hundreds of times slower than NCCL over RDMA",
          "[golden][collective]") {
  Rows rows;
  for (const Bytes size : {1.0 * KiB, 1.0 * MiB, 64.0 * MiB, 1.0 * GiB}) {
    CollectiveRequest request = request_on(4, size);
    const Seconds nccl = time_of(request);
    request.backend = Backend::gloo;
    const Seconds gloo = time_of(request);
    rows.push_back({size.value(), nccl.in(us), gloo.in(us)});
    CHECK(gloo > 20.0 * nccl);
  }
  compare("collective-gloo-against-nccl", "bytes,nccl_rdma_us,gloo_tcp_us", rows);
  CHECK(rows.back()[2] > 150.0 * rows.back()[1]);
}
