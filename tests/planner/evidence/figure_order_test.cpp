// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/figure_order.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

#include "planner/evidence/validate.hpp"

using namespace foretrain;

namespace {

RecordCheck timed(const std::string& id, double measured, double predicted) {
  RecordCheck check;
  check.id = id;
  check.quantity = step_quantity;
  check.measured = measured;
  check.predicted = predicted;
  check.at_half_peak = 1.0;
  return check;
}

}  // namespace

TEST_CASE("figures: records name theirs", "[planner][figures]") {
  CHECK(figure_of("sc21-f11-pp1-b8") == "sc21-f11");
  CHECK(figure_of("zerobubble-t6-14.6B-zb-v-m72") == "zerobubble-t6");
  for (const char* id : {"sc21-f11", "tt-c-l7b", "sc21-full-1", "zb", "fms-issue78-7b", "sc21-"})
    CHECK(figure_of(id).empty());
}

TEST_CASE("figures: runs that are too close to tell apart do not count", "[planner][figures]") {
  // 1.00 and 1.01 s are noise; of the other pairs one is in the wrong order.
  const auto orders = figure_orders({timed("a-f1-x", 1.0, 1.1), timed("a-f1-y", 1.01, 1.0),
                                     timed("a-f1-z", 2.0, 1.05), timed("a-f2-x", 1.0, 1.0)});
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].figure == "a-f1");
  CHECK(orders[0].runs == 3);
  CHECK(orders[0].resolved.pairs == 2);
  CHECK(orders[0].resolved.tau() == Approx(0.0));
  CHECK(orders[0].all.pairs == 3);
  CHECK(orders[0].all.tau() == Approx(-1.0 / 3.0));
}

TEST_CASE("figures of SC21 are ordered as measured: tau of at least 0.8", "[planner][figures]") {
  ValidateRequest request;
  request.runs.emplace();
  request.only = ValidateOnly::time;
  request.sources = {"sc21"};
  const auto orders = figure_orders(validate(request).records);
  for (const char* figure : {"sc21-f11", "sc21-f12", "sc21-f14", "sc21-f16", "sc21-f17"}) {
    CAPTURE(figure);
    const auto order = std::find_if(orders.begin(), orders.end(),
                                    [&](const FigureOrder& o) { return o.figure == figure; });
    REQUIRE(order != orders.end());
    CHECK(order->resolved.tau() >= 0.8);
    // Figures are read off to +-1 TFLOP/s, so that some pairs of all are noise.
    CHECK(order->all.tau() >= 0.75);
  }
}
