// SPDX-License-Identifier: Apache-2.0
// Widths of bands from errors of runs left out.
#include "calibration/fit/band_fit.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "models/forecast/band.hpp"
#include "scenarios/catalog/band_table_file.hpp"

namespace foretrain {
namespace {

/// Errors as a normal distribution has them, evenly over its quantiles, so that nothing is drawn.
double normal_quantile(double share) {
  double low = -6.0;
  double high = 6.0;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (0.5 * (1.0 + std::erf(middle / std::sqrt(2.0))) < share ? low : high) = middle;
  }
  return high;
}

/// 40 runs of each of six families; those of odd ones are of clusters that nobody measured, with
/// errors of 15 % instead of 3 %.
std::vector<BandCase> cases_of_two_kinds() {
  constexpr int runs = 40;
  std::vector<BandCase> cases;
  for (int family = 0; family < 6; ++family)
    for (int i = 0; i < runs; ++i) {
      BandCase at{FoldAxis::source, "family " + std::to_string(family), 0.0, {}};
      const bool unknown = family % 2 == 1;
      foretrain::at(at.facts, BandKind::pooled) = {1.0, 1.0};
      if (unknown) foretrain::at(at.facts, BandKind::site) = {1.0, 1.0};
      at.error = (unknown ? 0.15 : 0.03) * normal_quantile((i + 0.5) / runs);
      cases.push_back(at);
    }
  return cases;
}

}  // namespace

TEST_CASE("band widths: each kind gets the width of its own errors", "[calibration][bands]") {
  const BandByKind widths = fit_band_widths(cases_of_two_kinds(), 60.0);
  CHECK(at(widths, BandKind::pooled).high == Approx(std::expm1(1.2816 * 0.03)).epsilon(0.15));
  CHECK(at(widths, BandKind::pooled).low == Approx(std::expm1(1.2816 * 0.03)).epsilon(0.15));
  CHECK(std::hypot(at(widths, BandKind::pooled).high, at(widths, BandKind::site).high) ==
        Approx(std::expm1(1.2816 * 0.15)).epsilon(0.15));
  for (const BandKind unseen : {BandKind::device, BandKind::scale, BandKind::experts})
    CHECK(at(widths, unseen) == BandSides{});
}

TEST_CASE("band check: families that widths have not seen are held, and constant bands do worse",
          "[calibration][bands]") {
  const BandCheck check = check_bands(cases_of_two_kinds(), 60.0);
  CHECK(check.all.cases == 240);
  CHECK(check.all.covered == Approx(band_coverage).margin(0.05));
  REQUIRE(check.families.size() == 6);
  for (const auto& [family, score] : check.families) CHECK(score.covered > 0.7);
  CHECK(check.constant_all.score > 1.15 * check.all.score);
  REQUIRE(check.reliability.size() == 9);
  for (const auto& [nominal, observed] : check.reliability)
    CHECK(observed == Approx(nominal).margin(0.06));
}

TEST_CASE("interval score: the width, and ten times what is missed", "[calibration][bands]") {
  BandCase missed{FoldAxis::source, "x", std::log(1.3), {}};
  const BandSides band{0.1, 0.2};
  CHECK(interval_score(missed, band) ==
        Approx(std::log(1.1) + std::log(1.2) + 10.0 * std::log(1.3 / 1.2)));
  CHECK_FALSE(in_band(missed, band));
  missed.error = std::log(1.19);
  CHECK(in_band(missed, band));
  CHECK_FALSE(in_band(missed, band, 0.5));
  CHECK(interval_score(missed, band) == Approx(std::log(1.1) + std::log(1.2)));
}

TEST_CASE("band table: what is written is read back, and what is missing is told",
          "[calibration][bands]") {
  BandTable table;
  for (std::size_t kind = 0; kind < band_kinds; ++kind)
    table.widths[kind] = {0.01 * static_cast<double>(kind), 0.5};
  table.unmeasured_site = {0.1, 0.15};
  table.reach["nemo"] = {7, {"h100-sxm5-80gb", "h200"}, 1024, 8};
  const std::string text = band_table_text(table, "two\nlines");
  Diagnostics diagnostics;
  const auto read = read_band_table(text, "bands.yaml", diagnostics);
  REQUIRE(read.has_value());
  CHECK(read->widths == table.widths);
  CHECK(read->unmeasured_site == table.unmeasured_site);
  CHECK(read->reach.at("nemo").devices == table.reach.at("nemo").devices);
  CHECK(band_table_text(*read, "two\nlines") == text);
  std::string less = text;
  less.erase(less.find("  - {kind: site"),
             less.find('\n', less.find("{kind: site")) + 1 - less.find("  - {kind: site"));
  CHECK_FALSE(read_band_table(less, "bands.yaml", diagnostics).has_value());
  CHECK(diagnostics.sorted().front().text().find("no width of kind site") != std::string::npos);
}

}  // namespace foretrain
