// SPDX-License-Identifier: Apache-2.0
// Pairs of runs that differ in one choice.
#include "calibration/validate/ablations.hpp"

#include <catch2/catch.hpp>

#include <set>

using namespace foretrain;

namespace {

RecordCheck step(const std::string& id, double measured, double predicted) {
  RecordCheck check;
  check.id = id;
  check.quantity = step_quantity;
  check.measured = measured;
  check.predicted = predicted;
  return check;
}

}  // namespace

TEST_CASE("ablations: change against change, in sign and within a third",
          "[calibration][ablations]") {
  RecordCheck skipped = step("d", 1.0, 1.0);
  skip(skipped, "no layout");
  const std::vector<RecordCheck> steps{step("a", 1.0, 2.0), step("b", 1.2, 2.5),
                                       step("c", 0.9, 2.2), step("e", 1.01, 1.9), skipped};
  const auto checks = check_ablations(
      {{"routing", "a", "b"}, {"routing", "a", "c"}, {"overlap", "a", "e"}, {"overlap", "a", "d"}},
      steps);
  REQUIRE(checks.size() == 4);
  CHECK(checks[0].measured == Approx(0.2));
  CHECK(checks[0].predicted == Approx(0.25));
  CHECK(checks[0].right_size());
  CHECK_FALSE(checks[1].right_sign());
  CHECK_FALSE(checks[2].has_sign());  // a repeated run differs by as much
  CHECK(checks[3].why == "d: no layout");
  const auto kinds = summarize(checks);
  REQUIRE(kinds.size() == 2);
  CHECK(kinds[0].pairs == 2);
  CHECK(kinds[0].signs == 1);
  CHECK(kinds[0].sizes == 1);
  CHECK(kinds[1].pairs == 0);
  CHECK(kinds[1].small == 1);
}

TEST_CASE("ablations: no shipped pair stands twice, and none is a pair with itself",
          "[calibration][ablations]") {
  std::set<std::pair<std::string, std::string>> seen;
  for (const AblationPair& pair : ablation_pairs()) {
    CHECK(pair.before != pair.after);
    CHECK(seen.emplace(pair.before, pair.after).second);
  }
  CHECK(seen.size() > 30);
}
