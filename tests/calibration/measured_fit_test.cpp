// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/measured_fit.hpp"

#include <catch2/catch.hpp>

#include <cmath>

#include "calibration/cases/kernel_case.hpp"
#include "import_test_logs.hpp"
#include "models/kernels/kernel_cost.hpp"

using namespace foretrain;
using Catch::Matchers::Contains;

namespace {

const RunCatalog& catalog() {
  static const RunCatalog loaded = load_run_catalog();
  return loaded;
}

constexpr const char* h100 = "h100-sxm5-80gb";

/// Products of a machine whose constants are known.
ImportedLog made_products(const GemmProfile& truth) {
  DeviceProfile profile = catalog().device_profiles.at(h100);
  profile.gemm[Precision::bf16] = truth;
  profile.alone.boost = Seconds{};
  const KernelDevice on{catalog().devices.at(h100), profile, Precision::bf16, true};
  ImportedLog log;
  log.file = "made.jsonl";
  log.facts.device = h100;
  for (const double m : {256.0, 1024.0, 4096.0, 8192.0})
    for (const double n : {1024.0, 4096.0, 14336.0})
      for (const double k : {512.0, 4096.0, 16384.0}) {
        KernelRecord record;
        record.op = "gemm_cublaslt";
        record.gpu = h100;
        record.dtype = "bf16";
        record.m = m;
        record.n = n;
        record.shape = std::to_string(static_cast<int>(k));
        record.time_us = gemm_time({m, n, k}, on).in(us);
        record.tflops = 2.0 * m * n * k / *record.time_us * 1e-6;
        record.note = "mode=warm spread=0.01";
        log.kernels.push_back(record);
      }
  return log;
}

double value_of(const MeasuredFit& fit, const std::string& key) {
  for (const FittedValue& value : fit.values)
    if (value.key == key) return value.value;
  return NAN;
}

std::string verdict_of(const MeasuredFit& fit) {
  std::string text;
  for (const std::string& sentence : fit.verdict) text += sentence + "\n";
  return text;
}

}  // namespace

TEST_CASE("measured fit: products of known constants give them back", "[calibration][import]") {
  const MeasuredFit fit =
      fit_measured({made_products({0.75, 300.0, 0.9, 1.0, 3.0 * us})}, {h100, "", 0}, catalog());
  CHECK(value_of(fit, "gemm.bf16.efficiency") == Approx(0.75).epsilon(0.04));
  CHECK(value_of(fit, "gemm.bf16.launch") == Approx(3e-6).epsilon(0.1));
  REQUIRE(fit.residuals.size() == 1);
  CHECK(fit.residuals[0].errors.mape < 0.02);
  CHECK_THAT(verdict_of(fit), Contains("sustained clocks were not measured"));
}

TEST_CASE("measured fit: a wrong record is named and moves nothing", "[calibration][import]") {
  ImportedLog log = made_products({0.75, 300.0, 0.9, 1.0, 3.0 * us});
  const MeasuredFit clean = fit_measured({log}, {h100, "", 0}, catalog());
  *log.kernels[20].time_us *= 10.0;
  const MeasuredFit fit = fit_measured({log}, {h100, "", 0}, catalog());
  REQUIRE(fit.outliers.size() == 1);
  CHECK_THAT(fit.outliers[0].what, Contains("gemm bf16 4096x"));
  for (const FittedValue& value : clean.values)
    if (value.key.starts_with("gemm.bf16."))
      CHECK(value_of(fit, value.key) == Approx(value.value).epsilon(0.02));
  CHECK_THAT(verdict_of(fit), Contains("1 records are outliers"));
}

TEST_CASE("measured fit: sustained clocks are the ratio to the fit, and told",
          "[calibration][import]") {
  ImportedLog log = made_products({0.75, 300.0, 0.9, 1.0, 3.0 * us});
  log.facts.highest_clock_mhz = 1980.0;
  KernelRecord slow;
  for (const KernelRecord& record : log.kernels)
    if (*record.m == 8192.0 && *record.n == 14336.0 && record.shape == "16384") slow = record;
  *slow.time_us /= 0.88;
  *slow.tflops *= 0.88;
  slow.note = "mode=sustained clock=1700 power=698";
  log.kernels.push_back(slow);
  const MeasuredFit fit = fit_measured({log}, {h100, "", 0}, catalog());
  CHECK(value_of(fit, "gemm.bf16.sustained") == Approx(0.88).epsilon(0.03));
  CHECK_THAT(verdict_of(fit), Contains("runs 12 % below burst (clock 1700 of 1980 MHz, 698 W)"));
}

