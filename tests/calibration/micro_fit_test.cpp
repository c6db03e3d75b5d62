// SPDX-License-Identifier: Apache-2.0
// The shipped constants of kernels and collectives are what the fits give for the shipped
// measurements.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "calibration/collective_fit.hpp"
#include "calibration/kernel_fit.hpp"
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

/// Whether the profile or fabric ships with that value.
bool ships(const FittedValue& value) {
  const auto slash = value.profile.find('/');
  const std::string name = value.profile.substr(slash + 1);
  const bool fabric = value.profile.starts_with("fabric/");
  const std::string path =
      fabric ? "/topologies/catalog/fabrics/" : "/calibration/profiles/device/";
  std::ifstream file{FORETRAIN_SOURCE_DIR + path + name + ".yaml"};
  REQUIRE(file.good());
  // The last part of the key with its value, below the parts before it.
  std::string line;
  std::string at;
  const std::size_t dot = value.key.rfind('.');
  const std::string parent = value.key.substr(0, dot);
  const std::string wanted = value.key.substr(dot + 1) + ": " + value.text;
  std::vector<std::string> open;
  while (std::getline(file, line)) {
    const std::size_t indent = line.find_first_not_of(' ');
    if (indent == std::string::npos || line[indent] == '#') continue;
    open.resize(std::min(open.size(), indent / 2));
    open.push_back(line.substr(indent, line.find(':') - indent));
    at.clear();
    for (const std::string& part : open) at += (at.empty() ? "" : ".") + part;
    const std::size_t found = line.find(wanted);
    if (found == std::string::npos || (at != parent && at != value.key)) continue;
    const char next = found + wanted.size() < line.size() ? line[found + wanted.size()] : '}';
    if (next == ',' || next == '}') return true;
  }
  return false;
}

}  // namespace

TEST_CASE("the fit of kernels gives every shipped constant to the digit", "[calibration][kernel]") {
  const KernelFit fit = kernel_fit();
  CHECK(fit.values.size() > 100);
  for (const FittedValue& value : fit.values) {
    CAPTURE(value.profile, value.key, value.text);
    CHECK(ships(value));
  }
  const InferenceExtras extras = inference_extras();
  CHECK(fit.extras.quantise_bytes == extras.quantise_bytes);
  CHECK(fit.extras.quantise_fixed.value() == Approx(extras.quantise_fixed.value()));
  CHECK(fit.extras.cache_passes == extras.cache_passes);
  CHECK(fit.extras.query_passes == extras.query_passes);
  CHECK(fit.extras.cache_fixed.value() == Approx(extras.cache_fixed.value()));
}

TEST_CASE("profiles with the fitted kernel constants price products as the benchmarks ran them",
          "[calibration][kernel]") {
  const KernelFit fit = kernel_fit();
  const RunCatalog& catalog = shipped_catalog();
  for (const char* const device : {"a100-sxm4-80gb", "h100-sxm5-80gb", "h200"}) {
    CAPTURE(device);
    const GemmProfile& fitted = fit.profiles.at(device).gemm.at(Precision::bf16);
    const GemmProfile& shipped = catalog.device_profiles.at(device).gemm.at(Precision::bf16);
    CHECK(fitted.efficiency == Approx(shipped.efficiency).epsilon(1e-12));
    CHECK(fitted.ramp_k == Approx(shipped.ramp_k).epsilon(1e-12));
    CHECK(fitted.tile_128 == Approx(shipped.tile_128).epsilon(1e-12));
    CHECK(fitted.launch.value() == Approx(shipped.launch.value()).epsilon(1e-12));
    CHECK(fitted.sustained == shipped.sustained);  // steps determine it
  }
}

TEST_CASE("the fit of collectives gives every shipped constant to the digit",
          "[calibration][collective]") {
  const CollectiveFit fit = fit_collectives(sweeps(), shipped_catalog());
  CHECK(fit.values.size() > 300);
  for (const FittedValue& value : fit.values) {
    CAPTURE(value.profile, value.key, value.text);
    CHECK(ships(value));
  }
}

TEST_CASE("sweeps that were left out of the fit are met within 15 % in the median",
          "[calibration][collective]") {
  std::vector<double> sizes;
  for (const LeftOutPoint& point : leave_one_sweep_out(sweeps(), shipped_catalog()))
    if (point.size_bytes >= MiB.value()) sizes.push_back(std::abs(std::exp(point.log_error) - 1.0));
  REQUIRE(sizes.size() > 1000);
  std::sort(sizes.begin(), sizes.end());
  CHECK(sizes[sizes.size() / 2] < 0.075);
}
