// SPDX-License-Identifier: Apache-2.0
#include "models/kernels/kernel_cost.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/models/example_job.hpp"

using namespace foretrain;

namespace {

struct KernelRow {
  std::string op, gpu, dtype, shape;
  double m = 0, n = 0, k = 0, tflops = 0;
};

double number_or_zero(const std::string& cell) { return cell == "null" ? 0.0 : std::stod(cell); }

/// Rows of calibration/measured/kernels.csv; the free text at the end may hold commas.
std::vector<KernelRow> measured(const std::string& op, const std::string& gpu) {
  std::ifstream file{FORETRAIN_SOURCE_DIR "/calibration/measured/kernels.csv"};
  REQUIRE(file.good());
  std::vector<KernelRow> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream stream{line};
    for (std::string cell; cells.size() < 9 && std::getline(stream, cell, ',');)
      cells.push_back(cell);
    if (cells.size() < 9 || cells[2] != op || cells[3] != gpu) continue;
    const bool matrix =
        cells[5] != "null" && cells[7].find_first_not_of("0123456789.") == std::string::npos;
    rows.push_back({cells[2], cells[3], cells[4], cells[7], number_or_zero(cells[5]),
                    number_or_zero(cells[6]), matrix ? std::stod(cells[7]) : 0.0,
                    number_or_zero(cells[8])});
  }
  return rows;
}

double median(std::vector<double> values) {
  REQUIRE_FALSE(values.empty());
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

double gemm_median_error(const std::vector<KernelRow>& rows, const KernelDevice& on) {
  std::vector<double> errors;
  for (const KernelRow& row : rows) {
    if (row.tflops <= 0.0) continue;
    const Gemm gemm{row.m, row.n, row.k};
    const double predicted = gemm.flop() / gemm_time(gemm, on) / TFLOPS;
    errors.push_back(std::abs(row.tflops / predicted - 1.0));
  }
  return median(errors);
}

}  // namespace

TEST_CASE("gemm: isolated H100 bf16 kernels are reproduced", "[models][kernel]") {
  Job job = test::llama2_70b_job();
  job.device_profile.gemm[Precision::bf16].sustained = 1.0;  // the table is of short benchmarks
  const KernelDevice on{job.cluster.host.device, job.device_profile, Precision::bf16};
  std::vector<KernelRow> rows = measured("gemm", "H100-SXM-80GB");
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [](const KernelRow& r) { return r.dtype != "bfloat16"; }),
             rows.end());
  REQUIRE(rows.size() == 512);
  CHECK(gemm_median_error(rows, on) < 0.06);
}

TEST_CASE("gemm: A100 kernels under a power limit are reproduced", "[models][kernel]") {
  Job job = test::llama2_70b_job();
  Device& device = job.cluster.host.device;
  device.multiprocessors = 108;
  device.memory_bandwidth = 1.935 * TBps;
  device.peak[Precision::bf16] = 312.0 * TFLOPS;
  job.device_profile.gemm[Precision::bf16] = {0.795, 150.0, 0.87, 1.0, 2.0 * us};
  const KernelDevice on{device, job.device_profile, Precision::bf16};
  const std::vector<KernelRow> rows = measured("gemm_TN", "A100-PCIe");
  REQUIRE(rows.size() == 61);
  CHECK(gemm_median_error(rows, on) < 0.025);
}

