// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/inputs/cluster.hpp"

namespace foretrain {
namespace {

Host eight_gpu_host() {
  Host host;
  host.gpus = host.nics = 8;
  host.cpu_cores = 64;
  host.cpu_memory = 2.0 * TB;
  host.gpu_link.name = "nvlink";
  host.pcie.name = "pcie";
  return host;
}

}  // namespace

TEST_CASE("a part of a host has its share of what the GPUs share, and all of what is each one's",
          "[models][inputs]") {
  const Host two = part_of(eight_gpu_host(), 2);
  CHECK(two.gpus == 2);
  CHECK(two.whole_gpus == 8);
  CHECK(two.nics == 2);
  CHECK(two.cpu_cores == 16);
  CHECK(two.cpu_memory.in(GB) == Approx(500.0));
  CHECK(two.gpu_link.name == "nvlink");
  CHECK(part_of(eight_gpu_host(), 8).whole_gpus == 0);
  Host few = eight_gpu_host();
  few.nics = 2;
  CHECK(part_of(few, 1).nics == 1);
}

TEST_CASE("a part of a mesh keeps the links between its GPUs, or meets over PCIe",
          "[models][inputs]") {
  Host bridged = eight_gpu_host();
  bridged.scale_up = ScaleUpKind::nvlink_mesh;
  bridged.pairs = {{0, 1, 12}, {2, 3, 12}, {4, 5, 12}, {6, 7, 12}};
  const Host pair = part_of(bridged, 2);
  CHECK(pair.scale_up == ScaleUpKind::nvlink_mesh);
  REQUIRE(pair.pairs.size() == 1);
  CHECK(pair.pairs.front().lanes == 12);
  bridged.pairs = {{0, 4, 1}, {1, 5, 1}};
  const Host apart = part_of(bridged, 2);
  CHECK(apart.scale_up == ScaleUpKind::pcie);
  CHECK(apart.gpu_link.name == "pcie");
}

TEST_CASE("GPUs are whole hosts, a part of one, or equal parts of several", "[models][inputs]") {
  const auto share = [](int gpus) {
    const auto found = share_of(gpus, 8);
    return found ? std::pair(found->hosts, found->gpus_per_host) : std::pair(0, 0);
  };
  CHECK(share(1) == std::pair(1, 1));
  CHECK(share(8) == std::pair(1, 8));
  CHECK(share(16) == std::pair(2, 8));
  CHECK(share(12) == std::pair(2, 6));
  CHECK(share(20) == std::pair(4, 5));
  CHECK(share(9) == std::pair(0, 0));   // three hosts would be used by less than half
  CHECK(share(13) == std::pair(0, 0));  // nor are there 13 of one GPU
}

}  // namespace foretrain
