// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/model_names.hpp"

#include <catch2/catch.hpp>

using namespace foretrain;

TEST_CASE("devices are known by what drivers, tables and test machines call them",
          "[scenarios][catalog]") {
  using enum DeviceNaming;
  CHECK(device_called("nvidia geforce rtx 3090", product) == "rtx3090");
  CHECK(device_called("NVIDIA H100 80GB HBM3", product) == "h100-sxm5-80gb");
  CHECK(device_called(" Tesla V100-SXM2-32GB ", product) == "v100-32gb");
  CHECK(device_called("a100-pcie-80gb", product) == "a100-pcie-80gb");
  // "H100" alone may be any of several parts; a table that says no more means the SXM one.
  CHECK(device_called("H100", product).empty());
  CHECK(device_called("H100 (per file comment)", table) == "h100-sxm5-80gb");
  CHECK(device_called("A100-SXM4-40GB", table) == "a100-sxm4-40gb");
  CHECK(device_called("GB200", table) == "gb200");
  CHECK(device_called("H200-SXM5-141GB", product) == "h200");
  CHECK(device_called("B300-SXM", product) == "b300");
  CHECK(device_called("gb200", platform) == "gb200");
  CHECK(device_called("RTX 2080 Ti", product).empty());
}

TEST_CASE("devices: any case of a name is the device, and prefixes are not",
          "[scenarios][catalog]") {
  CHECK(device_called("h200-sxm5-141gb", DeviceNaming::table) == "h200");
  CHECK(device_called("Gb300 nvl72", DeviceNaming::table) == "gb300");
  CHECK(device_called("gb", DeviceNaming::table).empty());
  CHECK(device_called("gb3000", DeviceNaming::table).empty());
}
