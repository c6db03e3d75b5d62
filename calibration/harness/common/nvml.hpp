// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace foretrain::harness {

/// What the driver says of one GPU at one moment.
struct GpuState {
  std::optional<int> sm_clock_mhz;
  std::optional<int> memory_clock_mhz;
  std::optional<double> power_w;
  std::optional<int> temperature_c;
  /// Reasons for clocks below the highest: bits of NVML's clocksThrottleReasons.
  std::optional<unsigned long long> throttle_reasons;
};

struct GpuFacts {
  std::string driver;
  std::optional<double> power_limit_w;
  std::optional<int> highest_sm_clock_mhz;
  std::optional<int> pcie_generation;
  std::optional<int> pcie_width;
  std::optional<bool> ecc;
};

/// NVIDIA's management library, loaded when the program runs, so that building needs neither its
/// header nor the driver. Where it is missing every answer is empty.
class Nvml {
 public:
  Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  /// @param pci_bus_id as cudaDeviceGetPCIBusId() writes it: CUDA's order of devices is not NVML's.
  [[nodiscard]] GpuState state(const std::string& pci_bus_id) const;
  [[nodiscard]] GpuFacts facts(const std::string& pci_bus_id) const;

 private:
  template <typename Function>
  [[nodiscard]] Function* symbol(const char* name) const;
  [[nodiscard]] void* device(const std::string& pci_bus_id) const;

  void* library_ = nullptr;
};

}  // namespace foretrain::harness
