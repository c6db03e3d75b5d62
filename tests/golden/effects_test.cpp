// SPDX-License-Identifier: Apache-2.0
// What only shows when flows meet: every scenario of scenarios/effects against its recorded step,
// and the claim that scenarios/effects/README.md makes of it. FORETRAIN_UPDATE_GOLDEN=1 rewrites
// the record.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "models/forecast/closed_form.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "sim/step/event_forecast.hpp"
#include "topologies/fabrics/clos.hpp"

using namespace foretrain;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

const fs::path effects_folder = fs::path{FORETRAIN_SOURCE_DIR} / "scenarios/effects";
const fs::path record_file = fs::path{FORETRAIN_SOURCE_DIR} / "tests/golden/effects.json";
constexpr double effects_tolerance = 1e-9;

struct Played {
  StepForecast step;
  double tflops = 0.0;  ///< of the model, per GPU
  std::vector<LinkUse> links;
};

Played played(const std::string& name, std::vector<std::string> overrides = {}) {
  const Scenario scenario =
      load_scenario(effects_folder / (name + ".yaml"), {std::move(overrides), {}});
  const auto fabric = build_fabric(fabric_spec(scenario.job.cluster));
  REQUIRE(std::holds_alternative<Fabric>(fabric));
  const EventForecast forecast = event_forecast(scenario.job, std::get<Fabric>(fabric));
  for (const Infeasible& reason : forecast.prediction.reasons) FAIL(reason.message);
  REQUIRE(forecast.prediction.step.has_value());
  REQUIRE(forecast.prediction.efficiency.has_value());
  return {*forecast.prediction.step, forecast.prediction.efficiency->model_tflops_per_gpu,
          forecast.prediction.links};
}

double data(const Played& run) { return run.step.breakdown.data.value(); }

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(effects_folder))
    if (entry.path().extension() == ".yaml") found.push_back(entry.path().stem().string());
  std::sort(found.begin(), found.end());
  return found;
}

ordered_json record_of(const Played& run) {
  const TimeBreakdown& parts = run.step.breakdown;
  ordered_json links = ordered_json::array();
  for (const LinkUse& link : run.links) {
    if (links.size() == 4) break;
    links.push_back({{"name", link.name}, {"utilisation", link.utilisation}});
  }
  return {{"time_s", run.step.time.value()},  {"compute_s", parts.compute.value()},
          {"tensor_s", parts.tensor.value()}, {"expert_s", parts.expert.value()},
          {"data_s", parts.data.value()},     {"busiest_links", links}};
}

/// Paths of numbers that moved and of everything else that differs.
std::vector<std::string> differences(const ordered_json& was, const ordered_json& is) {
  std::vector<std::string> found;
  const ordered_json before = was.flatten();
  const ordered_json after = is.flatten();
  for (const auto& [path, value] : after.items()) {
    const bool number = value.is_number() && before.contains(path) && before[path].is_number();
    const bool same =
        number ? value.get<double>() ==
                     Approx(before[path].get<double>()).epsilon(effects_tolerance).margin(1e-15)
               : before.contains(path) && before[path] == value;
    if (!same) found.push_back(path);
  }
  for (const auto& entry : before.items())
    if (!after.contains(entry.key())) found.push_back(entry.key());
  return found;
}

/// "0.410 v 0.205 s: 2.00"
std::string against(Seconds one, Seconds other) {
  return fmt::format("{:.3f} v {:.3f} s: {:.2f}", one.value(), other.value(), one / other);
}

std::string data_against(const Played& one, const Played& other) {
  return against(one.step.breakdown.data, other.step.breakdown.data);
}