TEST_CASE("gemm: groups of a kernel library on A100 are reproduced", "[models][kernel]") {
  // calibration/measured/kernels.csv, grouped_gemm_fwd and bwd_grad_act: 40 and 20 groups with
  // 616 and 1,232 rows each, TFLOP/s as SimuMax measured them.
  Job job = test::llama2_70b_job();
  Device& device = job.cluster.host.device;
  device.multiprocessors = 108;
  device.memory_bandwidth = 1.935 * TBps;
  device.peak[Precision::bf16] = 312.0 * TFLOPS;
  job.device_profile.gemm[Precision::bf16] = {0.7908, 126.0, 0.862, 1.0, 1.71 * us};
  const KernelDevice on{device, job.device_profile, Precision::bf16};
  const auto error = [&](const Gemm& gemm, double tflops) {
    return gemm.flop() / grouped_gemm_time(gemm, on) / TFLOPS / tflops - 1.0;
  };
  const Gemm few{616, 3072, 5120, 40};
  const Gemm many{1232, 5120, 1536, 20};
  CHECK(std::abs(error(few, 196.98)) < 0.1);
  CHECK(std::abs(error(many, 210.74)) < 0.1);
  CHECK(error(few, 196.98) + error(few.data_gradient(), 211.88) < 0.2);
}

TEST_CASE("gemm: groups lie between one batched product and products alone",
          "[models][kernel][property]") {
  const Job job = test::llama2_70b_job();
  const KernelDevice on{job.cluster.host.device, job.device_profile, Precision::bf16};
  const Gemm one{GENERATE(100.0, 600.0, 4096.0), GENERATE(640.0, 7168.0), GENERATE(512.0, 8192.0)};
  Gemm groups = one;
  groups.batch = GENERATE(2.0, 16.0, 100.0);
  const Seconds time = grouped_gemm_time(groups, on);
  CAPTURE(one.m, one.n, one.k, groups.batch);
  CHECK(time >= gemm_time(groups, on));
  CHECK(time <= groups.batch * gemm_time(one, on));
  CHECK(grouped_pass_times(groups, on).forward == time);
}

TEST_CASE("gemm: never faster than the peak, never faster than memory",
          "[models][kernel][property]") {
  const Job job = test::llama2_70b_job();
  const KernelDevice on{job.cluster.host.device, job.device_profile, Precision::bf16};
  const double m = GENERATE(1.0, 16.0, 100.0, 4096.0, 100000.0);
  const double n = GENERATE(1.0, 128.0, 5000.0, 32768.0);
  const double k = GENERATE(1.0, 64.0, 8192.0);
  const Gemm gemm{m, n, k};
  const Seconds time = gemm_time(gemm, on);
  CAPTURE(m, n, k);
  CHECK(time >= gemm.flop() / job.cluster.host.device.peak_of(Precision::bf16));
  CHECK(time >= Bytes{2.0 * (m * k + k * n + m * n)} / job.cluster.host.device.memory_bandwidth);
}

TEST_CASE("gemm: a faster device is never slower", "[models][kernel][property]") {
  Job job = test::llama2_70b_job();
  const Gemm gemm{GENERATE(100.0, 4096.0), GENERATE(640.0, 7168.0), GENERATE(512.0, 8192.0)};
  const KernelDevice on{job.cluster.host.device, job.device_profile, Precision::bf16};
  const Seconds before = gemm_time(gemm, on);
  job.cluster.host.device.peak[Precision::bf16] *= 2.0;
  CHECK(gemm_time(gemm, on) <= before);
  job.cluster.host.device.memory_bandwidth *= 2.0;
  CHECK(gemm_time(gemm, on) < before);
}

TEST_CASE("attention: FlashAttention-2 on A100, head 128, causal, as its authors plot it",
          "[models][kernel]") {
  Job job = test::llama2_70b_job();
  Device& device = job.cluster.host.device;
  device.peak[Precision::bf16] = 312.0 * TFLOPS;
  job.device_profile.attention.rate = 209.0 * TFLOPS;
  job.device_profile.attention.tiles_half = 150.0;
  job.device_profile.attention.small_head = 0.9;
  const KernelDevice on{device, job.device_profile, Precision::bf16};
  // forward + backward TFLOP/s with 16k tokens and hidden size 2048 (kernels.csv,
  // fa2_fwd_bwd_causal)
  const std::array lengths{512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0};
  const std::array plotted{99.0, 133.0, 155.0, 173.0, 182.0, 189.0};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    AttentionWork work{16384.0 / lengths[i], 16.0, lengths[i], lengths[i], 128.0, 128.0};
    const PassTimes time = flash_attention_time(work, on, 1.0);
    const double rate = 3.5 * work.causal_forward_flop() / (time.forward + time.backward) / TFLOPS;
    CHECK(rate == Approx(plotted[i]).epsilon(0.04));
  }
}

