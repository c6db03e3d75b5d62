// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "calibration/harness/common/gemm_shapes.hpp"
#include "calibration/harness/common/json_line.hpp"
#include "calibration/harness/common/nvml.hpp"
#include "calibration/harness/gpubench/cuda.hpp"

namespace foretrain::harness {

/// One run of the program on one GPU: what all its measurements share.
class Bench {
 public:
  Bench(int device, double budget_s, std::ostream& out);

  [[nodiscard]] const cudaDeviceProp& properties() const { return properties_; }
  [[nodiscard]] const Nvml& nvml() const { return nvml_; }
  [[nodiscard]] const std::string& bus_id() const { return bus_id_; }
  [[nodiscard]] GpuState state() const { return nvml_.state(bus_id_); }
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
  [[nodiscard]] int device() const { return device_; }

  /// Seconds until `share` of the budget is used up; negative: over.
  [[nodiscard]] double left(double share = 1.0) const;
  /// Clears the L2 cache by writing twice its size.
  [[nodiscard]] Work cold_caches();
  /// Writes one record, with the device's state at this moment.
  void write(const std::string& record, const std::function<void(JsonLine&)>& fill);
  /// Tells how many of a group's cases were measured, and that the rest did not fit the budget.
  void write_coverage(const std::string& group, std::size_t done, std::size_t all);

 private:
  int device_;
  double budget_s_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::ostream& out_;
  cudaDeviceProp properties_{};
  std::string bus_id_;
  Nvml nvml_;
  Stream stream_;
  DeviceBuffer flush_;
};

/// Adds count, minimum, median, p90 and spread of a sample of seconds, in microseconds.
void add_times(JsonLine& line, const Sample& seconds);

// One file each. `until` is the share of the budget after which no further case is begun.
void write_device(Bench& bench);
void bench_gemm(Bench& bench, const std::vector<GemmCase>& cases, double until);
void bench_sustained(Bench& bench, NumberType type, double seconds);
void bench_streaming(Bench& bench, double until);
void bench_launches(Bench& bench);
void bench_copies(Bench& bench, double until);
void bench_interference(Bench& bench, double until);

}  // namespace foretrain::harness
