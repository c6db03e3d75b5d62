// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/record_networks.hpp"

#include <catch2/catch.hpp>

#include "tests/calibration/measured_records.hpp"

namespace foretrain {

TEST_CASE("lines of networks.yaml name presets of the catalog", "[calibration][records]") {
  const RunCatalog& catalog = shipped_catalog();
  const Host& host = catalog.hosts.at("dgx-h100");
  for (const char* words : {"TCP", "EFA", "RoCE", "IB", "InfiniBand", ""})
    for (const double rate : {10.0, 25.0, 100.0, 200.0, 400.0, 800.0}) {
      CAPTURE(words, rate);
      CHECK(catalog.fabrics.contains(run_fabric(words, rate * Gbps, host)));
    }
  for (const char* words : {"IPoIB", "EFA v1", "EFA v2", "8 of 16", "EFA v3", "TCPXO", "TCPX",
                            "HDR", "A3 Ultra", "NDR", "OCI", "one NIC"}) {
    CAPTURE(words);
    const auto network = sweep_network(words);
    REQUIRE(network.has_value());
    CHECK(network->why.empty());
    CHECK(catalog.fabrics.contains(network->fabric));
  }
}

TEST_CASE("a run's network is the slowest preset of its kind that keeps up with its NICs",
          "[calibration][records]") {
  const Host& host = shipped_catalog().hosts.at("dgx-h100");
  CHECK(run_fabric("TCP over Ethernet", 25.0 * Gbps, host) == "tcp-25g");
  CHECK(run_fabric("TCP over Ethernet", 26.0 * Gbps, host) == "tcp-100g");
  CHECK(run_fabric("AWS EFA", 100.0 * Gbps, host) == "efa-p4d");
  CHECK(run_fabric("InfiniBand", 800.0 * Gbps, host) == "ib-ndr");
  // Words for no kind: the host's own NICs at their rate, else InfiniBand.
  const Host& cloud = shipped_catalog().hosts.at("aws-p5");
  CHECK(run_fabric("", cloud.nic.bandwidth, cloud) == cloud.nic.name);
  CHECK(run_fabric("", 200.0 * Gbps, cloud) == "ib-hdr");
}

TEST_CASE("sweeps whose network cannot be expressed say why, before their kind counts",
          "[calibration][records]") {
  CHECK(sweep_network("NDR, SHARP on")->why ==
        "reduction in the switches between hosts is not modelled");
  CHECK_FALSE(sweep_network("one NIC")->fitted);
  CHECK(sweep_network("EFA v2")->fitted);
  CHECK_FALSE(sweep_network("carrier pigeons").has_value());
}

TEST_CASE("devices that share fitted constants stand behind the measured one",
          "[calibration][records]") {
  const RunCatalog& catalog = shipped_catalog();
  const auto chips = device_families(catalog, &DeviceFamily::kernels);
  CHECK(chips.size() == 7);
  CHECK(chips.at("a100-sxm4-80gb") ==
        std::vector<std::string>{"a100-sxm4-80gb", "a100-sxm4-40gb", "a800-sxm4-80gb"});
  CHECK(chips.at("h100-sxm5-80gb").size() == 6);
  const auto links = device_families(catalog, &DeviceFamily::collectives);
  CHECK(links.at("h100-sxm5-80gb").size() == 4);  // those behind bridges have other links
  CHECK(catalog.families.at("h100-pcie").lines == "h100-sxm5-80gb");
  CHECK(links.at("b200") == std::vector<std::string>{"b200"});
}

}  // namespace foretrain