/// What scenarios/effects/README.md shows in its column of figures, by scenario.
std::vector<std::pair<std::string, std::string>> figures() {
  std::vector<std::pair<std::string, std::string>> result;
  const auto add = [&](const char* name, std::string figure) {
    result.emplace_back(name, std::move(figure));
  };
  const Played base = played("base");
  add("ecmp-collision", data_against(played("ecmp-collision"),
                                     played("ecmp-collision", {"simulation.routing=adaptive"})));
  const Played half = played("oversubscribed-experts");
  const Played full = played("oversubscribed-experts", {"cluster.fabric.oversubscription=1"});
  add("oversubscribed-experts", against(half.step.breakdown.expert, full.step.breakdown.expert) +
                                    "; " + data_against(half, full));
  add("scrambled-ranks", data_against(played("scrambled-ranks"),
                                      played("scrambled-ranks", {"simulation.placement=packed"})));
  const Played slow = played("straggler");
  const TimeBreakdown& parts = base.step.breakdown;
  add("straggler",
      fmt::format("{:.3f} v {:.3f} s: + {:.3f} s, of {:.3f} s computed", slow.step.time.value(),
                  base.step.time.value(), (slow.step.time - base.step.time).value(),
                  (parts.compute + parts.optimizer).value()));
  const Played dead = played("dead-rail");
  const std::string link = dead.links.empty() ? "" : dead.links.front().name;
  add("dead-rail", data_against(dead, played("dead-rail", {"simulation.disturbances=[]"})) +
                       ", at " + link.substr(link.find('>') + 1));
  const auto split = [](const char* tensor, const char* pipeline) {
    return played("tensor-across-hosts", {std::string("parallel.tensor=") + tensor,
                                          std::string("parallel.pipeline=") + pipeline})
        .tflops;
  };
  add("tensor-across-hosts",
      fmt::format("{:.0f} v {:.0f} ({:.0f} with 16 x 4)", played("tensor-across-hosts").tflops,
                  split("8", "8"), split("16", "4")));
  return result;
}

/// The figure's cell of a row of the table replaced; the row itself when it is another one.
std::string with_figure(const std::string& row, const std::string& name,
                        const std::string& figure) {
  if (!row.starts_with("| `" + name + "` |")) return row;
  std::size_t start = 0;
  for (int cell = 0; cell < 4; ++cell) start = row.find('|', start) + 1;
  const std::size_t end = row.find('|', start);
  return row.substr(0, start) + " " + figure + " " + row.substr(end);
}

}  // namespace

TEST_CASE("effects: the README's figures are what the engine plays", "[golden][effects]") {
  const fs::path page = effects_folder / "README.md";
  std::ifstream stream{page};
  REQUIRE(stream.good());
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  std::string fresh;
  std::istringstream lines(text);
  const auto shown = figures();
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line);) {
    for (const auto& [name, figure] : shown) {
      rows += line.starts_with("| `" + name + "` |") ? 1 : 0;
      line = with_figure(line, name, figure);
    }
    fresh += line + "\n";
  }
  CHECK(rows == names().size() - 1);  // base has no row
  if (std::getenv("FORETRAIN_UPDATE_GOLDEN") != nullptr)
    std::ofstream{page} << fresh;
  else
    CHECK(text == fresh);
}

TEST_CASE("effects: every scenario plays as it was recorded", "[golden][effects]") {
  ordered_json record;
  for (const std::string& name : names()) record[name] = record_of(played(name));
  if (std::getenv("FORETRAIN_UPDATE_GOLDEN") != nullptr) {
    std::ofstream{record_file} << record.dump(2) << '\n';
    return;
  }
  std::ifstream stream{record_file};
  REQUIRE(stream.good());
  CHECK_THAT(differences(ordered_json::parse(stream), record),
             Catch::Matchers::Equals(std::vector<std::string>{}));
}

TEST_CASE("effects: an ECMP collision halves a ring", "[golden][effects]") {
  // One uplink gets the flows of two rings while others are idle: each ring gets half, and it goes
  // as fast as its slowest hop.
  const Played collided = played("ecmp-collision");
  const Played spread = played("ecmp-collision", {"simulation.routing=adaptive"});
  CHECK(data(collided) == Approx(2.0 * data(spread)).epsilon(0.01));
  CHECK(data(spread) == Approx(data(played("base"))).epsilon(1e-6));
}

TEST_CASE("effects: 2:1 oversubscription hurts all-to-all more than a ring", "[golden][effects]") {
  // Most of what an all-to-all sends leaves its leaf, over half as many cables; of a packed ring
  // one hop per leaf does, and half the cables are enough for that.
  const std::string name = "oversubscribed-experts";
  const Played half = played(name);
  const Played full = played(name, {"cluster.fabric.oversubscription=1"});
  const auto expert = [](const Played& run) { return run.step.breakdown.expert.value(); };
  CHECK(expert(half) > 1.3 * expert(full));
  CHECK(data(half) < 1.05 * data(full));
}

