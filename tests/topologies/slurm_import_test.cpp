// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/topologies/import_fixtures.hpp"
#include "topologies/imports/fabric_shape.hpp"

namespace foretrain {
namespace {

using test::fixture;
using test::refusal;

SwitchTree tree_of(const std::string& text) {
  ImportNotes notes;
  return import_slurm_topology(text, notes);
}

FoundFabric shape_of(const std::string& text, int nics, ShapeRequest request = {}) {
  ImportNotes notes;
  request.nics_per_host = nics;
  request.gpus_per_host = 8;
  if (request.switch_radix == 0) request.switch_radix = 64;
  return shape_of_tree(tree_of(text), request, notes);
}

}  // namespace

TEST_CASE("host lists: the forms of Slurm's documentation", "[topologies][imports]") {
  using Names = std::vector<std::string>;
  CHECK(expand_hostlist("tux[0-3,12,18-20]", 1) ==
        Names{"tux0", "tux1", "tux2", "tux3", "tux12", "tux18", "tux19", "tux20"});
  CHECK(expand_hostlist("n[008-010],login", 1) == Names{"n008", "n009", "n010", "login"});
  CHECK(expand_hostlist("r[1-2]n[0-1]x", 1) == Names{"r1n0x", "r1n1x", "r2n0x", "r2n1x"});
  for (const char* broken : {"a[1-2", "a]1", "a[2-1]", "a[x]", "a[]", "a,,b", "a[1-", ""})
    CHECK_THROWS_AS(expand_hostlist(broken, 1), ImportError);
}

TEST_CASE("host lists: a short text cannot name a million hosts", "[topologies][imports]") {
  CHECK_THROWS_AS(expand_hostlist("a[0-99999999]", 1), ImportError);
  CHECK_THROWS_AS(expand_hostlist("a[0-999][0-999][0-999]", 1), ImportError);
}

TEST_CASE("Slurm: case, comments, padding and joined lines are read", "[topologies][imports]") {
  ImportNotes notes;
  const SwitchTree tree = import_slurm_topology(fixture("slurm_two_levels.conf"), notes);
  CHECK(tree.hosts == 60);
  REQUIRE(tree.switches.size() == 5);
  CHECK(tree.switches[3].hosts.front() == "gpu049");
  CHECK(tree.switches[3].line == 5);
  CHECK(tree.switches[4].switches.size() == 4);
  REQUIRE(notes.ignored.size() == 1);
}

TEST_CASE("Slurm: leaves of one-NIC hosts are a leaf-spine network", "[topologies][imports]") {
  const auto found = shape_of(fixture("slurm_two_levels.conf"), 1);
  const auto& shape = std::get<FabricShape>(found);
  CHECK(shape.kind == FabricKind::leaf_spine);
  CHECK(shape.network.leaves == 4);
  CHECK(shape.network.tiers == 2);
}

TEST_CASE("Slurm: units of 32 eight-NIC hosts are the rails of a SuperPOD",
          "[topologies][imports]") {
  // DGX SuperPOD reference architecture: 4 scalable units of 32 hosts have 32 leaves, 16 spines.
  const auto found = shape_of(fixture("slurm_units.conf"), 8);
  const auto& shape = std::get<FabricShape>(found);
  CHECK(shape.kind == FabricKind::rail_optimized);
  CHECK(shape.switch_radix == 64);
  CHECK(shape.network.leaves == 32);
  CHECK(shape.network.spines == 16);
  CHECK(shape.network.hosts_per_leaf == 32);
}

TEST_CASE("Slurm: three levels are a fat-tree with the pods of the tree", "[topologies][imports]") {
  std::string text;
  for (int pod = 0; pod < 4; ++pod) {
    for (int leaf = 0; leaf < 2; ++leaf) {
      const int first = 2 * (2 * pod + leaf);
      text += "SwitchName=l" + std::to_string(2 * pod + leaf) + " Nodes=n[" +
              std::to_string(first) + "-" + std::to_string(first + 1) + "]\n";
    }
    text += "SwitchName=p" + std::to_string(pod) + " Switches=l[" + std::to_string(2 * pod) + "-" +
            std::to_string(2 * pod + 1) + "]\n";
  }
  text += "SwitchName=top Switches=p[0-3]\n";
  // The 4-port fat-tree of Al-Fares et al., SIGCOMM 2008: 16 hosts, 8 edge switches in 4 pods.
  const auto found = shape_of(text, 1);
  const auto& shape = std::get<FabricShape>(found);
  CHECK(shape.kind == FabricKind::fat_tree);
  CHECK(shape.switch_radix == 4);
  CHECK(shape.network.leaves == 8);
  CHECK(shape.network.pods == 4);
  CHECK(shape.network.spines == 8);
  CHECK(shape.network.cores == 4);
}

TEST_CASE("Slurm: a tree that is not even names the switch and offers the nearest shape",
          "[topologies][imports]") {
  const auto found = shape_of(fixture("slurm_irregular.conf"), 1);
  const auto& irregular = std::get<IrregularFabric>(found);
  CHECK(irregular.switch_name == "d");
  CHECK(irregular.line == 4);
  CHECK_THAT(irregular.reason, Catch::Contains("6 nodes where most have 16"));
  REQUIRE(irregular.nearest);
  CHECK(irregular.nearest->hosts == 42);
  CHECK(irregular.nearest->network.leaves == 4);
}

TEST_CASE("Slurm: what is wrong is told with its line", "[topologies][imports]") {
  const auto message = [](const std::string& text, int line) {
    const ImportError error = refusal([&] { (void)tree_of(text); });
    CHECK(error.line() == line);
    return std::string(error.what());
  };
  CHECK_THAT(message("\n", 0), Catch::Contains("no line SwitchName"));
  CHECK_THAT(message("BlockName=b Nodes=n1\n", 1), Catch::Contains("topology/block"));
  CHECK_THAT(message("Include other.conf\n", 1), Catch::Contains("another file"));
  CHECK_THAT(message("Nodes=n1\n", 1), Catch::Contains("SwitchName=NAME belongs there"));
  CHECK_THAT(message("\nSwitchName=a\n", 2), Catch::Contains("neither Nodes= nor Switches="));
  CHECK_THAT(message("SwitchName=a Nodes=n1 Switches=b\n", 1), Catch::Contains("both"));
  CHECK_THAT(message("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", 2),
             Catch::Contains("a second switch 'a'"));
  CHECK_THAT(message("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n", 2),
             Catch::Contains("below two switches"));
  CHECK_THAT(message("SwitchName=a Switches=b\n", 1), Catch::Contains("no line SwitchName=b"));
  CHECK_THAT(message("SwitchName=a Switches=b\nSwitchName=b Switches=a\n", 1),
             Catch::Contains("below itself"));
  CHECK_THAT(message("SwitchName=a Nodes=n1 Colour=red\n", 1), Catch::Contains("unknown key"));
  CHECK_THAT(message("SwitchName=a Nodes=n1\n\x1b[31m\n", 2), Catch::Contains("'?[31m'"));
}

TEST_CASE("Slurm: parts that nothing joins are refused", "[topologies][imports]") {
  const ImportError error =
      refusal([&] { (void)shape_of("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n", 1); });
  CHECK(error.line() == 2);
  CHECK_THAT(error.what(), Catch::Contains("nothing above them"));
}

}  // namespace foretrain
