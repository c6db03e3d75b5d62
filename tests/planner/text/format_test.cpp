// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <limits>

#include "planner/text/format.hpp"

using namespace foretrain;

TEST_CASE("thousands are separated by commas", "[planner][format]") {
  CHECK(with_thousands(0) == "0");
  CHECK(with_thousands(999) == "999");
  CHECK(with_thousands(1000) == "1,000");
  CHECK(with_thousands(-1234567) == "-1,234,567");
  CHECK(fixed_text(1234.56, 1) == "1,234.6");
  CHECK(fixed_text(-0.0001, 1) == "0.0");
}

TEST_CASE("three digits are what people read", "[planner][format]") {
  CHECK(significant_text(8.3123) == "8.31");
  CHECK(significant_text(45.91) == "45.9");
  CHECK(significant_text(476837.2) == "476,837");
  CHECK(significant_text(0.01234) == "0.0123");
  CHECK(significant_text(9.996) == "10.0");
  CHECK(significant_text(99.96) == "100");
  CHECK(significant_text(0.0) == "0");
}

TEST_CASE("units are chosen by size", "[planner][format]") {
  CHECK(bytes_text(62.1 * GiB) == "62.1 GiB");
  CHECK(bytes_text(25.0 * MiB) == "25.0 MiB");
  CHECK(bytes_text(2048.0 * GiB) == "2.00 TiB");
  CHECK(bytes_text(0.0 * GiB) == "0 B");
  CHECK(seconds_text(Seconds{8.312}) == "8.31 s");
  CHECK(seconds_text(12.4 * ms) == "12.4 ms");
  CHECK(seconds_text(850.0 * us) == "850 us");
  CHECK(seconds_text(Seconds{4e-15}) == "0 s");
  CHECK(seconds_text(Seconds{-4e-15}) == "0 s");
  CHECK(seconds_text(Seconds{2e-9}) == "0.00200 us");
  CHECK(duration_text(24.1 * days) == "24.1 days");
  CHECK(duration_text(3.2 * hours) == "3.20 hours");
  CHECK(duration_text(45.0 * minutes) == "45.0 minutes");
  CHECK(rate_text(989.5 * TFLOPS) == "989.5 TFLOP/s");
  CHECK(rate_text(312.0 * TFLOPS) == "312 TFLOP/s");
  CHECK(percent_text(0.4512) == "45.1 %");
  CHECK(count_text(2e12) == "2.00 T");
  CHECK(count_text(68976648192.0) == "69.0 B");
  CHECK(count_text(4194304.0) == "4.19 M");
  CHECK(count_text(999.96e9) == "1.00 T");
  CHECK(flop_text(Flop{1.82e18}) == "1.82 EFLOP");
  CHECK(dollars_text(Dollars{2.5}) == "$2.50");
  CHECK(dollars_text(Dollars{2817500.0}) == "$2,817,500");
}

TEST_CASE("numbers that are not finite are unknown, never printed", "[planner][format]") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double endless = std::numeric_limits<double>::infinity();
  for (const double value : {none, endless, -endless}) {
    CHECK(significant_text(value) == "unknown");
    CHECK(bytes_text(Bytes{value}) == "unknown");
    CHECK(seconds_text(Seconds{value}) == "unknown");
    CHECK(duration_text(Seconds{value}) == "unknown");
    CHECK(percent_text(value) == "unknown");
    CHECK(count_text(value) == "unknown");
    CHECK(dollars_text(Dollars{value}) == "unknown");
  }
}
