// SPDX-License-Identifier: Apache-2.0
#include "calibration/validate/peer_errors.hpp"

#include <catch2/catch.hpp>

#include "scenarios/yaml/text_file.hpp"

using namespace foretrain;

namespace {

RecordCheck step_of(const char* id, double measured, double predicted) {
  RecordCheck check;
  check.id = id;
  check.quantity = step_quantity;
  check.measured = measured;
  check.predicted = predicted;
  return check;
}

}  // namespace

TEST_CASE("peers: our error is the mean over the records of a family", "[peers]") {
  Diagnostics diagnostics;
  const auto families = read_peer_errors(
      "schema: 1\n"
      "families:\n"
      "  - {name: one, records: [a-, b-], runs: 3, calculon: 12.5, source: here}\n"
      "  - {name: none, records: [c-], vtrain: 8, source: there}\n",
      "peers.yaml", diagnostics);
  REQUIRE(families);
  std::vector<RecordCheck> checks{step_of("a-1", 2.0, 2.2), step_of("b-1", 4.0, 3.2),
                                  step_of("ab-1", 1.0, 9.0), step_of("a-2", 1.0, 1.0)};
  skip(checks.back(), "no reason");
  const auto lines = beside_peers(*families, checks);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].runs == 2);
  CHECK(lines[0].mape == Approx(15.0));
  CHECK(lines[0].family.runs == 3);
  CHECK(lines[0].family.errors == std::vector<std::optional<double>>{std::nullopt, 12.5,
                                                                     std::nullopt, std::nullopt,
                                                                     std::nullopt});
}

TEST_CASE("peers: a misspelt tool is refused with its place", "[peers][error]") {
  Diagnostics diagnostics;
  CHECK_FALSE(
      read_peer_errors("schema: 1\n"
                       "families:\n"
                       "  - {name: one, records: [a-], calculo: 12.5, source: here}\n",
                       "peers.yaml", diagnostics));
  CHECK_THROWS_WITH(diagnostics.throw_if_any(),
                    Catch::Contains("peers.yaml:3") && Catch::Contains("calculon"));
}

TEST_CASE("peers: the shipped families have errors of somebody", "[peers]") {
  Diagnostics diagnostics;
  const auto text = read_text_file(FORETRAIN_SOURCE_DIR "/calibration/peers/errors.yaml",
                                   "errors.yaml", 1'000'000, diagnostics);
  REQUIRE(text);
  const auto families = read_peer_errors(*text, "errors.yaml", diagnostics);
  REQUIRE(families);
  CHECK(families->size() == 9);
  for (const PeerFamily& family : *families) {
    REQUIRE(family.errors.size() == peer_names().size());
    bool any = false;
    for (std::size_t i = 1; i < family.errors.size(); ++i) any |= family.errors[i].has_value();
    CHECK(any);
  }
}
