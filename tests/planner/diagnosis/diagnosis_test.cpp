// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <iostream>

#include "tests/planner/diagnosis/fault_cases.hpp"

using namespace foretrain;
using namespace foretrain::test;

// The figures of calibration/docs/diagnosis.md.
TEST_CASE("diagnosis: 200 runs with faults, on other seeds", "[.][seeds]") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const FaultScores scores = score_faults(200, LogDetail::timers, 5000 * seed);
    const FaultScore& all = scores.at("all faults");
    const FaultScore& clean = scores.at("as-forecast");
    std::cout << "faults " << all.first << " of " << all.runs << ", clean " << clean.first << " of "
              << clean.runs << "\n" << scores_text(scores);
  }
}

TEST_CASE("diagnosis: 200 runs with faults", "[.][faults]") {
  for (const auto& [name, detail] : {std::pair{"timers, clocks and NICs in the log", LogDetail::timers},
                                     std::pair{"lines of steps alone", LogDetail::steps}})
    std::cout << name << "\n" << scores_text(score_faults(200, detail, 2026)) << "\n";
}
