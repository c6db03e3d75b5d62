// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <ctime>

#include "calibration/harness/gpubench/bench.hpp"

namespace foretrain::harness {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

template <typename T>
void add(JsonLine& line, const char* key, const std::optional<T>& value) {
  if (value)
    line.number(key, static_cast<double>(*value));
  else
    line.missing(key);
}

}  // namespace

Bench::Bench(int device, double budget_s, std::ostream& out)
    : device_{device}, budget_s_{budget_s}, out_{out} {
  check(cudaSetDevice(device));
  check(cudaGetDeviceProperties(&properties_, device));
  std::array<char, 32> bus{};
  check(cudaDeviceGetPCIBusId(bus.data(), bus.size(), device));
  bus_id_ = bus.data();
}

double Bench::left(double share) const {
  const std::chrono::duration<double> used = std::chrono::steady_clock::now() - begin_;
  return budget_s_ * share - used.count();
}

Work Bench::cold_caches() {
  if (flush_.bytes() == 0)
    flush_ = DeviceBuffer{2 * static_cast<std::size_t>(properties_.l2CacheSize)};
  return
      [this](cudaStream_t on) { check(cudaMemsetAsync(flush_.as<void>(), 0, flush_.bytes(), on)); };
}

void Bench::write(const std::string& record, const std::function<void(JsonLine&)>& fill) {
  JsonLine line;
  line.text("record", record);
  fill(line);
  const GpuState now = state();
  add(line, "sm_clock_mhz", now.sm_clock_mhz);
  add(line, "power_w", now.power_w);
  add(line, "temperature_c", now.temperature_c);
  add(line, "throttle_reasons", now.throttle_reasons);
  out_ << line.str() << '\n' << std::flush;
}

void Bench::write_coverage(const std::string& group, std::size_t done, std::size_t all) {
  write("coverage", [&](JsonLine& line) {
    line.text("group", group)
        .whole("measured", static_cast<std::int64_t>(done))
        .whole("cases", static_cast<std::int64_t>(all));
  });
}

void add_times(JsonLine& line, const Sample& seconds) {
  line.whole("count", seconds.count)
      .number("minimum_us", seconds.minimum * 1e6)
      .number("median_us", seconds.median * 1e6)
      .number("p90_us", seconds.p90 * 1e6)
      .number("spread", seconds.spread());
}

void write_device(Bench& bench) {
  const cudaDeviceProp& gpu = bench.properties();
  const GpuFacts facts = bench.nvml().facts(bench.bus_id());
  int driver = 0;
  int runtime = 0;
  check(cudaDriverGetVersion(&driver));
  check(cudaRuntimeGetVersion(&runtime));
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes));
  bench.write("device", [&](JsonLine& line) {
    line.text("schema", "gpubench/1").text("date", utc_now()).text("name", gpu.name);
    line.text("pci_bus_id", bench.bus_id()).text("driver", facts.driver);
    line.whole("cuda_driver", driver).whole("cuda_runtime", runtime);
    line.whole("cublaslt", static_cast<std::int64_t>(cublasLtGetVersion()));
    line.text("capability", std::to_string(gpu.major) + "." + std::to_string(gpu.minor));
    line.whole("sm_count", gpu.multiProcessorCount).whole("l2_bytes", gpu.l2CacheSize);
    line.whole("memory_bytes", static_cast<std::int64_t>(total_bytes));
    line.whole("memory_free_bytes", static_cast<std::int64_t>(free_bytes));
    line.whole("memory_bus_bits", attribute(cudaDevAttrGlobalMemoryBusWidth, bench.device()));
    line.whole("memory_clock_khz", attribute(cudaDevAttrMemoryClockRate, bench.device()));
    add(line, "power_limit_w", facts.power_limit_w);
    add(line, "highest_sm_clock_mhz", facts.highest_sm_clock_mhz);
    add(line, "pcie_generation", facts.pcie_generation);
    add(line, "pcie_width", facts.pcie_width);
    if (facts.ecc)
      line.truth("ecc", *facts.ecc);
    else
      line.missing("ecc");
  });
}

}  // namespace foretrain::harness
