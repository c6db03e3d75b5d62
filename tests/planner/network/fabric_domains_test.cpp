// SPDX-License-Identifier: Apache-2.0
// How racks are drawn and told.
#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>

#include "planner/network/fabric_chart.hpp"
#include "planner/network/fabric_picture.hpp"
#include "planner/network/fabric_text.hpp"
#include "tests/test_text.hpp"
#include "topologies/fabrics/fabric_checks.hpp"

namespace foretrain {
namespace {

FabricReport rack_report(int hosts, int domain_gpus,
                         const std::vector<std::string>& failures = {}) {
  return judge_fabric(load_scenario(FORETRAIN_SOURCE_DIR "/scenarios/deepseek-v3-256xgb300.yaml",
                                    {{"cluster.hosts=" + std::to_string(hosts),
                                      "cluster.domain=" + std::to_string(domain_gpus)},
                                     {}}),
                      failures);
}

FabricPicture rack_picture(const FabricReport& report, int most_boxes = 32) {
  return fabric_picture(report.fabric, report.down, report.use, most_boxes);
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("racks: every frame holds the hosts of its domains and no others",
          "[planner][fabric][domain][property]") {
  for (const auto& [hosts, domain] : {std::pair{18, 72}, {64, 64}, {40, 72}, {288, 72}, {1152, 72}})
    for (const int most : {4, 32, 2000}) {
      const FabricReport report = rack_report(hosts, domain);
      const FabricPicture picture = rack_picture(report, most);
      CAPTURE(hosts, domain, most);
      const FabricTier& boxes = picture.tiers[picture.hosts()];
      REQUIRE(boxes.kind == NodeKind::nic);
      REQUIRE(static_cast<int>(picture.domains.size()) == picture.tiers.back().boxes);
      CHECK(boxes.boxes <= std::max(most, report.fabric.count(NodeKind::host_switch)));
      int next_box = 0;
      int gpus = 0;
      for (const FabricDomain& one : picture.domains) {
        CHECK(one.first_box == next_box);
        next_box = one.last_box + 1;
        CHECK(boxes.first_of(one.first_box) % (domain / 4) == 0);
        CHECK(boxes.first_of(one.first_box) * 4 == gpus);
        gpus += one.gpus;
        CHECK(one.places % 72 == 0);
        CHECK(one.places >= one.gpus);
      }
      CHECK(next_box == boxes.boxes);
      CHECK(gpus == report.fabric.gpus());
    }
}

TEST_CASE("racks: lines between hosts and their NVSwitch are every NVLink of a GPU",
          "[planner][fabric][domain]") {
  const FabricPicture picture = rack_picture(rack_report(64, 64));
  int cables = 0;
  for (const FabricLine& line : picture.lines) {
    if (line.below.tier != picture.hosts() + 1) continue;
    CHECK(line.above.tier == picture.hosts());
    CHECK(line.above.box / 8 == line.below.box);  // two hosts a box, sixteen a domain
    CHECK(line.rate.in(GBps) == Approx(900.0));
    cables += line.cables;
  }
  CHECK(cables == 256);
}

TEST_CASE("racks: an NVSwitch that is down is red, and the trays keep their network",
          "[planner][fabric][domain]") {
  const FabricReport report = rack_report(64, 64, {"nvswitch2"});
  CHECK_FALSE(report.disconnected);
  const FabricPicture picture = rack_picture(report);
  CHECK(picture.cut_off.back() == std::vector<int>{0, 0, 1, 0});
  const auto& hosts = picture.cut_off[picture.hosts()];
  CHECK(std::count(hosts.begin(), hosts.end(), 0) == 32);
  const std::string svg = fabric_svg(report);
  CHECK(test::has(svg, "NVLink domain 2: 64 of 72 GPUs, NVSwitch down"));
  CHECK(occurrences(svg, "NVSwitch down") == 1);
  // It and its outline, and its lines to eight boxes of hosts.
  CHECK(occurrences(svg, look_of(Ink::bad).paint.light) == 2 + 8);
}

TEST_CASE("racks: the picture has a frame for each and says how much of it is used",
          "[planner][fabric][domain]") {
  CHECK(occurrences(fabric_svg(rack_report(18, 72)), ">NVLink domain 0: 72 GPUs</text>") == 1);
  const std::string four = fabric_svg(rack_report(64, 64));
  for (int rack = 0; rack < 4; ++rack)
    CHECK(occurrences(four, ">NVLink domain " + std::to_string(rack) + ": 64 of 72 GPUs</text>") ==
          1);
  const std::string sixteen = fabric_svg(rack_report(288, 72));
  CHECK(occurrences(sixteen, "<title>NVLink domain") == 16);
  CHECK(occurrences(sixteen, ">domain 15</text>") == 1);
  CHECK(occurrences(sixteen, ">domain 0</text>") == 1);
}

TEST_CASE("racks: text, JSON and Graphviz tell domains", "[planner][fabric][domain]") {
  const FabricReport report = rack_report(64, 64);
  std::istringstream lines(answer_text(fabric_answer(report), {80, false, false}));
  std::string text;
  for (std::string line; std::getline(lines, line); text += line + "\n") CHECK(line.size() <= 80);
  CHECK(test::has(text, "4 NVLink domains, each 64 of 72 GPUs (16 of 18 hosts), 900 GB/s"));
  CHECK(test::has(answer_text(fabric_answer(rack_report(40, 72)), {200, false, false}),
                  "the last has 16 GPUs"));
  CHECK(test::has(fabric_json(report), "\"domain_places\": 18"));
  const std::string dot = fabric_dot(report);
  CHECK(occurrences(dot, "subgraph cluster_nvswitch") == 4);
  CHECK(occurrences(dot, "4 x 900 GB/s") == 64);
}

TEST_CASE("racks: two trays of a rack have their own links as ways to each other, not the rack's",
          "[planner][fabric][domain]") {
  // Four NVLinks and four NICs of a tray.
  CHECK(rack_report(18, 72).disjoint_paths == 8);
  CHECK(rack_report(64, 64).disjoint_paths == 8);
}

}  // namespace foretrain
