// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/record_check.hpp"

#include <catch2/catch.hpp>

namespace foretrain {
namespace {

RecordCheck step(const std::string& id, const std::string& source, const std::string& group,
                 double measured, double predicted) {
  RecordCheck check;
  check.id = id;
  check.source = source;
  check.quantity = step_quantity;
  check.group = group;
  check.measured = measured;
  check.predicted = predicted;
  check.low = 0.95 * predicted;
  check.high = 1.05 * predicted;
  check.at_half_peak = 2.0;
  check.grid = "one";
  return check;
}

const CheckSummary& line(const std::vector<CheckSummary>& lines, const std::string& source,
                         const std::string& group) {
  for (const CheckSummary& candidate : lines)
    if (candidate.source == source && candidate.group == group) return candidate;
  FAIL("no line " << source << " " << group);
  return lines.front();
}

}  // namespace

TEST_CASE("summary: bias, mean, median, 90th percentile and worst of hand-made errors",
          "[calibration]") {
  std::vector<RecordCheck> checks{
      step("a-1", "a", "x", 1.0, 1.10), step("a-2", "a", "x", 2.0, 1.90),
      step("a-3", "a", "x", 4.0, 4.08), step("a-4", "a", "x", 5.0, 4.0)};
  checks.push_back(step("a-5", "a", "x", 1.0, 0.0));
  skip(checks.back(), "no profile");
  const auto lines = summarize(checks);
  const CheckSummary& all = line(lines, "a", "x");
  CHECK(all.count == 4);
  CHECK(all.skipped == 1);
  CHECK(all.bias == Approx((0.10 - 0.05 + 0.02 - 0.20) / 4));
  CHECK(all.mape == Approx((0.10 + 0.05 + 0.02 + 0.20) / 4));
  CHECK(all.median == Approx(0.075));  // of .02 .05 .10 .20: the mean of the middle two
  CHECK(all.p90 == Approx(0.17));      // seven tenths of the way from the third to the fourth
  CHECK(all.worst == Approx(-0.20));
  CHECK(all.worst_id == "a-4");
  CHECK(all.covered == Approx(0.25));  // 4.08 within 5 %; 1.90 / 0.95 just misses 2.0
  CHECK(all.half_peak_mape == Approx((1.0 + 0.0 + 0.5 + 0.6) / 4));
  // MFU of 100, 50, 25 and 20 %, geometric mean 39.76: off by 151.5, 25.7, 37.1 and 49.7 %.
  CHECK(all.own_mfu_mape == Approx(0.660152).epsilon(1e-5));
  CHECK(all.pairs == 6);
  CHECK(all.tau == Approx(4.0 / 6.0));  // 4.08 > 4.0 though 4 < 5
}

TEST_CASE("summary: one line per source and group, then the groups and the total over all sources",
          "[calibration]") {
  const auto lines = summarize({step("a-1", "a", "x", 1.0, 1.1), step("b-1", "b", "x", 1.0, 1.2),
                                step("b-2", "b", "y", 1.0, 1.3)});
  std::vector<std::pair<std::string, std::string>> names;
  for (const CheckSummary& entry : lines) names.emplace_back(entry.source, entry.group);
  CHECK(names == std::vector<std::pair<std::string, std::string>>{
                     {"a", "x"}, {"b", "x"}, {"b", "y"}, {"all", "x"}, {"all", "y"}, {"all", ""}});
  CHECK(line(lines, "all", "x").count == 2);
  CHECK(line(lines, "all", "").mape == Approx(0.2));
}

TEST_CASE("summary: runs of different sources are never ranked against each other",
          "[calibration]") {
  const auto lines = summarize({step("a-1", "a", "x", 1.0, 9.0), step("b-1", "b", "x", 2.0, 1.0)});
  CHECK(line(lines, "all", "").pairs == 0);
}

}  // namespace foretrain
