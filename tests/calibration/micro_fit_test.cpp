// SPDX-License-Identifier: Apache-2.0
// The shipped constants of kernels and collectives are what the fits give for the shipped
// measurements.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "calibration/collective_fit.hpp"
#include "calibration/kernel_fit.hpp"
#include "scenarios/units_text.hpp"
#include "tests/calibration/measured_records.hpp"

using namespace foretrain;  // NOLINT(google-build-using-namespace): tests read better

namespace {

KernelFit kernel_fit() {
  Diagnostics diagnostics;
  const auto records =
      read_kernel_records(measured_file("kernels.csv"), "kernels.csv", diagnostics);
  diagnostics.throw_if_any();
  return fit_kernels(records, shipped_catalog());
}

std::vector<SweepRecord> sweeps() {
  Diagnostics diagnostics;
  auto records =
      read_sweep_records(measured_file("nccl_sweeps.csv"), "nccl_sweeps.csv", diagnostics);
  diagnostics.throw_if_any();
  return records;
}

void print(const std::vector<FittedValue>& values, const std::vector<FitResiduals>& residuals) {
  for (const FittedValue& value : values)
    std::printf("%s %s %s\n", value.profile.c_str(), value.key.c_str(), value.text.c_str());
  for (const FitResiduals& line : residuals)
    std::printf("# %s: n %d bias %.1f MAPE %.1f median %.1f P90 %.1f band %.2f %.2f\n",
                line.what.c_str(), line.errors.count, 100 * line.errors.bias,
                100 * line.errors.mape, 100 * line.errors.median, 100 * line.errors.p90,
                line.errors.low, line.errors.high);
}

}  // namespace

TEST_CASE("what the fits give, for the profiles", "[.print]") {
  const KernelFit kernels = kernel_fit();
  print(kernels.values, kernels.residuals);
  std::printf("# quantise %.3g B + %.3g us, cache %.3g + %.3g passes + %.3g us\n",
              kernels.extras.quantise_bytes, kernels.extras.quantise_fixed.in(us),
              kernels.extras.cache_passes, kernels.extras.query_passes,
              kernels.extras.cache_fixed.in(us));
  const CollectiveFit collectives = fit_collectives(sweeps(), shipped_catalog());
  print(collectives.values, collectives.residuals);
}

TEST_CASE("left out sweeps", "[.print]") {
  double sum = 0.0;
  std::vector<double> sizes;
  std::map<std::string, std::pair<int, double>> by;
  for (const LeftOutPoint& point : leave_one_sweep_out(sweeps(), shipped_catalog())) {
    if (point.size_bytes < 1048576) continue;
    const double error = std::abs(std::exp(point.log_error) - 1.0);
    sizes.push_back(error);
    sum += error;
    by[point.sweep].first++;
    by[point.sweep].second += error;
  }
  std::sort(sizes.begin(), sizes.end());
  for (const auto& [sweep, entry] : by)
    std::printf("%s %.1f\n", sweep.c_str(), 100 * entry.second / entry.first);
  std::printf("left out: %zu points, median %.1f MAPE %.1f P90 %.1f\n", sizes.size(),
              100 * sizes[sizes.size() / 2], 100 * sum / double(sizes.size()),
              100 * sizes[sizes.size() * 9 / 10]);
}
