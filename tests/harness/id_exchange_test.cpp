// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/common/id_exchange.hpp"

#include <stdexcept>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace foretrain::harness {
namespace {

ProcessPlace local_place(int rank, int world, int port) {
  ProcessPlace place;
  place.rank = rank;
  place.world = world;
  place.address = "127.0.0.1";
  place.port = port;
  return place;
}

}  // namespace

TEST_CASE("rank 0's message reaches every rank, whoever starts first", "[harness]") {
  const std::string id = std::string(127, 'x') + '\0';
  constexpr int world = 5;
  constexpr int port = 29611;
  std::vector<std::string> got(world);
  std::vector<std::thread> ranks;
  for (int rank = world - 1; rank >= 0; --rank)
    ranks.emplace_back([&, rank] {
      const std::string mine = rank == 0 ? id : std::string(id.size(), '\0');
      got[static_cast<std::size_t>(rank)] = exchange_id(local_place(rank, world, port), mine, 30);
    });
  for (std::thread& rank : ranks) rank.join();
  for (const std::string& each : got) CHECK(each == id);
}

TEST_CASE("one process has nobody to ask", "[harness]") {
  CHECK(exchange_id(local_place(0, 1, 0), "id") == "id");
}

TEST_CASE("a rank that finds nobody gives up and says so", "[harness]") {
  CHECK_THROWS_WITH(exchange_id(local_place(1, 2, 29612), "id", 0.2),
                    Catch::Contains("rank 0 did not answer at 127.0.0.1:29612"));
  CHECK_THROWS_WITH(exchange_id(local_place(0, 3, 29613), "id", 0.2),
                    Catch::Contains("only 1 of 3 ranks came"));
}

}  // namespace foretrain::harness