TEST_CASE("measured fit: held-out records are the same every time and out of the fit",
          "[calibration][import]") {
  const ImportedLog log = made_products({0.75, 300.0, 0.9, 1.0, 3.0 * us});
  int held = 0;
  for (const KernelRecord& record : log.kernels) held += is_held_out(record, 4) ? 1 : 0;
  CHECK(held > 3);
  CHECK(held < 18);
  CHECK_FALSE(is_held_out(log.kernels[0], 0));
  const MeasuredFit fit = fit_measured({log}, {h100, "", 4}, catalog());
  CHECK(fit.held_out == held);
  CHECK(fit.residuals.at(0).errors.count == 36 - held);
}

TEST_CASE("measured fit: too few records of a kind leave it alone", "[calibration][import]") {
  ImportedLog log = made_products({0.75, 300.0, 0.9, 1.0, 3.0 * us});
  log.kernels.resize(3);
  CHECK(fit_measured({log}, {h100, "", 0}, catalog()).values.empty());
}

TEST_CASE("measured fit: sweeps of two hosts say that more hosts extrapolate",
          "[calibration][import]") {
  ImportOptions options{"NVIDIA A100-SXM4-80GB", 2, 8, "", "", "", "ib-hdr"};
  const ImportedLog log = imported(fixture("nccl_tests_azure_ndv4.txt"), options).log;
  const MeasuredFit fit = fit_measured({log}, {"a100-sxm4-80gb", "ib-hdr", 0}, catalog());
  CHECK_THAT(verdict_of(fit),
             Contains("2-node NCCL data only: multi-node predictions extrapolate"));
  CHECK_THAT(verdict_of(fit), Contains("neither all-gather nor reduce-scatter was measured"));
  CHECK_THAT(verdict_of(fit), Contains("is noisy: its points are 10 % off their own curve"));
  CHECK(std::isfinite(value_of(fit, "protocols.simple.hop")));
}

TEST_CASE("measured fit: sweeps of one operation alone give finite constants, or none",
          "[calibration][import]") {
  for (const int nodes : {1, 2, 4})
    for (const char* op :
         {"all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "sendrecv"})
      for (const int points : {1, 4, 31}) {
        CAPTURE(op, nodes, points);
        ImportedLog log;
        log.facts.device = h100;
        for (int i = 0; i < points; ++i) {
          SweepRecord record;
          record.sweep = record.source = "mine";
          record.collective = op;
          record.gpu = h100;
          record.nodes = nodes;
          record.gpus_per_node = 8;
          record.size_bytes = std::ldexp(8.0, i);
          record.time_us = 15.0 + record.size_bytes / 2.0e5;
          record.host = "dgx-h100";
          record.fabric = "ib-ndr";
          log.sweeps.push_back(record);
        }
        MeasuredFit fit;
        REQUIRE_NOTHROW(fit = fit_measured({log}, {h100, "ib-ndr", 0}, catalog()));
        for (const FittedValue& value : fit.values) {
          CAPTURE(value.key);
          CHECK(value.value > 0.0);
          CHECK(std::isfinite(value.value));
        }
      }
}

TEST_CASE("measured fit: a slow rail is named", "[calibration][import]") {
  ImportedLog log;
  for (int i = 0; i < 8; ++i)
    log.links.push_back({"nic-write", "mlx5_" + std::to_string(i), 8388608.0, i == 3 ? 24.5 : 49.0,
                         std::nullopt, i + 1});
  const MeasuredFit fit = fit_measured({log}, {h100, "", 0}, catalog());
  CHECK_THAT(verdict_of(fit), Contains("rail 3 (mlx5_3) is slow: 24.5 of 49.0 GB/s"));
}

TEST_CASE("measured fit: what the harness measured of a GPU is read whole and fits",
          "[calibration][import]") {
  // A run of 75 s on an H200, of which no constant was fitted to anything.
  const Imported real = imported(repository_file("calibration/measured/own/gpubench-h200.jsonl"));
  CHECK(real.errors.empty());
  CHECK(real.log.flagged.empty());
  CHECK(real.log.facts.device == "h200");
  REQUIRE(real.log.kernels.size() > 900);

  const MeasuredFit fit = fit_measured({real.log}, {"h200", "", 5}, catalog());
  REQUIRE(fit.residuals.size() == 3);
  for (const FitResiduals& of : fit.residuals) {
    CAPTURE(of.what);
    CHECK(of.errors.median < (of.what == "memory" ? 0.12 : 0.04));
  }
  const DeviceProfile& shipped = catalog().device_profiles.at("h200");
  CHECK(value_of(fit, "gemm.bf16.efficiency") ==
        Approx(shipped.gemm.at(Precision::bf16).efficiency).epsilon(0.03));
  CHECK(value_of(fit, "gemm.bf16.sustained") ==
        Approx(shipped.gemm.at(Precision::bf16).sustained).epsilon(0.03));
}