TEST_CASE("attention: unfused pays for its scores", "[models][kernel]") {
  Job job = test::llama2_70b_job();
  job.stack.times.score_forward_bytes = 9.4;
  job.stack.times.score_backward_bytes = 13.4;
  const KernelDevice on{job.cluster.host.device, job.device_profile, Precision::bf16};
  const AttentionWork work{1.0, 8.0, 4096.0, 4096.0, 128.0, 128.0};
  const PassTimes fused = flash_attention_time(work, on, 1.0);
  const PassTimes unfused = unfused_attention_time(work, on, job.stack.times);
  CHECK(unfused.forward > 2.0 * fused.forward);
  CHECK(unfused.backward > fused.backward);
}

TEST_CASE("kernels: a missing profile is noticed before it is priced", "[models][kernel]") {
  const Job job = test::llama2_70b_job();
  const KernelDevice fp8{job.cluster.host.device, job.device_profile, Precision::fp8};
  CHECK_FALSE(has_gemm_profile(fp8));
  CHECK_THROWS_AS(gemm_time({8, 8, 8}, fp8), std::logic_error);
}

TEST_CASE("attention: heads whose width is no multiple of 8 slow unfused products",
          "[models][kernel]") {
  Job job = test::llama2_70b_job();
  job.device_profile.attention.misaligned = 12.0;
  const KernelDevice on{job.cluster.host.device, job.device_profile, Precision::bf16};
  const AttentionWork aligned{4.0, 16.0, 2048.0, 2048.0, 104.0, 104.0};
  const AttentionWork odd{4.0, 16.0, 2048.0, 2048.0, 108.0, 108.0};
  const StackTimes no_scores;
  const Seconds before = unfused_attention_time(aligned, on, no_scores).forward;
  const Seconds after = unfused_attention_time(odd, on, no_scores).forward;
  CHECK(after / before > 11.0);
  CHECK(after / before < 14.0);
}

TEST_CASE("attention: every library has a rate of its own where it was measured",
          "[models][kernel]") {
  using enum AttentionLibrary;
  DeviceProfile device;
  device.attention.rate = 480.0 * TFLOPS;
  StackTimes times;
  times.flash_factor = 0.9;
  for (const AttentionLibrary library : {flash2, flash3, vendor})
    CHECK(flash_factor(times, library, device) == Approx(0.9));  // none measured: as the vendor's
  device.attention.flash2_rate = 340.0 * TFLOPS;
  device.alone.attention.flash3 = 700.0 * TFLOPS;
  CHECK(flash_factor(times, flash3, device) == Approx(0.9));  // over what is not known
  device.alone.attention.vendor = 600.0 * TFLOPS;
  CHECK(flash_factor(times, flash2, device) == Approx(0.9 * 340.0 / 480.0));
  CHECK(flash_factor(times, flash3, device) == Approx(0.9 * 700.0 / 600.0));
  CHECK(flash_factor(times, vendor, device) == Approx(0.9));
}

TEST_CASE("attention: the plan's library wins over the stack's, whose order knows Blackwell",
          "[models][kernel]") {
  using enum AttentionLibrary;
  Job job;
  job.cluster.host.device.architecture = Architecture::blackwell;
  CHECK(job.attention_library() == vendor);
  job.stack.times.flash2 = true;
  CHECK(job.attention_library() == flash2);
  job.stack.times.flash2_to_hopper = true;
  CHECK(job.attention_library() == vendor);
  job.cluster.host.device.architecture = Architecture::hopper;
  CHECK(job.attention_library() == flash2);
  job.memory.attention_library = flash3;
  CHECK(job.attention_library() == flash3);
}
