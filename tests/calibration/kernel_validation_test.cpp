// SPDX-License-Identifier: Apache-2.0
// Measured kernels against the cost models, on the constants that were fitted to part of them.
#include "calibration/validate/validations.hpp"

#include <catch2/catch.hpp>

#include <string_view>

#include "tests/calibration/measured_records.hpp"

using namespace foretrain;

namespace {

const std::vector<RecordCheck>& kernel_checks() {
  static const std::vector<RecordCheck> all = check_kernels(shipped_kernels(), shipped_catalog());
  return all;
}

CheckSummary summary_of(std::string_view source, std::string_view group, std::string_view item) {
  for (const CheckSummary& line : summarize(kernel_checks()))
    if (line.source == source && line.group == group && line.item == item) return line;
  FAIL("no summary of " << source << ", " << group << ", " << item);
  return {};
}

}  // namespace

TEST_CASE("kernels: every row is predicted or skipped with a reason", "[calibration][kernel]") {
  REQUIRE(kernel_checks().size() == 4113 + 4173);
  int predicted = 0;
  for (const RecordCheck& check : kernel_checks()) {
    CAPTURE(check.id);
    CHECK(check.quantity == kernel_quantity);
    CHECK(check.skipped != check.why.empty());
    if (check.skipped) continue;
    ++predicted;
    CHECK(check.predicted > 0.0);
    CHECK(check.low <= check.predicted);
    CHECK(check.predicted <= check.high);
  }
  CHECK(predicted > 2800);
}

TEST_CASE("kernels: matrix products of H100 and A100 within 5 % in the median of all",
          "[calibration][kernel]") {
  CHECK(summary_of("aiconfigurator", "gemm bf16", "h100-sxm5-80gb gemm").median < 0.045);
  CHECK(summary_of("aiconfigurator", "gemm bf16", "a100-sxm4-80gb gemm").median < 0.06);
  CHECK(summary_of("SimuMax", "gemm bf16", "a100-pcie-80gb gemm_TN").median < 0.025);
  CHECK(summary_of("SimuMax", "gemm bf16", "a100-pcie-80gb gemm_NN").median < 0.025);
  CHECK(summary_of("all", "gemm bf16", "").median < 0.05);
}

TEST_CASE("kernels: FP8 products follow from the same form once quantising is in it",
          "[calibration][kernel]") {
  CHECK(summary_of("aiconfigurator", "gemm fp8", "h100-sxm5-80gb gemm").median < 0.03);
}

TEST_CASE("kernels: fused attention within 8 % in the median", "[calibration][kernel]") {
  CHECK(summary_of("all", "flash attention", "").median < 0.07);
  const char* const fa3 = "h100-sxm5-80gb attn_prefill_causal:vllm_flash_attn_fa3";
  CHECK(summary_of("aiconfigurator", "flash attention", fa3).median < 0.08);
  const char* const vendor = "h100-sxm5-80gb attn_prefill_causal:torch_flow";
  CHECK(summary_of("aiconfigurator", "flash attention", vendor).median < 0.08);
  const char* const a100 = "a100-sxm4-80gb attn_prefill_causal:vllm_flash_attn";
  CHECK(summary_of("aiconfigurator", "flash attention", a100).median < 0.08);
}

TEST_CASE("kernels: elementwise traffic within 5 % in the median", "[calibration][kernel]") {
  for (const char* const op : {"add", "relu", "tanh"})
    CHECK(summary_of("NeuSight", "streaming", std::string("a100-pcie-80gb ") + op).median < 0.05);
}

TEST_CASE("kernels: bands hold most measurements, not all", "[calibration][kernel]") {
  for (const char* const group : {"gemm bf16", "flash attention"}) {
    const double covered = summary_of("all", group, "").covered;
    CAPTURE(group, covered);
    CHECK(covered > 0.72);
    CHECK(covered < 0.95);
  }
}

TEST_CASE("kernels: products and attention of Blackwell within 7 % in the median of each device",
          "[calibration][kernel]") {
  for (const char* const device : {"b300", "gb200", "gb300"}) {
    CAPTURE(device);
    const std::string gemm = std::string(device) + " gemm";
    CHECK(summary_of("aiconfigurator", "gemm bf16", gemm).median < 0.07);
    CHECK(summary_of("aiconfigurator", "gemm nvfp4", gemm).median < 0.06);
  }
  for (const char* const device : {"b200", "b300", "gb300"})
    CHECK(summary_of("aiconfigurator", "gemm fp8", std::string(device) + " gemm").median < 0.055);
}

TEST_CASE("kernels: products of H200, which nothing is fitted to, follow from those of H100",
          "[calibration][kernel]") {
  CHECK(summary_of("aiconfigurator", "gemm bf16", "h200 gemm").median < 0.1);
  CHECK(summary_of("aiconfigurator", "gemm fp8", "h200 gemm").median < 0.1);
}
