// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/run_machine.hpp"

#include <catch2/catch.hpp>

#include "tests/calibration/measured_records.hpp"

namespace foretrain {
namespace {

double gbps_per_gpu(const RunRecord& record) {
  const RunMachine machine = run_machine(record, *record.gpus, shipped_catalog());
  INFO(record.id << " " << machine.why);
  REQUIRE(machine.cluster.has_value());
  return machine.cluster->inter_host_bandwidth_per_gpu().in(Gbps);
}

RunRecord some_gpus(const std::string& gpu, int gpus, int per_node, const std::string& network) {
  RunRecord record;
  record.id = "own-1";
  record.gpu = gpu;
  record.gpus = gpus;
  record.gpus_per_node = per_node;
  record.network = network;
  return record;
}

}  // namespace

TEST_CASE("stated networks: the sources' own words", "[calibration][machine]") {
  struct Words {
    const char* text;
    int nics;
    double nic, host, gpu;  ///< Gbit/s
  };
  const Words words = GENERATE(
      Words{"Selene DGX A100: NVLink+NVSwitch in node; 8x Mellanox HDR 200Gb/s IB HCAs per node", 8,
            200, 0, 0},
      Words{"DGX H100 reference: NVLink4 900GB/s bidirectional per GPU (18 links); InfiniBand "
            "compute 8x400Gb/s per node",
            8, 400, 0, 0},
      Words{"Jean Zay: 8x A100-80GB/node, NVLink, 4x Omni-Path links per node (tr11 README)", 4,
            100, 0, 0},
      Words{"RoCE, 1600 Gbps per node (section title)", 0, 0, 1600, 0},
      Words{"4x 100Gb RoCE per node", 4, 100, 0, 0},
      Words{"NVLink 4th gen; InfiniBand 8x50 GB/s per node", 8, 400, 0, 0},
      Words{"Eos DGX H100: NVLink4 450GB/s unidirectional; InfiniBand 400Gbps unidirectional per "
            "GPU (paper)",
            0, 0, 0, 400},
      Words{"400 Gb/s per GPU backend RDMA (torchtitan docs)", 0, 0, 0, 400},
      Words{"RoCE 2 Tb/s per node", 0, 0, 2000, 0}, Words{"8x HDR IB", 8, 200, 0, 0},
      Words{"InfiniBand 200 Gb/s", 0, 200, 0, 0}, Words{"single node NVLink", 0, 0, 0, 0},
      Words{"A100 SXM 80G, 4 nodes, RoCE RDMA (paper 2401.10241 s5.1)", 0, 0, 0, 0});
  CAPTURE(words.text);
  const StatedNetwork stated = stated_network(words.text);
  CHECK(stated.nics == words.nics);
  CHECK(stated.per_nic.in(Gbps) == Approx(words.nic));
  CHECK(stated.per_host.in(Gbps) == Approx(words.host));
  CHECK(stated.per_gpu.in(Gbps) == Approx(words.gpu));
}

TEST_CASE("machines: bandwidth per GPU of the families", "[calibration][machine]") {
  CHECK(gbps_per_gpu(shipped_run("sc21-t1-1.7b")) == Approx(200));
  CHECK(gbps_per_gpu(shipped_run("bs-jz-607-181B-tp8pp12dp4-mb1")) == Approx(50));
  CHECK(gbps_per_gpu(shipped_run("internevo-tgs-tp2-z4-64g")) == Approx(50));
  CHECK(gbps_per_gpu(shipped_run("mosaic-084-30b-s512-8xA100")) == Approx(200));
  CHECK(gbps_per_gpu(shipped_run("dgxc-v25.03-llama31-70b-bf16-64")) == Approx(400));
  CHECK(gbps_per_gpu(some_gpus("A100-SXM4-80GB", 64, 8, "800 Gb/s per node")) == Approx(100));
}

TEST_CASE("machines: hosts hold as many GPUs as a node, or as the job uses",
          "[calibration][machine]") {
  const auto shape = [](int gpus, int per_node) {
    const RunMachine machine =
        run_machine(some_gpus("A100-SXM4-80GB", gpus, per_node, ""), gpus, shipped_catalog());
    REQUIRE(machine.cluster.has_value());
    CHECK(machine.cluster->gpus() == gpus);
    return std::pair{machine.cluster->hosts, machine.cluster->host.gpus};
  };
  CHECK(shape(64, 8) == std::pair{8, 8});
  CHECK(shape(3, 8) == std::pair{1, 3});
  CHECK(shape(16, 4) == std::pair{4, 4});
  CHECK(shape(5, 1) == std::pair{5, 1});
  CHECK(shape(12, 8) == std::pair{2, 6});
  CHECK(shape(18, 8) == std::pair{3, 6});
  CHECK(shape(20, 8) == std::pair{5, 4});  // three nodes do not divide 20
}

TEST_CASE("machines: half a node has half the NICs unless the record says otherwise",
          "[calibration][machine]") {
  const auto nics = [](const std::string& network) {
    const RunMachine machine =
        run_machine(some_gpus("H100-SXM5-80GB", 16, 4, network), 16, shipped_catalog());
    REQUIRE(machine.cluster.has_value());
    return machine.cluster->host.nics;
  };
  CHECK(nics("") == 4);
  CHECK(nics("8x400Gb/s per node") == 8);
}

TEST_CASE("machines: what is assumed is said, what is unknown is refused",
          "[calibration][machine]") {
  const RunMachine silent =
      run_machine(some_gpus("A100-SXM4-80GB", 12, 8, ""), 12, shipped_catalog());
  CHECK(silent.assumptions ==
        std::vector<std::string>{"6 GPUs per host", "network ib-hdr with 6 NICs per host"});
  CHECK(run_machine(some_gpus("TPU", 8, 8, ""), 8, shipped_catalog()).why == "no host with TPU");
  RunRecord named = some_gpus("A100-SXM4-80GB", 16, 8, "");
  named.host = "dgx-a1000";
  CHECK(run_machine(named, 16, shipped_catalog()).why == "no host dgx-a1000");
  named.host = "dgx-a100";
  named.fabric = "ib-hdx";
  CHECK(run_machine(named, 16, shipped_catalog()).why == "no fabric preset ib-hdx");
}

TEST_CASE("stated networks: hostile words neither crash nor take long", "[calibration][machine]") {
  CHECK(stated_network("99999999999999999999x 1Gb").nics == 9999);
  std::string words(1'000'000, '8');
  words.append("x 100Gb");
  CHECK(stated_network(words).nics == 0);
  words.replace(0, 2, "8x");
  CHECK(stated_network(words).nics == 0);
  // A rate of nought is none.
  CHECK(gbps_per_gpu(some_gpus("A100-SXM4-80GB", 16, 8, "8x 0Gb/s per node")) == Approx(200));
}

TEST_CASE("machines: a network's kind decides the transport", "[calibration][machine]") {
  const auto transport = [](const std::string& network) {
    const RunMachine machine =
        run_machine(some_gpus("A100-SXM4-80GB", 16, 8, network), 16, shipped_catalog());
    REQUIRE(machine.cluster.has_value());
    return machine.cluster->network.transport;
  };
  CHECK(transport("2x100 Gb/s Ethernet per node, TCP (about 120 Gb/s usable)") == Transport::tcp);
  CHECK(transport("4x 100Gb RoCE per node") == Transport::gpudirect_rdma);
}

}  // namespace foretrain
