// SPDX-License-Identifier: Apache-2.0
// The shipped constants of kernels and collectives are what the fits give for the shipped
// measurements.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "calibration/fit/collective_fit.hpp"
#include "calibration/fit/kernel_fit.hpp"
#include "calibration/fit/profile_fit.hpp"
#include "scenarios/catalog/catalog_entry.hpp"
#include "tests/calibration/measured_records.hpp"

using namespace foretrain;

namespace {

std::vector<SweepRecord> sweeps() {
  Diagnostics diagnostics;
  auto records =
      read_sweep_records(measured_file("nccl_sweeps.csv"), "nccl_sweeps.csv", diagnostics);
  diagnostics.throw_if_any();
  return records;
}

/// What a profile or fabric preset says, itself or by its relatives.
FieldValues values_of(const std::string& profile) {
  const std::string name = profile.substr(profile.find('/') + 1);
  const CatalogKind kind =
      profile.starts_with("fabric/") ? CatalogKind::fabrics : CatalogKind::device_profiles;
  Diagnostics diagnostics;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{{}, {}, diagnostics, files, values};
  const auto file = find_requested(kind, {name, "", {}}, context);
  REQUIRE(file.has_value());
  const auto read = read_catalog_file(*file, catalog_fields(kind), context, nullptr);
  REQUIRE(read.has_value());
  return *read;
}

/// How far a written value is from the fitted one, of its logarithm. Both in the same unit.
double off(const std::string& shipped, const std::string& fitted) {
  const std::size_t blank = fitted.find(' ');
  REQUIRE(shipped.ends_with(blank == std::string::npos ? "" : fitted.substr(blank)));
  return std::abs(std::log(std::stod(shipped) / std::stod(fitted)));
}

/// The profile or fabric ships with that value, within a tenth of its deviation, which it ships as
/// well; percentiles, which have none, within their last digit.
void check_shipped(const std::vector<FittedValue>& values) {
  std::map<std::string, FieldValues> files;
  for (const FittedValue& value : values) {
    auto file = files.find(value.profile);
    if (file == files.end()) file = files.emplace(value.profile, values_of(value.profile)).first;
    const FieldValue* const shipped = file->second.find(value.key);
    CAPTURE(value.profile, value.key, value.text, value.deviation);
    REQUIRE(shipped != nullptr);
    CAPTURE(shipped->text);
    CHECK_FALSE(value.at_bound);
    if (value.deviation <= 0.0) {
      CHECK(off(shipped->text, value.text) < 0.004);
      continue;
    }
    CHECK(off(shipped->text, value.text) < same_fit * value.deviation);
    const YamlNode* const deviation = file->second.at("deviations").node.find(value.key);
    REQUIRE(deviation != nullptr);
    CHECK(std::stod(deviation->text) == Approx(value.deviation).epsilon(0.25));
  }
}

/// Profiles with the fitted constants price products as the benchmarks ran them.
void check_products(const KernelFit& fit) {
  const RunCatalog& catalog = shipped_catalog();
  for (const char* const device : {"a100-sxm4-80gb", "h100-sxm5-80gb", "h200"}) {
    CAPTURE(device);
    const GemmProfile& fitted = fit.profiles.at(device).gemm.at(Precision::bf16);
    const GemmProfile& shipped = catalog.device_profiles.at(device).gemm.at(Precision::bf16);
    CHECK(fitted.efficiency == Approx(shipped.efficiency).epsilon(0.001));
    CHECK(fitted.ramp_k == Approx(shipped.ramp_k).epsilon(0.01));
    CHECK(fitted.tile_128 == Approx(shipped.tile_128).epsilon(0.001));
    CHECK(fitted.launch.value() == Approx(shipped.launch.value()).epsilon(0.01));
    CHECK(fitted.sustained == shipped.sustained);  // steps determine it
  }
}

}  // namespace

TEST_CASE("the fit of kernels gives every shipped constant", "[calibration][kernel][processor]") {
  const KernelFit fit = fit_kernels(shipped_kernels(), shipped_catalog());
  for (const FitResiduals& group : fit.residuals) {
    CAPTURE(group.what);
    CHECK(group.converged);
  }
  CHECK(fit.values.size() > 100);
  check_shipped(fit.values);
  const InferenceExtras extras = inference_extras();
  const std::map<std::string, double> shipped{
      {"fp8.bytes", extras.fp8.bytes},           {"fp8.fixed", extras.fp8.fixed.in(us)},
      {"nvfp4.bytes", extras.nvfp4.bytes},       {"nvfp4.fixed", extras.nvfp4.fixed.in(us)},
      {"cache_passes", extras.cache_passes},     {"query_passes", extras.query_passes},
      {"cache_fixed", extras.cache_fixed.in(us)}};
  CHECK(fit.extra_values.size() == shipped.size());
  for (const FittedValue& value : fit.extra_values) {
    CAPTURE(value.key, value.text, value.deviation);
    CHECK(std::abs(std::log(shipped.at(value.key) / value.value)) < same_fit * value.deviation);
    CHECK_FALSE(value.at_bound);
  }
  check_products(fit);
}

TEST_CASE("the fit of collectives gives every shipped constant",
          "[calibration][collective][processor]") {
  const CollectiveFit fit = fit_collectives(sweeps(), shipped_catalog());
  for (const FitResiduals& group : fit.residuals) {
    CAPTURE(group.what);
    CHECK(group.converged);
  }
  CHECK(fit.values.size() > 300);
  check_shipped(fit.values);
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
