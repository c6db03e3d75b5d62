// SPDX-License-Identifier: Apache-2.0
// What people call machines that the catalog has under other names, or not at all.
#include "scenarios/catalog/machine_names.hpp"

#include <catch2/catch.hpp>

#include "scenarios/catalog/device_text.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

std::string refusal_of_host(const std::string& host) {
  try {
    (void)load_scenario(FORETRAIN_SOURCE_DIR "/scenarios/llama3-8b-8xh100.yaml",
                        {{"cluster.host=" + host}, {}});
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

/// The host that comes with a device, or what is wrong.
std::string host_with(const std::string& device) {
  Diagnostics diagnostics;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{{}, {}, diagnostics, files, values};
  const auto host = host_with_device({device, "device", {}}, context);
  return host ? *host : diagnostics.sorted().front().message;
}

}  // namespace

TEST_CASE("machines: a device has the host that its file names or describes, or the only one",
          "[scenarios][catalog]") {
  CHECK(host_with("h100-sxm5-80gb") == "dgx-h100");  // `host`
  CHECK(host_with("l40s") == "l40s");                // `server`
  CHECK(host_with("A6000") == "rtx-a6000");
  CHECK(host_with("h100-96gb-hbm2e-500w") == "hgx-h100-96gb");
  CHECK(host_with("v100-32gb") ==
        "several hosts have v100-32gb; give one of them as host: dgx-1, dgx-2");
  CHECK(test::has(host_with("rtx409"), "did you mean 'rtx4090'"));
}

TEST_CASE("machines: numbers of GPUs that hosts cannot give are told with those that they can",
          "[scenarios][catalog]") {
  CHECK(share_refusal(9, "l40s", 8) ==
        "9 GPUs are not as many of every l40s, which has 8; give 8 or 16");
}

TEST_CASE("machines: a GPU that is named as a host is told its hosts", "[scenarios][catalog]") {
  const std::string text = refusal_of_host("GB300");
  CHECK(test::has(text, "gb300 is a GPU; hosts with it: "));
  CHECK(test::has(text, "dgx-gb300"));
  CHECK(test::has(refusal_of_host("H200-SXM5-141GB"), "hgx-h200"));
  CHECK(test::has(refusal_of_host("dgx-h10"), "did you mean 'dgx-h100'"));
}

TEST_CASE("machines: those that are known and not modelled say what is missing and what to do",
          "[scenarios][catalog]") {
  for (const char* name : {"MI300X", "mi325x", "MI355X", "AMD MI300X", "Gaudi 3", "TPU v5e", "trn2",
                           "Apple M4 Max", "NVL36x2", "gb200-nvl36x2"}) {
    const std::string text = refusal_of_host(name);
    CAPTURE(name, text);
    CHECK(test::has(text, "is not modelled. Missing: "));
    CHECK(test::has(text, "Instead: "));
  }
  CHECK(test::has(refusal_of_host("MI300X"), "RCCL"));
  CHECK(test::has(refusal_of_host("NVL36x2"), "cluster.domain: 36"));
}

TEST_CASE("machines: a device is like another by any of its names", "[scenarios][catalog]") {
  DeviceTextRequest request;
  request.name = "next-gpu";
  request.like = "GB200";
  request.peak = {{Precision::bf16, 3000.0 * TFLOPS}};
  request.memory = 288.0 * GB;
  request.memory_bandwidth = 8.0 * TBps;
  request.scale_up = 900.0 * GBps;
  request.power_limit = Watts{1400.0};
  CHECK(test::has(device_catalog_text(request, {}).text, "like: gb200"));
  request.like = "MI300X";
  CHECK_THROWS_WITH(device_catalog_text(request, {}), Catch::Contains("is not modelled"));
}

}  // namespace foretrain
