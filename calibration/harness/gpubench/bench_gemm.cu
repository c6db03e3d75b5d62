// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "calibration/harness/gpubench/bench.hpp"
#include "calibration/harness/gpubench/gemm.hpp"

namespace foretrain::harness {
namespace {

constexpr double seconds_per_case = 0.05;

void describe(JsonLine& line, const GemmCase& what, const GemmShape& shape) {
  line.text("dtype", name(what.type)).text("pass", name(what.pass));
  line.whole("tokens", what.shape.tokens).whole("out", what.shape.out).whole("in", what.shape.in);
  line.whole("batch", what.shape.batch);
  line.whole("m", shape.m).whole("n", shape.n).whole("k", shape.k);
}

void write_times(Bench& bench, const GemmCase& what, const Gemm& gemm, const char* mode,
                 const Sample& seconds, const GemmCheck& checked) {
  bench.write("gemm", [&](JsonLine& line) {
    describe(line, what, gemm_shape(what.shape, what.pass));
    line.text("mode", mode);
    add_times(line, seconds);
    line.number("tflops", gemm.flops() / seconds.median * 1e-12);
    line.number("check_error", checked.worst).truth("check_passed", checked.worst <= 1.0);
  });
}

/// Lets the GPU rest for as long as it worked: power control answers to averages, and what is told
/// as a burst would run at the clock of the cases before it.
class Rest {
 public:
  Rest() = default;
  Rest(const Rest&) = delete;
  Rest& operator=(const Rest&) = delete;
  ~Rest() { std::this_thread::sleep_for(std::chrono::steady_clock::now() - begin_); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void bench_case(Bench& bench, const GemmCase& what) {
  const Rest rest;
  try {
    const Gemm gemm{what};
    const GemmCheck checked = gemm.verify(bench.stream());
    const Work work = [&gemm](cudaStream_t on) { gemm.run(on); };
    write_times(bench, what, gemm, "warm", measure_bursts(bench.stream(), work, seconds_per_case),
                checked);
    write_times(bench, what, gemm, "cold",
                measure(bench.stream(), work, seconds_per_case, bench.cold_caches()), checked);
  } catch (const CudaError& error) {
    // A sticky error makes the next call fail too; then the program ends with it.
    cudaGetLastError();
    check(cudaDeviceSynchronize());
    bench.write("skipped", [&](JsonLine& line) {
      describe(line, what, gemm_shape(what.shape, what.pass));
      line.text("reason", error.what());
    });
  }
}

}  // namespace

void bench_gemm(Bench& bench, const std::vector<GemmCase>& cases, double until) {
  std::size_t done = 0;
  while (done < cases.size() && bench.left(until) > 0.0) bench_case(bench, cases[done++]);
  bench.write_coverage("gemm", done, cases.size());
}

void bench_sustained(Bench& bench, NumberType type, double seconds) {
  const GemmCase what{{8192, 8192, 8192}, GemmPass::forward, type};
  const Gemm gemm{what};
  const GemmCheck checked = gemm.verify(bench.stream());
  const Work work = [&gemm](cudaStream_t on) { gemm.run(on); };
  const double one = time_together(bench.stream(), work, 3);
  const int burst = std::max(1, static_cast<int>(std::ceil(0.1 / one)));
  const auto begin = std::chrono::steady_clock::now();
  const auto used = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  // Power control settles within a second or two: the second half counts.
  std::vector<double> settled;
  while (used() < seconds || settled.empty()) {
    const double each = time_together(bench.stream(), work, burst);
    if (used() > seconds / 2) settled.push_back(each);
  }
  write_times(bench, what, gemm, "sustained", summarize(settled), checked);
}

}  // namespace foretrain::harness
