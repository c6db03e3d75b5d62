// SPDX-License-Identifier: Apache-2.0
#include "scenarios/yaml/units_text.hpp"

#include <catch2/catch.hpp>

#include <clocale>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace foretrain {
namespace {

struct Good {
  const char* text;
  Dimension dimension;
  double value;
};

TEST_CASE("integers: plain decimal digits are read, everything else is refused", "[scenarios]") {
  CHECK(parse_integer("0").value == 0);
  CHECK(parse_integer("-17").value == -17);
  CHECK(parse_integer("9223372036854775807").value == std::numeric_limits<std::int64_t>::max());
  for (const char* text : {"",
                           " 1",
                           "1 ",
                           "010",
                           "0x10",
                           "0o7",
                           "1_000",
                           "1,000",
                           "1:30",
                           "+1",
                           "1.0",
                           "1e3",
                           "--1",
                           "-",
                           "nan",
                           "inf",
                           ".inf",
                           "one",
                           "9223372036854775808",
                           "1\n",
                           "\xD9\xA1"}) {
    CAPTURE(text);
    const auto parsed = parse_integer(text);
    CHECK_FALSE(parsed.value.has_value());
    CHECK_FALSE(parsed.error.empty());
  }
}

TEST_CASE("numbers: fractions and exponents are read, YAML 1.1 notations are refused",
          "[scenarios]") {
  CHECK(parse_number("0.5").value == 0.5);
  CHECK(parse_number("-1.25e-3").value == -0.00125);
  CHECK(parse_number("2E12").value == 2e12);
  for (const char* text :
       {"", "010", "00.5", "0x1p3", "1_000.0", "1,5", "1:30", ".5", "5.", "1e", "1e+", "nan",
        ".nan", "inf", "-inf", "Infinity", "1e999", "0x10", "1 000"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_number(text).value.has_value());
  }
}

TEST_CASE("numbers: the message names the trap", "[scenarios]") {
  CHECK(parse_integer("010").error ==
        "'010' is not an integer: a leading zero is not allowed, because YAML readers disagree "
        "whether it means octal");
  CHECK(parse_number("1_000").error ==
        "'1_000' is not a decimal number: digit separators are not allowed");
  CHECK(parse_number("1:30").error ==
        "'1:30' is not a decimal number: clock notation is not allowed");
  CHECK(parse_number("0x10").error ==
        "'0x10' is not a decimal number: hexadecimal numbers are not allowed");
  CHECK(parse_number(".5").error == "'.5' is not a decimal number: write a 0 before the point");
}

TEST_CASE("numbers: a locale with a decimal comma changes nothing", "[scenarios]") {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C.UTF-8"})
    if (std::setlocale(LC_ALL, name)) break;
  CHECK(parse_number("1.5").value == 1.5);
  CHECK(format_number(1.5) == "1.5");
  std::setlocale(LC_ALL, before.c_str());
}

TEST_CASE("booleans: only true and false", "[scenarios]") {
  CHECK(parse_boolean("true").value == true);
  CHECK(parse_boolean("false").value == false);
  for (const char* text : {"yes", "no", "on", "off", "True", "TRUE", "1", "0", ""})
    CHECK_FALSE(parse_boolean(text).value.has_value());
}

TEST_CASE("quantities: every unit has its value in base units", "[scenarios]") {
  const std::vector<Good> cases{
      {"1 B", Dimension::bytes, 1},
      {"1 kB", Dimension::bytes, 1e3},
      {"1 MB", Dimension::bytes, 1e6},
      {"80 GB", Dimension::bytes, 80e9},
      {"1 TB", Dimension::bytes, 1e12},
      {"1 KiB", Dimension::bytes, 1024},
      {"25 MiB", Dimension::bytes, 26214400},
      {"80 GiB", Dimension::bytes, 85899345920.0},
      {"1 TiB", Dimension::bytes, 1099511627776.0},
      {"1 B/s", Dimension::bandwidth, 1},
      {"2 kB/s", Dimension::bandwidth, 2e3},
      {"2 MB/s", Dimension::bandwidth, 2e6},
      {"200 GB/s", Dimension::bandwidth, 2e11},
      {"3.35 TB/s", Dimension::bandwidth, 3.35e12},
      {"1 MiB/s", Dimension::bandwidth, 1048576},
      {"1 GiB/s", Dimension::bandwidth, 1073741824},
      {"8 bit/s", Dimension::bandwidth, 1},
      {"8 Kbit/s", Dimension::bandwidth, 1e3},
      {"8 Mbit/s", Dimension::bandwidth, 1e6},
      {"400 Gbit/s", Dimension::bandwidth, 50e9},
      {"1 Tbit/s", Dimension::bandwidth, 1.25e11},
      {"1 ns", Dimension::time, 1e-9},
      {"2 days", Dimension::time, 2 * 86400.0},
      {"6 hours", Dimension::time, 21600},
      {"2 weeks", Dimension::time, 14 * 86400.0},
      {"1.5 months", Dimension::time, 45 * 86400.0},
      {"1 year", Dimension::time, 365 * 86400.0},
      {"5 years", Dimension::time, 5 * 365 * 86400.0},
      {"3 us", Dimension::time, 3e-6},
      {"1.5 ms", Dimension::time, 1.5e-3},
      {"2 s", Dimension::time, 2},
      {"30 min", Dimension::time, 1800},
      {"3.1 h", Dimension::time, 11160},
      {"1 d", Dimension::time, 86400},
      {"1 GFLOP/s", Dimension::flop_rate, 1e9},
      {"989.4 TFLOP/s", Dimension::flop_rate, 989.4e12},
      {"1 PFLOP/s", Dimension::flop_rate, 1e15},
      {"700 W", Dimension::power, 700},
      {"0.7 kW", Dimension::power, 700},
      {"5 J", Dimension::energy, 5},
      {"1 kWh", Dimension::energy, 3.6e6},
      {"2 T", Dimension::count, 2e12},
      {"300 B", Dimension::count, 3e11},
      {"300 G", Dimension::count, 3e11},
      {"7 M", Dimension::count, 7e6},
      {"7 k", Dimension::count, 7e3},
      {"1000", Dimension::count, 1000},
      {"2e12", Dimension::count, 2e12},
      {"2T", Dimension::count, 2e12},
      {"25MiB", Dimension::bytes, 26214400},
      {"3.6 USD/GPU-hour", Dimension::price, 0.001},
  };
  for (const Good& good : cases) {
    CAPTURE(good.text);
    const auto parsed = parse_quantity(good.text, good.dimension);
    REQUIRE(parsed.value.has_value());
    CHECK(*parsed.value == Approx(good.value).epsilon(1e-15));
  }
}

TEST_CASE("quantities: a bare number is refused with the legal units", "[scenarios]") {
  CHECK(parse_quantity("25", Dimension::bytes).error ==
        "'25' has no unit; write a size with a unit out of B, kB, KiB, MB, MiB, GB, GiB, TB, TiB");
  CHECK(parse_quantity("30", Dimension::time).error ==
        "'30' has no unit; write a time with a unit out of ns, us, ms, s, min, h, d, week, month, "
        "year");
}

TEST_CASE("quantities: wrong units, wrong case and stray text are refused", "[scenarios]") {
  for (const char* text :
       {"25 mib", "25 Mib", "25  MiB", "25\tMiB", " 25 MiB", "25 MiB ", "MiB", "25 MiB/s",
        "25 Gbit/s", "0x10 MiB", "010 MiB", "1e400 B", "25 MiB 3", "", "twenty MiB"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_quantity(text, Dimension::bytes).value.has_value());
  }
  CHECK_FALSE(parse_quantity("2 K", Dimension::count).value.has_value());
  CHECK_FALSE(parse_quantity("2.5", Dimension::price).value.has_value());
  CHECK_FALSE(parse_quantity("2.5 EUR/GPU-hour", Dimension::price).value.has_value());
}

TEST_CASE("formatting: the text that a person would write", "[scenarios]") {
  CHECK(format_quantity(26214400, Dimension::bytes) == "25 MiB");
  CHECK(format_quantity(80e9, Dimension::bytes) == "80 GB");
  CHECK(format_quantity(85899345920.0, Dimension::bytes) == "80 GiB");
  CHECK(format_quantity(1800, Dimension::time) == "30 min");
  CHECK(format_quantity(11160, Dimension::time) == "3.1 h");
  CHECK(format_quantity(90, Dimension::time) == "90 s");
  CHECK(format_quantity(3e-6, Dimension::time) == "3 us");
  CHECK(format_quantity(3.35e12, Dimension::bandwidth) == "3.35 TB/s");
  CHECK(format_quantity(5e10, Dimension::bandwidth) == "50 GB/s");
  CHECK(format_quantity(2e12, Dimension::count) == "2 T");
  CHECK(format_quantity(3e11, Dimension::count) == "300 B");
  CHECK(format_quantity(1024, Dimension::count) == "1.024 k");
  CHECK(format_quantity(700, Dimension::power) == "700 W");
  CHECK(format_quantity(989.4e12, Dimension::flop_rate) == "989.4 TFLOP/s");
  CHECK(format_quantity(2.5 / 3600.0, Dimension::price) == "2.5 USD/GPU-hour");
  CHECK(format_quantity(0, Dimension::time) == "0 s");
}

TEST_CASE("formatting and parsing: every value that was parsed comes back exactly",
          "[scenarios][property]") {
  const auto dimension =
      GENERATE(Dimension::bytes, Dimension::bandwidth, Dimension::time, Dimension::flop_rate,
               Dimension::power, Dimension::energy, Dimension::count, Dimension::price);
  std::mt19937_64 random(20240229);
  std::uniform_real_distribution<double> mantissa(0.001, 1000.0);
  for (const Unit& unit : units_of(dimension)) {
    for (int i = 0; i < 500; ++i) {
      // Half with few digits, as people write; half with all 17.
      double number = mantissa(random);
      if (i % 2 == 0) number = std::round(number * 100) / 100;
      const std::string text = format_number(number) + " " + std::string(unit.name);
      CAPTURE(text);
      const auto parsed =
          parse_quantity(unit.name.empty() ? format_number(number) : text, dimension);
      REQUIRE(parsed.value.has_value());
      const auto again = parse_quantity(format_quantity(*parsed.value, dimension), dimension);
      REQUIRE(again.value.has_value());
      CHECK(*again.value == *parsed.value);
    }
  }
}

TEST_CASE("formatting: numbers read back exactly over the whole range of a double",
          "[scenarios][property]") {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-300.0, 300.0);
  for (int i = 0; i < 2000; ++i) {
    const double value = (i % 2 == 0 ? 1 : -1) * std::pow(10.0, exponent(random));
    CAPTURE(value);
    CHECK(parse_number(format_number(value)).value == value);
  }
  CHECK(format_number(0.0) == "0");
  CHECK(format_number(-0.0) == "0");
  CHECK(format_number(1024) == "1024");
}

}  // namespace
}  // namespace foretrain
