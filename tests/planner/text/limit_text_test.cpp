// SPDX-License-Identifier: Apache-2.0
#include "planner/text/format.hpp"

#include <catch2/catch.hpp>

#include "planner/forecast/search_limits.hpp"
#include "planner/text/usage_error.hpp"

using namespace foretrain;

TEST_CASE("limits: durations and dates", "[planner][limits]") {
  const auto start = date_value("--start", "2026-12-30");
  CHECK(deadline_value("--deadline", "30 days", start) == Seconds{30 * 86400.0});
  CHECK(deadline_value("--deadline", "1.5h", start) == Seconds{5400.0});
  CHECK(deadline_value("--deadline", "2 years", start) == Seconds{730 * 86400.0});
  CHECK(deadline_value("--deadline", "1 year", start) == Seconds{365 * 86400.0});
  CHECK_THROWS_WITH(deadline_value("--deadline", "3 fortnights", start),
                    Catch::Contains("week, month, year"));
  CHECK(deadline_value("--deadline", "2027-01-02", start) == Seconds{3 * 86400.0});
  CHECK(deadline_value("--deadline", "2028-03-01", date_value("--start", "2028-02-28")) ==
        Seconds{2 * 86400.0});
  CHECK_THROWS_WITH(deadline_value("--deadline", "2026-12-30", start),
                    Catch::Contains("in the past") && Catch::Contains("2026-12-30"));
  for (const char* bad : {"2027-02-30", "2027-13-01", "2027-1-011", "30", "30 fortnights",
                          "-3 days", "0 days", "", "nan days", "inf h"})
    CHECK_THROWS_AS(deadline_value("--deadline", bad, start), UsageError);
}

TEST_CASE("limits: money needs its currency", "[planner][limits]") {
  CHECK(money_value("--budget", "2.5 M USD") == Dollars{2.5e6});
  CHECK(money_value("--budget", "1000USD") == Dollars{1000.0});
  CHECK_THROWS_WITH(money_value("--budget", "2.5 M"), Catch::Contains("currency"));
  CHECK_THROWS_WITH(money_value("--budget", "2500000"), Catch::Contains("currency"));
  CHECK_THROWS_WITH(money_value("--budget", "2 M EUR"), Catch::Contains("rate of exchange"));
  CHECK_THROWS_AS(money_value("--budget", "-2 M USD"), UsageError);
}

TEST_CASE("limits: power, sizes and shares", "[planner][limits]") {
  CHECK(power_value("--power-cap", "10 MW") == Watts{1e7});
  CHECK(bytes_value("--headroom", "4 GiB") == Bytes{4294967296.0});
  CHECK(bytes_value("--headroom", "0 GB") == Bytes{});
  CHECK(share_value("--by", "10 %") == Approx(0.1));
  CHECK(share_value("--by", "0.25") == Approx(0.25));
  CHECK_THROWS_AS(power_value("--power-cap", "10"), UsageError);
  CHECK_THROWS_AS(bytes_value("--headroom", "-1 GiB"), UsageError);
  CHECK_THROWS_AS(share_value("--by", "0"), UsageError);
}

TEST_CASE("limits: memory is bounded by share and headroom, whichever is tighter",
          "[planner][limits]") {
  Device device;
  device.usable_memory = 80.0 * GiB;
  SearchLimits limits;
  // Whoever names a share or headroom does not ask for the band.
  const auto all_through = [](Bytes peak) { return MemoryNeed{peak, 2.0 * peak}; };
  limits.max_memory_share = 0.9;
  limits.headroom = 4.0 * GiB;
  CHECK(limits.memory_of(device) == 72.0 * GiB);
  CHECK(memory_excess(limits, device, all_through(73.0 * GiB))->rule == "max-memory-share");
  CHECK(memory_excess(limits, device, all_through(81.0 * GiB))->rule == "out-of-memory");
  limits.headroom = 10.0 * GiB;
  CHECK(limits.memory_of(device) == 70.0 * GiB);
  CHECK(memory_excess(limits, device, all_through(71.0 * GiB))->rule == "headroom");
  CHECK_FALSE(memory_excess(limits, device, all_through(70.0 * GiB)));
}

TEST_CASE("limits: where nobody says otherwise, a twentieth stays free and the band fits",
          "[planner][limits]") {
  Device device;
  device.usable_memory = 80.0 * GiB;
  CHECK(SearchLimits{}.memory_of(device) == 76.0 * GiB);
  CHECK_FALSE(memory_excess({}, device, {76.0 * GiB, 80.0 * GiB}));
  CHECK(memory_excess({}, device, {76.1 * GiB, 80.0 * GiB})->rule == "headroom");
  const auto band = memory_excess({}, device, {70.0 * GiB, 80.1 * GiB});
  REQUIRE(band);
  CHECK(band->rule == "headroom");
  CHECK(band->message.find("band") != std::string::npos);
  CHECK(memory_excess({}, device, {80.1 * GiB, 85.0 * GiB})->rule == "out-of-memory");
  SearchLimits all;
  all.max_memory_share = 1.0;
  CHECK_FALSE(memory_excess(all, device, {80.0 * GiB, 85.0 * GiB}));
}

TEST_CASE("limits: what they are judged by must be known", "[planner][limits]") {
  Job job;
  job.cluster.host.device.usable_memory = 80.0 * GiB;
  SearchLimits limits;
  CHECK(limit_problem(limits, job).empty());
  limits.max_run = Seconds{1.0};
  CHECK(limit_problem(limits, job).find("training.tokens") != std::string::npos);
  job.training.tokens = 1e12;
  CHECK(limit_problem(limits, job).empty());
  limits.max_price = Dollars{1.0};
  CHECK(limit_problem(limits, job).find("operations.price") != std::string::npos);
  limits = {};
  limits.headroom = 80.0 * GiB;
  CHECK(limit_problem(limits, job).find("headroom") != std::string::npos);
}