TEST_CASE("effects: ranks scrambled over racks slow the data-parallel ring", "[golden][effects]") {
  // Every hop of the ring now crosses leaves, and two hosts share the uplinks of one.
  const Played scrambled = played("scrambled-ranks");
  const Played packed = played("scrambled-ranks", {"simulation.placement=packed"});
  CHECK(data(packed) == Approx(data(played("base"))).epsilon(1e-6));
  CHECK(data(scrambled) > 1.5 * data(packed));
  CHECK(data(scrambled) < 2.5 * data(packed));
}

TEST_CASE("effects: one straggler at 0.8x slows the whole job to its pace", "[golden][effects]") {
  // Replicas meet at the gradients, so all eight hosts wait for the one: what is computed takes
  // 1/0.8 as long for everybody, not an eighth of that on average.
  const Played slow = played("straggler");
  const Played whole = played("base");
  const TimeBreakdown& parts = whole.step.breakdown;
  const double computed = (parts.compute + parts.optimizer).value();
  CHECK((slow.step.time - whole.step.time).value() == Approx(0.25 * computed).epsilon(0.02));
}

TEST_CASE("effects: a dead rail moves traffic to the neighbour rail", "[golden][effects]") {
  // Rail 0's GPUs reach the NIC beside them over NVLink; that rail carries two rings.
  const Played dead = played("dead-rail");
  const Played whole = played("dead-rail", {"simulation.disturbances=[]"});
  CHECK(data(dead) == Approx(2.0 * data(whole)).epsilon(0.01));
  for (const LinkUse& link : dead.links) {
    CAPTURE(link.name);
    CHECK(link.name.find("leaf0") == std::string::npos);
  }
  REQUIRE_FALSE(dead.links.empty());
  CHECK(dead.links.front().name.find("leaf1") != std::string::npos);
}

TEST_CASE("effects: tensor parallelism across hosts collapses", "[golden][effects]") {
  // Megatron at SC21 (arXiv 2104.04473, figure 13): per-GPU throughput peaks where tensor
  // parallelism fills a host and pipelines go between hosts.
  const auto with = [](int tensor, int pipeline) {
    return played("tensor-across-hosts", {"parallel.tensor=" + std::to_string(tensor),
                                          "parallel.pipeline=" + std::to_string(pipeline)});
  };
  const Played inside = with(8, 8);
  const Played two = with(16, 4);
  const Played four = with(32, 2);
  CHECK(two.tflops < 0.9 * inside.tflops);
  CHECK(four.tflops < 0.7 * inside.tflops);
  CHECK(four.step.breakdown.tensor > 5.0 * inside.step.breakdown.tensor);
}

TEST_CASE("effects: dragonfly and torus cost the closed form what the engine plays",
          "[golden][effects]") {
  // Rings meet on the cables that the formula counts; an all-to-all's busiest cable has up to a
  // tenth more than the mean that the formula takes.
  const auto check = [](const char* name, double most) {
    Job job = load_scenario(effects_folder / (std::string(name) + ".yaml")).job;
    Network& network = job.cluster.network;
    network.oversubscription = 1.0;
    SECTION("torus, 1.6 Tbit/s") {
      network.kind = FabricKind::torus;
      network.torus = {{4, 2}, 1600 * Gbps};
    }
    SECTION("dragonfly") {
      network.kind = FabricKind::dragonfly;
      network.dragonfly = {2, 4, 8, 2};
    }
    SECTION("dragonfly+") {
      network.kind = FabricKind::dragonfly;
      network.dragonfly = {2, 4, 8, 2, true};
    }
    if (network.kind == FabricKind::leaf_spine) return;
    REQUIRE(!size_network(job.cluster, network.switch_radix));
    const Prediction priced = closed_form(job);
    const EventForecast forecast =
        event_forecast(job, std::get<Fabric>(build_fabric(fabric_spec(job.cluster))));
    REQUIRE((priced.step && forecast.prediction.step));
    CAPTURE(name, name_of(network.kind));
    CHECK(forecast.prediction.step->time / priced.step->time >= 1.0 - 1e-6);
    CHECK(forecast.prediction.step->time / priced.step->time <= most);
  };
  SECTION("a ring") { check("base", 1.0 + 1e-6); }
  SECTION("an all-to-all") { check("oversubscribed-experts", 1.1); }
}
