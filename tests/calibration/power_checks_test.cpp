// SPDX-License-Identifier: Apache-2.0
// Measured power against forecasts.
#include "calibration/validate/power_checks.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <set>

#include "calibration/records/run_catalog.hpp"

using namespace foretrain;

TEST_CASE("power checks: every series names its source, and its fitted keys were measured",
          "[calibration][power]") {
  std::set<std::string> ids;
  for (const PowerSeries& series : power_series()) {
    CAPTURE(series.id);
    CHECK(ids.insert(series.id).second);
    CHECK_FALSE(series.source.empty());
    CHECK(series.meter > Seconds{});
    CHECK((series.gpu || series.node));
    for (const std::string& key : series.fitted) {
      CAPTURE(key);
      CHECK(((key == "node" && series.node) || (key == "node_idle" && series.node_idle)));
    }
  }
}

TEST_CASE("power checks: what is not known is not compared, and errors are relative",
          "[calibration][power]") {
  RunRecord record;
  record.id = "mlperf-none";
  std::string why;
  PowerSeries series;
  series.meter = Seconds{1.0};
  series.node = Watts{7000.0};
  CHECK(check_power(series, record, load_run_catalog(), why).empty());
  CHECK_FALSE(why.empty());
  CHECK(PowerCheck{"s", "host, W", 8000.0, 7600.0}.error() == Approx(-0.05));
}
