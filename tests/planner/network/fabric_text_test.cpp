// SPDX-License-Identifier: Apache-2.0
#include "planner/network/fabric_text.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "planner/network/fabric_chart.hpp"
#include "planner/text/usage_error.hpp"
#include "tests/test_text.hpp"

using namespace foretrain;

namespace {

FabricReport report_of(std::vector<std::string> overrides = {},
                       const std::vector<std::string>& failures = {},
                       const std::string& file = "llama2-70b-1024xh100.yaml") {
  return judge_fabric(
      load_scenario(FORETRAIN_SOURCE_DIR "/scenarios/" + file, {std::move(overrides), {}}),
      failures);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("fabric: the report of 1024 H100 is the reference architecture's four units",
          "[planner][fabric]") {
  // 32 leaves, 16 spines and 1024 cables of each tier: DGX SuperPOD reference architecture.
  const FabricReport report = report_of();
  CHECK(report.fabric.count(NodeKind::leaf) == 32);
  CHECK(report.fabric.count(NodeKind::spine) == 16);
  CHECK_FALSE(report.disconnected);
  CHECK(report.bisection.value().in(TBps) == Approx(512 * 0.05));
  CHECK(report.closed_form.value().in(TBps) == Approx(512 * 0.05));
  CHECK(report.disjoint_paths == 8);
  CHECK(report.single_points.empty());
  const std::string text = answer_text(fabric_answer(report));
  CHECK(test::has(text, "leaf-spine  1,024  50.0 GB/s"));
  CHECK(test::has(text, "none: no switch"));
}

TEST_CASE("fabric: no line is wider than the screen, at any size", "[planner][fabric]") {
  const TextStyle style{GENERATE(60, 80, 120), false, false};
  for (const char* file :
       {"llama2-70b-1024xh100.yaml", "llama3-8b-8xh100.yaml", "llama3.1-405b-16384xh100.yaml"}) {
    std::istringstream lines(
        answer_text(fabric_answer(report_of({}, {"leaf0-nic0.0"}, file)), style));
    for (std::string line; std::getline(lines, line);)
      CHECK(static_cast<int>(line.size()) <= style.width);
  }
}

TEST_CASE("fabric: oversubscription shows in the bisection", "[planner][fabric]") {
  const FabricReport half =
      report_of({"cluster.fabric.kind=fat-tree", "cluster.fabric.oversubscription=2"});
  // Formula: the worst halving keeps leaves whole, and every leaf has half the cables up. Flow:
  // the middle of the hosts may lie within a leaf, whose hosts then meet below it.
  CHECK(half.closed_form->in(TBps) == Approx(0.5 * 512 * 0.05).epsilon(0.03));
  CHECK(*half.bisection >= *half.closed_form * (1.0 - 1e-9));
  CHECK(half.bisection->in(TBps) < 0.6 * 512 * 0.05);
}

TEST_CASE("fabric: a lost spine takes its share of the bisection and of every count",
          "[planner][fabric]") {
  const FabricReport report = report_of({}, {"spine0"});
  CHECK(report.bisection->in(TBps) == Approx(15.0 / 16.0 * 25.6));
  const auto json = nlohmann::json::parse(fabric_json(report));
  CHECK(json["schema"] == "fabric/1");
  CHECK(json["failures"] == std::vector<std::string>{"spine0"});
  CHECK(json["cables"][3]["kind"] == "leaf-spine");
  CHECK(json["cables"][3]["down"] == 64);
  CHECK(json["checks"]["connected"] == true);
  CHECK(json["checks"]["bisection_bytes_per_s"].get<double>() == Approx(24e12));
}

TEST_CASE("fabric: a cut fabric is reported, with no figure that needs a whole one",
          "[planner][fabric]") {
  const FabricReport report = report_of({"cluster.fabric.kind=fat-tree"}, {"leaf2"});
  REQUIRE(report.disconnected);
  CHECK(test::has(answer_text(fabric_answer(report)), "NO: the fabric is disconnected"));
  CHECK_FALSE(test::has(answer_text(fabric_answer(report)), "bisection"));
  const auto json = nlohmann::json::parse(fabric_json(report));
  CHECK(json["checks"]["connected"] == false);
  CHECK(json["checks"]["diameter_links"].is_null());
  CHECK(json["checks"]["bisection_bytes_per_s"].is_null());
  CHECK(json["checks"]["single_points_of_failure"].is_null());
}

TEST_CASE("fabric: an unknown failure is refused with the names there are", "[planner][fabric]") {
  CHECK_THROWS_AS(report_of({}, {"spine16"}), UsageError);
  CHECK_THROWS_AS(report_of({}, {"spine0", ""}), UsageError);
  try {
    (void)report_of({}, {"spine16"});
  } catch (const UsageError& error) {
    CHECK(test::has(error.what(), "no node and no cable named 'spine16'"));
    CHECK(test::has(error.what(), "spine0 to spine15"));
  }
}

TEST_CASE("fabric: Graphviz gets every node once, and every pair of joined nodes once",
          "[planner][fabric]") {
  const std::string dot = fabric_dot(report_of({}, {"leaf0-spine0"}));
  // 128 hosts on 8 leaves each, 32 leaves on 16 spines each.
  CHECK(count(dot, " -- ") == 128 * 8 + 32 * 16);
  CHECK(test::has(dot, "  leaf1 -- spine0 [label=\"2 x 50.0 GB/s\"];\n"));
  CHECK(count(dot, "color=red") == 1);
  CHECK(test::has(dot, "  host127;\n"));
  CHECK(dot.starts_with("graph fabric {\n"));
  CHECK(dot.ends_with("}\n"));
}

TEST_CASE("fabric: the picture has a box per node or group, and red where something is down",
          "[planner][fabric]") {
  const std::string whole = fabric_svg(report_of());
  // 16 spines, 32 leaves, 128 hosts in 32 boxes of four, and the background.
  CHECK(count(whole, "<rect") == 16 + 32 + 32 + 1);
  const std::string bad = look_of(Ink::bad).paint.light;
  CHECK_FALSE(test::has(whole, bad));
  const std::string hurt = fabric_svg(report_of({}, {"spine0"}));
  CHECK(count(hurt, "<rect") == count(whole, "<rect"));
  CHECK(test::has(hurt, "Spine 0, 1 cut off"));
  // The spine and its outline, and its lines to 32 leaves.
  CHECK(count(hurt, bad) == 2 + 32);
}

TEST_CASE("fabric: what a scenario takes away for good is down, with what flags add",
          "[planner][fabric]") {
  const FabricReport report = report_of(
      {"simulation.disturbances=[{kind: node-down, target: spine0}, {kind: link-down, target: "
       "leaf0-spine1, lasts: 1 ms}, {kind: straggler, target: host0, factor: 0.5}]"},
      {"spine3"});
  CHECK(report.failures == std::vector<std::string>{"spine0", "spine3"});
  CHECK(report.bisection->in(TBps) == Approx(14.0 / 16.0 * 25.6));
}

TEST_CASE("fabric: a torus and a dragonfly are described by their sizes", "[planner][fabric]") {
  const TextStyle wide{120, false, false};
  const FabricReport torus = report_of(
      {"cluster.fabric={kind: torus, preset: ib-ndr, torus: {size: [8, 4, 4], channel: 3.2 "
       "Tbit/s}}"});
  CHECK(test::has(answer_text(fabric_answer(torus), wide), "torus of 8 x 4 x 4"));
  CHECK_FALSE(test::has(answer_text(fabric_answer(torus), wide), "tiers"));
  CHECK(nlohmann::json::parse(fabric_json(torus))["tiers"].is_null());
  CHECK(torus.fabric.count(NodeKind::leaf) == 128);
  const FabricReport dragonfly = report_of(
      {"cluster.fabric={kind: dragonfly, preset: ib-ndr, dragonfly: {groups: 8, routers: 16, "
       "nics_per_router: 8, global_ports: 4, plus: true}}"});
  CHECK(test::has(answer_text(fabric_answer(dragonfly), wide),
                  "dragonfly+ of 8 groups with 16 leaves and as many"));
  const FabricReport rails = report_of({"cluster.fabric.kind=rail-only"});
  CHECK(test::has(answer_text(fabric_answer(rails), wide), "tiers of switches per rail"));
  CHECK(rails.fabric.planes == 8);
}
