// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/sweep_curve.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>

#include "import_test_logs.hpp"
#include "tests/calibration/nccl_tests_text.hpp"

using namespace foretrain;

namespace {

std::vector<SweepRecord> line_sweep(const std::vector<CurveLine>& lines) {
  SweepCurve truth;
  truth.lines = lines;
  std::vector<SweepRecord> sweep;
  for (std::uint64_t size = 8; size <= 8589934592U; size *= 2) {
    SweepRecord record;
    record.size_bytes = static_cast<double>(size);
    record.time_us = truth.time_us(record.size_bytes);
    sweep.push_back(record);
  }
  return sweep;
}

}  // namespace

TEST_CASE("sweep curve: lines that made a sweep come back", "[calibration][import]") {
  const std::vector<CurveLine> lines{{12.0, 2.0}, {30.0, 90.0}, {80.0, 270.0}};
  const SweepCurve curve = fit_sweep_curve(line_sweep(lines));
  CHECK(curve.errors.mape < 0.01);
  CHECK(curve.outliers.empty());
  CHECK(curve.time_us(8.0) == Approx(12.0).epsilon(0.02));
  CHECK(curve.time_us(8589934592.0) == Approx(80.0 + 8589934592.0 / 270e3).epsilon(0.02));
}

TEST_CASE("sweep curve: one wild point is named and moves nothing", "[calibration][import]") {
  std::vector<SweepRecord> sweep = line_sweep({{12.0, 2.0}, {30.0, 90.0}, {80.0, 270.0}});
  const SweepCurve clean = fit_sweep_curve(sweep);
  *sweep[20].time_us *= 8.0;
  const SweepCurve curve = fit_sweep_curve(sweep);
  REQUIRE(curve.outliers.size() == 1);
  CHECK(curve.outliers[0].record == 20);
  for (const SweepRecord& record : sweep)
    CHECK(curve.time_us(record.size_bytes) ==
          Approx(clean.time_us(record.size_bytes)).epsilon(0.01));
}

TEST_CASE("sweep curve: too few sizes get fewer lines", "[calibration][import]") {
  std::vector<SweepRecord> sweep = line_sweep({{12.0, 2.0}, {80.0, 270.0}});
  sweep.resize(1);
  CHECK(fit_sweep_curve(sweep).lines.empty());
  sweep = line_sweep({{12.0, 2.0}, {80.0, 270.0}});
  sweep.resize(4);
  CHECK(fit_sweep_curve(sweep).lines.size() == 2);
}

TEST_CASE("sweep curve: every shipped sweep, read from nccl-tests' text, is fitted to 6 %",
          "[calibration][import]") {
  const std::string text = repository_file("calibration/measured/nccl_sweeps.csv");
  Diagnostics diagnostics;
  std::map<std::string, std::vector<SweepRecord>> sweeps;
  for (SweepRecord& record : read_sweep_records(text, "nccl_sweeps.csv", diagnostics))
    if (record.time_us.value_or(0.0) > 0.0 || record.busbw_gbs.value_or(0.0) > 0.0)
      sweeps[record.sweep].push_back(std::move(record));
  std::vector<double> errors;
  double sum = 0.0;
  int points = 0;
  for (const auto& [name, sweep] : sweeps) {
    const Imported got = imported(nccl_tests_text(sweep), {}, name);
    const SweepCurve curve = fit_sweep_curve(got.log.sweeps);
    if (curve.lines.empty()) continue;  // single points
    CAPTURE(name, curve.errors.mape, curve.outliers.size());
    if (std::getenv("FORETRAIN_PRINT_CURVES") != nullptr)
      std::cout << name << "," << curve.errors.count << "," << 100.0 * curve.errors.mape << ","
                << curve.outliers.size() << "\n";
    CHECK(curve.errors.mape < 0.25);
    errors.push_back(curve.errors.mape);
    sum += curve.errors.mape * curve.errors.count;
    points += curve.errors.count;
  }
  std::sort(errors.begin(), errors.end());
  CAPTURE(errors.size(), points, sum / points, errors[errors.size() / 2], errors.back());
  if (std::getenv("FORETRAIN_PRINT_CURVES") != nullptr)
    std::cout << "all: " << errors.size() << " sweeps, " << points << " points, mean "
              << 100.0 * sum / points << " %, median sweep " << 100.0 * errors[errors.size() / 2]
              << " %, worst " << 100.0 * errors.back() << " %\n";
  CHECK(sum / points <= 0.06);
  double mean = 0.0;
  for (const double error : errors) mean += error / static_cast<double>(errors.size());
  CHECK(mean <= 0.06);
}
