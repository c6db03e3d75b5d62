// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/common/nvml.hpp"

#include <dlfcn.h>

#include <array>

namespace foretrain::harness {
namespace {

// Of the library's stable C interface (NVML API reference, driver 450 and later): a call returns 0
// when it worked, devices are opaque pointers, enumerations are ints.
using Device = void*;
using Init = int();
using ByBusId = int(const char*, Device*);
using Driver = int(char*, unsigned);
using ReadUnsigned = int(Device, unsigned*);
using ReadTyped = int(Device, int, unsigned*);
using ReadMask = int(Device, unsigned long long*);
using ReadPair = int(Device, int*, int*);

constexpr int clock_sm = 1;
constexpr int clock_memory = 2;
constexpr int sensor_gpu = 0;

std::optional<unsigned> read(ReadUnsigned* call, Device device) {
  unsigned value = 0;
  if (call == nullptr || call(device, &value) != 0) return std::nullopt;
  return value;
}

std::optional<unsigned> read(ReadTyped* call, Device device, int type) {
  unsigned value = 0;
  if (call == nullptr || call(device, type, &value) != 0) return std::nullopt;
  return value;
}

std::optional<int> as_int(std::optional<unsigned> value) {
  return value ? std::optional{static_cast<int>(*value)} : std::nullopt;
}

std::optional<double> watts(std::optional<unsigned> milliwatts) {
  return milliwatts ? std::optional{*milliwatts / 1000.0} : std::nullopt;
}

}  // namespace

Nvml::Nvml() : library_{dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)} {
  Init* start = symbol<Init>("nvmlInit_v2");
  if (start != nullptr && start() == 0) return;
  if (library_ != nullptr) dlclose(library_);
  library_ = nullptr;
}

Nvml::~Nvml() {
  if (library_ == nullptr) return;
  if (Init* stop = symbol<Init>("nvmlShutdown")) stop();
  dlclose(library_);
}

template <typename Function>
Function* Nvml::symbol(const char* name) const {
  // POSIX promises that a function's address survives the way through void*.
  return library_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library_, name));
}

void* Nvml::device(const std::string& pci_bus_id) const {
  Device device = nullptr;
  auto* find = symbol<ByBusId>("nvmlDeviceGetHandleByPciBusId_v2");
  if (find == nullptr || find(pci_bus_id.c_str(), &device) != 0) return nullptr;
  return device;
}

GpuState Nvml::state(const std::string& pci_bus_id) const {
  Device gpu = device(pci_bus_id);
  if (gpu == nullptr) return {};
  GpuState state;
  auto* clock = symbol<ReadTyped>("nvmlDeviceGetClockInfo");
  state.sm_clock_mhz = as_int(read(clock, gpu, clock_sm));
  state.memory_clock_mhz = as_int(read(clock, gpu, clock_memory));
  state.power_w = watts(read(symbol<ReadUnsigned>("nvmlDeviceGetPowerUsage"), gpu));
  state.temperature_c =
      as_int(read(symbol<ReadTyped>("nvmlDeviceGetTemperature"), gpu, sensor_gpu));
  unsigned long long reasons = 0;
  auto* throttle = symbol<ReadMask>("nvmlDeviceGetCurrentClocksThrottleReasons");
  if (throttle != nullptr && throttle(gpu, &reasons) == 0) state.throttle_reasons = reasons;
  return state;
}

GpuFacts Nvml::facts(const std::string& pci_bus_id) const {
  GpuFacts facts;
  std::array<char, 96> version{};
  auto* driver = symbol<Driver>("nvmlSystemGetDriverVersion");
  if (driver != nullptr && driver(version.data(), version.size()) == 0)
    facts.driver = version.data();
  Device gpu = device(pci_bus_id);
  if (gpu == nullptr) return facts;
  facts.power_limit_w = watts(read(symbol<ReadUnsigned>("nvmlDeviceGetEnforcedPowerLimit"), gpu));
  facts.highest_sm_clock_mhz =
      as_int(read(symbol<ReadTyped>("nvmlDeviceGetMaxClockInfo"), gpu, clock_sm));
  facts.pcie_generation =
      as_int(read(symbol<ReadUnsigned>("nvmlDeviceGetCurrPcieLinkGeneration"), gpu));
  facts.pcie_width = as_int(read(symbol<ReadUnsigned>("nvmlDeviceGetCurrPcieLinkWidth"), gpu));
  int current = 0;
  int pending = 0;
  auto* ecc = symbol<ReadPair>("nvmlDeviceGetEccMode");
  if (ecc != nullptr && ecc(gpu, &current, &pending) == 0) facts.ecc = current != 0;
  return facts;
}

}  // namespace foretrain::harness
