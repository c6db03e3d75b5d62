// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/topologies/import_fixtures.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/imports/network_description.hpp"

namespace foretrain {
namespace {

using test::fixture;
using test::refusal;
using test::replaced;

HostDescription nccl(const std::string& text) {
  ImportNotes notes;
  return import_nccl_xml(text, notes);
}

HostDescription smi(const std::string& text) {
  ImportNotes notes;
  return import_nvidia_smi(text, notes);
}

}  // namespace

TEST_CASE("NCCL topology: an HGX H200 has 18 lanes per GPU through switches, and a NIC each",
          "[topologies][imports]") {
  ImportNotes notes;
  const HostDescription host = import_nccl_xml(fixture("nccl_hgx_h200.xml"), notes);
  CHECK(host.gpus == 8);
  CHECK(host.pci_device == "0x10de:0x2335");
  CHECK(host.compute_capability == 90);
  CHECK(host.scale_up == ScaleUpKind::nvswitch);
  CHECK(host.nvlink_lanes == 18);
  CHECK(host.pcie_transfers == 32.0);
  CHECK(host.pcie_width == 16);
  REQUIRE(host.nics.size() == 8);
  CHECK(host.nics.front().name == "mlx5_0");
  CHECK(host.nics.front().gbit_per_second == 400.0);
  CHECK(host.nics.front().technology == NicTechnology::ethernet);
  CHECK(host.numa_domains == 2);
  CHECK(host.cpu_threads == 128);
  // The storage NIC and the management NIC are named, not silently dropped.
  REQUIRE(notes.ignored.size() == 2);
  CHECK(notes.ignored[0] == "eth0 (cannot reach GPU memory, as others can)");
  CHECK(notes.ignored[1] == "mlx5_8 (shares no PCIe switch with a GPU, as others do)");
}

TEST_CASE("NCCL topology: the cube mesh of a DGX-1 is that of the white paper",
          "[topologies][imports]") {
  const HostDescription host = nccl(fixture("nccl_dgx1.xml"));
  CHECK(host.scale_up == ScaleUpKind::nvlink_mesh);
  CHECK(host.nvlink_lanes == 6);
  const auto expected = dgx1_pairs();
  REQUIRE(host.pairs.size() == expected.size());
  for (const GpuPair& pair : expected)
    CHECK(std::any_of(host.pairs.begin(), host.pairs.end(), [&](const GpuPair& found) {
      return found.first == pair.first && found.second == pair.second && found.lanes == pair.lanes;
    }));
  REQUIRE(host.nics.size() == 4);
  CHECK(host.nics.front().technology == NicTechnology::infiniband);
}

TEST_CASE("NCCL topology: a GPU without lanes or with one fewer is refused where it stands",
          "[topologies][imports]") {
  const std::string text = fixture("nccl_hgx_h200.xml");
  const std::string down =
      replaced(text, "target=\"0000:08:00.0\" count=\"4\"", "target=\"0000:08:00.0\" count=\"3\"");
  const ImportError error = refusal([&] { (void)nccl(down); });
  CHECK(error.line() > 0);
  CHECK_THAT(error.what(), Catch::Contains("NVSwitch lanes"));
}

TEST_CASE("NCCL topology: what is wrong is told with its line", "[topologies][imports]") {
  const auto message = [](const std::string& text, int line) {
    const ImportError error = refusal([&] { (void)nccl(text); });
    CHECK(error.line() == line);
    return std::string(error.what());
  };
  CHECK_THAT(message("<system version=\"1\">\n<cpu>\n", 2), Catch::Contains("is no XML"));
  CHECK_THAT(message("<graphs/>", 1), Catch::Contains("no element <system>"));
  CHECK_THAT(message("<system version=\"7\"/>", 1), Catch::Contains("version '7'"));
  CHECK_THAT(message("<system version=\"1\"/>", 1), Catch::Contains("no <gpu>"));
  CHECK_THAT(message("<system version=\"1\">\n<cpu host_hash=\"1\"/>\n<cpu host_hash=\"2\"/>\n"
                     "</system>",
                     3),
             Catch::Contains("begins another host"));
  CHECK_THAT(message("<system version=\"1\"><cpu>\n<gpu dev=\"0\"/></cpu></system>", 2),
             Catch::Contains("outside of a <pci>"));
  CHECK_THAT(message("<system version=\"1\"><cpu><pci>\n<gpu dev=\"0\"/></pci></cpu></system>", 2),
             Catch::Contains("sm of <gpu>: is missing"));
  CHECK_THAT(message("<system version=\"1\"><cpu><pci><gpu dev=\"0\" sm=\"90\">\n"
                     "<nvlink target=\"1\" count=\"900\" tclass=\"0x068000\"/></gpu></pci></cpu>"
                     "</system>",
                     2),
             Catch::Contains("900 lanes"));
}

TEST_CASE("NCCL topology: nesting is limited", "[topologies][imports]") {
  std::string text = "<system version=\"1\"><cpu>";
  for (int i = 0; i < 5000; ++i) text += "<pci>";
  for (int i = 0; i < 5000; ++i) text += "</pci>";
  text += "</cpu></system>";
  CHECK_THAT(refusal([&] { (void)nccl(text); }).what(), Catch::Contains("within each other"));
}

TEST_CASE("nvidia-smi: a DGX H100 is NVSwitch, and storage NICs are left out",
          "[topologies][imports]") {
  ImportNotes notes;
  const HostDescription host = import_nvidia_smi(fixture("nvidia_smi_dgx_h100.txt"), notes);
  CHECK(host.gpus == 8);
  CHECK(host.scale_up == ScaleUpKind::nvswitch);
  CHECK(host.nvlink_lanes == 18);
  CHECK(host.nics.size() == 8);
  CHECK(host.cpu_threads == 208);
  REQUIRE(notes.ignored.size() == 2);
  CHECK(notes.ignored[0].starts_with("mlx5_8 "));
}

TEST_CASE("nvidia-smi: four lanes between every two of four A100 are a mesh of twelve per GPU",
          "[topologies][imports]") {
  const HostDescription host = smi(fixture("nvidia_smi_a100_mesh.txt"));
  CHECK(host.scale_up == ScaleUpKind::nvlink_mesh);
  CHECK(host.nvlink_lanes == 12);
  CHECK(host.pairs.size() == 6);
  CHECK(host.nics.size() == 2);
}

TEST_CASE("nvidia-smi: GPUs without NVLink are joined by PCIe", "[topologies][imports]") {
  const HostDescription host = smi(fixture("nvidia_smi_pcie.txt"));
  CHECK(host.scale_up == ScaleUpKind::pcie);
  CHECK(host.nvlink_lanes == 0);
  CHECK(host.nics.size() == 2);
}

TEST_CASE("nvidia-smi: a lane that is down, and text that is no matrix, are refused",
          "[topologies][imports]") {
  const std::string text = fixture("nvidia_smi_dgx_h100.txt");
  const auto message = [](const std::string& broken) {
    return std::string(refusal([&] { (void)smi(broken); }).what());
  };
  CHECK_THAT(message(replaced(text, "NV18\tNV18", "NV18\tNV17")),
             Catch::Contains("joined by 18 and by 17 lanes"));
  CHECK_THAT(message(replaced(text, "NV18", "FAST")),
             Catch::Contains("'FAST' is not a connection"));
  CHECK_THAT(message("No devices were found\n"), Catch::Contains("no header line"));
  CHECK_THAT(message("\tGPU0\tGPU1\nGPU0\t X \tNV4\n"), Catch::Contains("no row for GPU1"));
  CHECK_THAT(message("\tGPU0\tGPU1\nGPU0\tNV4\t X \nGPU1\t X \tNV4\n"),
             Catch::Contains("the diagonal"));
  CHECK_THAT(message("\tGPU0\tGPU1\nGPU0\t X \n"), Catch::Contains("has 1 cells"));
  CHECK_THAT(message(std::string("\tGPU0\0", 6)), Catch::Contains("zero byte"));
}

}  // namespace foretrain
