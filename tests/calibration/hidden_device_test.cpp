// SPDX-License-Identifier: Apache-2.0
#include "calibration/validate/hidden_device.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "models/collectives/price.hpp"
#include "models/kernels/kernel_cost.hpp"
#include "scenarios/catalog/catalog_device.hpp"
#include "tests/calibration/measured_records.hpp"

using namespace foretrain;
using Catch::Matchers::Contains;

namespace {

DeviceProfile from_relative(const std::string& relative, const std::string& device) {
  return profile_in_proportion(shipped_catalog().device_profiles.at(relative),
                               shipped_catalog().devices.at(relative),
                               shipped_catalog().devices.at(device));
}

}  // namespace

TEST_CASE("hidden device: rates that last grow with peak and power, shares stay shares",
          "[calibration][hidden]") {
  const DeviceProfile relative = shipped_catalog().device_profiles.at("h100-sxm5-80gb");
  const DeviceProfile made = from_relative("h100-sxm5-80gb", "b200");
  const double peaks = 2250.0 / 989.4;
  const double power = 1000.0 / 700.0;
  CHECK(made.attention.rate / relative.attention.rate == Approx(std::sqrt(peaks * power)));
  const GemmProfile& before = relative.gemm.at(Precision::bf16);
  const GemmProfile& after = made.gemm.at(Precision::bf16);
  CHECK(after.efficiency == before.efficiency);
  CHECK(after.sustained / before.sustained == Approx(std::sqrt(power / peaks)));
  CHECK(made.memory_efficiency == relative.memory_efficiency);
  CHECK(made.provenance.trust == Trust::extrapolated);
  // Either end, peak alone or power alone, is as far away.
  CHECK(made.apart == Approx(0.5 * std::log(peaks / power)));
  // A device that power does not limit is not faster than its peak.
  CHECK(from_relative("h100-sxm5-80gb", "h20").gemm.at(Precision::bf16).sustained == 1.0);
  // Formats that a device lacks are gone.
  CHECK(from_relative("h100-sxm5-80gb", "a100-sxm4-80gb").gemm.count(Precision::fp8) == 0);
}

TEST_CASE("hidden device: relatives of relatives are further apart", "[calibration][hidden]") {
  const std::map<std::string, Device>& devices = shipped_catalog().devices;
  CHECK(shipped_catalog().device_profiles.at("b200").apart == 0.0);
  const DeviceProfile near = from_relative("b200", "gb200");
  CHECK(near.apart == Approx(0.5 * std::log((1200.0 / 2500.0) / (1000.0 / 2250.0))));
  const DeviceProfile far = profile_in_proportion(near, devices.at("gb200"), devices.at("gb300"));
  CHECK(far.apart == Approx(near.apart + 0.5 * std::log(1400.0 / 1200.0)));
}

TEST_CASE("hidden device: bands reach as far as power is in doubt", "[calibration][hidden]") {
  const Device& device = shipped_catalog().devices.at("b200");
  DeviceProfile near = from_relative("h100-sxm5-80gb", "b200");
  DeviceProfile far = near;
  near.apart = 0.0;
  const Gemm gemm{4096.0, 4096.0, 4096.0};
  const Seconds time = 1.0 * ms;
  const auto spread = [](const TimeBand& band) { return band.high / band.low; };
  const double narrow = spread(gemm_band(gemm, time, {device, near, Precision::bf16, true}));
  CHECK(spread(gemm_band(gemm, time, {device, far, Precision::bf16, true})) > 1.2 * narrow);
  // What is measured has no doubt to add.
  far.provenance.trust = Trust::measured;
  CHECK(spread(gemm_band(gemm, time, {device, far, Precision::bf16, true})) < narrow);
}

TEST_CASE("hidden device: a plan without a device keeps what is like it", "[calibration][hidden]") {
  const auto b200_tiles = [](const FitPlan& plan) {
    for (const FitConstant& constant : plan.constants)
      if (constant.profiles.front().text() == "device/b200" &&
          constant.keys.front() == "attention.tiles_half")
        return constant;
    FAIL("b200 has no attention.tiles_half");
    return FitConstant{};
  };
  RunCatalog known = shipped_catalog();
  Diagnostics diagnostics;
  const auto plan =
      read_fit_plan(measured_file("../fits/steps.yaml"), "steps.yaml", known, diagnostics);
  REQUIRE(plan);
  REQUIRE(b200_tiles(*plan).like);
  const std::size_t head = *b200_tiles(*plan).like;
  const FitPlan without = without_profiles(*plan, plan->constants[head].profiles);
  CHECK_FALSE(b200_tiles(without).like);
  CHECK(b200_tiles(without).prior == plan->constants[head].prior);
  for (const ProfileRef& gone : plan->constants[head].profiles)
    CHECK_FALSE([&] {
      const auto all = without.profiles();
      return std::find(all.begin(), all.end(), gone) != all.end();
    }());
  for (std::size_t i = 0; i < without.constants.size(); ++i)
    if (without.constants[i].like) CHECK(*without.constants[i].like < without.constants.size());
  CHECK(without_profiles(*plan, {}).constants.size() == plan->constants.size());
}

TEST_CASE("hidden device: what cannot be hidden behind what is told", "[calibration][hidden]") {
  CHECK(hiding_fault("b200", "h100-sxm5-80gb", shipped_catalog()).empty());
  CHECK(hiding_fault("h200", "h100-sxm5-80gb", shipped_catalog()).empty());
  CHECK_THAT(hiding_fault("b20", "h100-sxm5-80gb", shipped_catalog()), Contains("no device 'b20'"));
  CHECK_THAT(hiding_fault("b200", "b200", shipped_catalog()), Contains("the device itself"));
  CHECK_THAT(hiding_fault("b200", "gb300", shipped_catalog()),
             Contains("has its constants from 'b200'"));
  CHECK_THAT(hiding_fault("h100-sxm5-80gb", "h200", shipped_catalog()), Contains("called after"));
}
