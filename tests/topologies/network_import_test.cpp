// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <map>
#include <sstream>

#include "tests/topologies/fabric_specs.hpp"
#include "tests/topologies/import_fixtures.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/fabrics/fabric_checks.hpp"
#include "topologies/imports/network_description.hpp"

namespace foretrain {
namespace {

using test::fixture;
using test::refusal;
using test::replaced;

FoundFabric discovered(const std::string& text) {
  ImportNotes notes;
  return recognise_fabric(import_ibnetdiscover(text, notes), 8, notes);
}

FabricSpec clos(FabricKind kind, int hosts, int nics, int radix, double ratio) {
  FabricSpec spec;
  spec.hosts = hosts;
  spec.host = {8, ScaleUpKind::nvswitch, 450 * GBps, 63 * GBps, nics, 400 * Gbps, {}};
  spec.network = ClosShape{kind, radix, ratio, 1.0, false};
  return spec;
}

/// A fabric of ours as ibnetdiscover would print it.
std::string as_ibnetdiscover(const Fabric& fabric, int radix) {
  std::map<NodeId, std::vector<std::pair<int, std::pair<NodeId, int>>>> cables;
  std::map<NodeId, int> used;
  for (LinkId link = fabric.first_nic_link; link < fabric.links(); link += 2) {
    const auto i = static_cast<std::size_t>(link);
    const NodeId a = fabric.from[i];
    const NodeId b = fabric.to[i];
    const int port_a = ++used[a];
    const int port_b = ++used[b];
    cables[a].push_back({port_a, {b, port_b}});
    cables[b].push_back({port_b, {a, port_a}});
  }
  const auto is_switch = [&](NodeId node) { return fabric.kind_of(node) != NodeKind::nic; };
  const auto description = [&](NodeId node) {
    if (is_switch(node)) return node_name(fabric, node);
    const int nic = node - fabric.node(NodeKind::nic, 0);
    return "host" + std::to_string(nic / fabric.spec.host.nics) + " mlx5_" +
           std::to_string(nic % fabric.spec.host.nics);
  };
  const auto id = [&](NodeId node) {
    return std::string(is_switch(node) ? "\"S-" : "\"H-") + std::to_string(node) + "\"";
  };
  std::ostringstream text;
  for (const auto& [node, ends] : cables) {
    text << (is_switch(node) ? "Switch\t" : "Ca\t") << (is_switch(node) ? radix : 1) << " "
         << id(node) << "\t\t# \"" << description(node) << "\" base port 0 lid 1 lmc 0\n";
    for (const auto& [port, end] : ends)
      text << "[" << port << "]\t" << id(end.first) << "[" << end.second << "]\t\t# \""
           << description(end.first) << "\" lid 2 4xNDR\n";
    text << "\n";
  }
  return text.str();
}

}  // namespace

TEST_CASE("recognised fabrics: what we build is found again from its cables",
          "[topologies][imports][property]") {
  struct Case {
    FabricKind kind;
    int hosts, nics, radix;
    double ratio;
  };
  const auto wanted = GENERATE(
      Case{FabricKind::single_switch, 8, 8, 64, 1.0}, Case{FabricKind::leaf_spine, 16, 1, 8, 1.0},
      Case{FabricKind::leaf_spine, 60, 1, 20, 3.0}, Case{FabricKind::leaf_spine, 16, 4, 32, 1.0},
      Case{FabricKind::fat_tree, 16, 1, 4, 1.0}, Case{FabricKind::fat_tree, 128, 1, 8, 1.0},
      Case{FabricKind::rail_optimized, 64, 8, 64, 1.0},
      Case{FabricKind::rail_optimized, 128, 8, 64, 1.0},
      Case{FabricKind::rail_optimized, 96, 4, 48, 2.0});
  CAPTURE(name_of(wanted.kind), wanted.hosts, wanted.nics, wanted.radix, wanted.ratio);
  const FabricSpec spec = clos(wanted.kind, wanted.hosts, wanted.nics, wanted.radix, wanted.ratio);
  const auto built = build_fabric(spec);
  const auto& fabric = std::get<Fabric>(built);
  const auto found = discovered(as_ibnetdiscover(fabric, wanted.radix));
  REQUIRE(std::holds_alternative<FabricShape>(found));
  const auto& shape = std::get<FabricShape>(found);
  CHECK(shape.kind == wanted.kind);
  CHECK(shape.hosts == wanted.hosts);
  CHECK(shape.nics_per_host == wanted.nics);
  CHECK(shape.gbit_per_second == 400.0);
  CHECK(shape.network.tiers == fabric.clos.tiers);
  CHECK(shape.network.leaves == fabric.clos.leaves);
  CHECK(shape.network.spines == fabric.clos.spines);
  CHECK(shape.network.cores == fabric.clos.cores);
  CHECK(shape.network.nics_per_leaf == fabric.clos.nics_per_leaf);
  CHECK(shape.network.uplinks_per_leaf == fabric.clos.uplinks_per_leaf);
  CHECK(shape.network.cross_leaf_share == Approx(fabric.clos.cross_leaf_share));
  CHECK(shape.network.cross_pod_share == Approx(fabric.clos.cross_pod_share));
}

TEST_CASE("recognised fabrics: separate networks, one per NIC, are rail-only",
          "[topologies][imports]") {
  FabricSpec spec = clos(FabricKind::rail_only, 16, 4, 8, 1.0);
  spec.network = ClosShape{FabricKind::fat_tree, 8, 1.0, 1.0, true};
  const auto built = build_fabric(spec);
  const auto found = discovered(as_ibnetdiscover(std::get<Fabric>(built), 8));
  const auto& shape = std::get<FabricShape>(found);
  CHECK(shape.kind == FabricKind::rail_only);
  CHECK(shape.nics_per_host == 4);
}

TEST_CASE("recognised fabrics: a lost cable names its switch, at its line",
          "[topologies][imports]") {
  const auto found = discovered(fixture("ibnetdiscover_lost_cable.txt"));
  const auto& irregular = std::get<IrregularFabric>(found);
  CHECK(irregular.switch_name == "MF0;leaf2:MQM8700/U1");
  CHECK(irregular.line == 38);
  CHECK(irregular.reason == "has 3 cables up where most of its tier have 4");
  REQUIRE(irregular.nearest);
  CHECK(irregular.nearest->kind == FabricKind::rail_optimized);
}

TEST_CASE("recognised fabrics: an irregular one is found cable by cable", "[topologies][imports]") {
  const FabricSpec spec = switch_mesh();
  const auto found = discovered(as_ibnetdiscover(built(spec), 8));
  const auto& irregular = std::get<IrregularFabric>(found);
  REQUIRE(irregular.found);
  CHECK(irregular.found->refused.empty());
  CHECK(irregular.found->nics_per_host == 2);
  const Fabric again = built(irregular_fabric(spec.host, irregular.found->shape));
  // Switches are numbered as the file has them; hosts keep their order.
  CHECK(again.links() == built(spec).links());
  CHECK(diameter(again) == diameter(built(spec)));
  CHECK(bisection(again) == bisection(built(spec)));
}

TEST_CASE("recognised fabrics: the lost cable is missing from the switches that were found",
          "[topologies][imports]") {
  const auto found = discovered(fixture("ibnetdiscover_lost_cable.txt"));
  const auto& shape = std::get<IrregularFabric>(found).found->shape;
  CHECK(shape.nics.size() == 16);
  int cables = 0;
  int fewer = 0;
  for (const SwitchPair& pair : shape.cables) {
    cables += pair.cables;
    fewer += pair.cables == 1 ? 1 : 0;
  }
  CHECK(cables == 15);
  CHECK(fewer == 1);
}

TEST_CASE("recognised fabrics: a slow cable of an irregular one is refused with its line",
          "[topologies][imports]") {
  const std::string text = fixture("ibnetdiscover_lost_cable.txt");
  const auto found = discovered(
      replaced(text, "[7]\t\"S-843ac5e0f7625dfe\"[5]\t\t# \"MF0;spine1:MQM8700/U1\" lid 6 4xHDR",
               "[7]\t\"S-843ac5e0f7625dfe\"[5]\t\t# \"MF0;spine1:MQM8700/U1\" lid 6 4xEDR"));
  CHECK_THAT(std::get<IrregularFabric>(found).found->refused,
             Catch::Contains("a cable of 100 Gbit/s between switches, where NICs run at 200"));
}

TEST_CASE("recognised fabrics: a cable within a tier is no Clos", "[topologies][imports]") {
  const auto built = build_fabric(clos(FabricKind::leaf_spine, 16, 1, 8, 1.0));
  std::string cables = as_ibnetdiscover(std::get<Fabric>(built), 8);
  cables +=
      "Switch\t8 \"S-9000\"\t\t# \"odd\" base port 0 lid 1 lmc 0\n"
      "[1]\t\"S-9001\"[1]\t\t# \"odd2\" lid 2 4xNDR\n"
      "[2]\t\"H-9002\"[1]\t\t# \"host90 mlx5_0\" lid 2 4xNDR\n"
      "Switch\t8 \"S-9001\"\t\t# \"odd2\" base port 0 lid 1 lmc 0\n"
      "[2]\t\"H-9003\"[1]\t\t# \"host91 mlx5_0\" lid 2 4xNDR\n";
  CHECK_THAT(refusal([&] { (void)discovered(cables); }).what(),
             Catch::Contains("networks that no cable joins"));
  ImportNotes notes;
  const auto alone = recognise_fabric(
      import_ibnetdiscover(cables.substr(cables.find("Switch\t8 \"S-9000\"")), notes), 8, notes);
  const auto& irregular = std::get<IrregularFabric>(alone);
  CHECK_THAT(irregular.reason, Catch::Contains("of its own tier"));
}

TEST_CASE("recognised fabrics: a leaf with half its cables up is 2:1 oversubscribed",
          "[topologies][imports]") {
  const auto found = discovered(fixture("ibnetdiscover_leaf_spine.txt"));
  const auto& shape = std::get<FabricShape>(found);
  CHECK(shape.kind == FabricKind::leaf_spine);
  CHECK(shape.oversubscription == 2.0);
  CHECK(shape.network.spines == 1);
}

TEST_CASE("ibnetdiscover: hosts, rails, aggregation nodes and management hosts",
          "[topologies][imports]") {
  ImportNotes notes;
  const NetworkDescription network =
      import_ibnetdiscover(fixture("ibnetdiscover_rails.txt"), notes);
  CHECK(network.switches.size() == 6);
  CHECK(network.switches.front().ports == 40);
  CHECK(network.hosts.size() == 9);
  CHECK(network.host_cables.size() == 17);
  CHECK(network.switch_cables.size() == 16);
  CHECK(network.host_cables.front().gbit_per_second == 200.0);
  const auto found = recognise_fabric(network, 8, notes);
  CHECK(std::get<FabricShape>(found).kind == FabricKind::rail_optimized);
  REQUIRE(notes.ignored.size() == 2);
  CHECK(notes.ignored[0] == "1 aggregation nodes of switches");
  CHECK(notes.ignored[1] == "1 hosts without 2 NICs: ufm01 (1 NICs)");
}

TEST_CASE("iblinkinfo: both of its forms give the network that ibnetdiscover gives",
          "[topologies][imports]") {
  for (const char* name : {"iblinkinfo_rails.txt", "iblinkinfo_line.txt"}) {
    CAPTURE(name);
    ImportNotes notes;
    const NetworkDescription network = import_iblinkinfo(fixture(name), notes);
    CHECK(network.hosts.size() == 8);
    CHECK(network.host_cables.front().gbit_per_second == 200.0);
    const auto found = recognise_fabric(network, 8, notes);
    const auto& shape = std::get<FabricShape>(found);
    CHECK(shape.kind == FabricKind::rail_optimized);
    CHECK(shape.network.leaves == 4);
    CHECK(shape.network.spines == 2);
  }
}

TEST_CASE("ibnetdiscover: what is wrong is told with its line", "[topologies][imports]") {
  const auto message = [](const std::string& text, int line) {
    const ImportError error = refusal([&] {
      ImportNotes notes;
      (void)import_ibnetdiscover(text, notes);
    });
    CHECK(error.line() == line);
    return std::string(error.what());
  };
  const std::string head = "Switch\t40 \"S-1\"\t# \"leaf\" base port 0 lid 1 lmc 0\n";
  CHECK_THAT(message("", 0), Catch::Contains("no line that begins with Switch"));
  CHECK_THAT(message("hello world\n", 1), Catch::Contains("is not a line of ibnetdiscover"));
  CHECK_THAT(message("Switch many \"S-1\"\n", 1), Catch::Contains("number of ports"));
  CHECK_THAT(message("[1]\t\"S-1\"[1]\n", 1), Catch::Contains("before any Switch"));
  CHECK_THAT(message(head + "[x]\t\"S-2\"[1]\n", 2), Catch::Contains("a port from 0 to 1024"));
  CHECK_THAT(message(head + "[1]\tS-2[1]\n", 2), Catch::Contains("an id in quotes"));
  CHECK_THAT(message(head + "[1]\t\"S-2\"[1]\t# \"spine\" lid 2 4xWARP\n", 2),
             Catch::Contains("not a rate such as 4xHDR"));
  CHECK_THAT(message(head + "[1]\t\"S-1\"[1]\t# \"leaf\" lid 2 4xHDR\n", 2),
             Catch::Contains("leads to itself"));
  CHECK_THAT(message(head + "[1]\t\"S-2\"[1]\t# \"a\" lid 2 4xHDR\n"
                            "[2]\t\"S-2\"[1]\t# \"a\" lid 2 4xHDR\n",
                     3),
             Catch::Contains("elsewhere"));
}

TEST_CASE("iblinkinfo: what is wrong is told with its line", "[topologies][imports]") {
  const auto message = [](const std::string& text, int line) {
    const ImportError error = refusal([&] {
      ImportNotes notes;
      (void)import_iblinkinfo(text, notes);
    });
    CHECK(error.line() == line);
    return std::string(error.what());
  };
  const std::string text = fixture("iblinkinfo_rails.txt");
  CHECK_THAT(message("", 0), Catch::Contains("no link that is up"));
  CHECK_THAT(message("hello\n", 1), Catch::Contains("is not a line of iblinkinfo"));
  CHECK_THAT(message("CA: a:\n 1 1[ ] ==( 4X 1 Gbps\n", 2), Catch::Contains("without )==>"));
  CHECK_THAT(message(replaced(text, "4X          53.125", "4X          77.125"), 2),
             Catch::Contains("is not a link state"));
  CHECK_THAT(message(" 1 1[ ] ==( 4X 53.125 Gbps Active/ LinkUp)==> 2 1[ ] \"a\" ( )\n", 1),
             Catch::Contains("before any Switch"));
  CHECK_THAT(message("CA: a:\n 1 x[ ] ==( 4X 53.125 Gbps Active/ LinkUp)==> 2 1[ ] \"a\" ( )\n", 2),
             Catch::Contains("no LID and port before"));
}

}  // namespace foretrain
