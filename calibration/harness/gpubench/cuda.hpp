// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

#include "calibration/harness/common/json_line.hpp"

namespace foretrain::harness {

/// A CUDA or cuBLAS call that failed, with the place of the call.
class CudaError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void check(cudaError_t status, std::source_location where = std::source_location::current());
void check(cublasStatus_t status, std::source_location where = std::source_location::current());

/// Device memory that is given back at the end of its scope.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes);
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer();

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  template <typename T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

class Stream {
 public:
  Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Work that is put on a stream and not waited for.
using Work = std::function<void(cudaStream_t)>;

/// Seconds of `work` by CUDA events, `repeats` times one by one; `before` is put on the stream
/// ahead of each and not timed (cold caches). What two events take with nothing between them is
/// taken off. @pre repeats >= 1
[[nodiscard]] std::vector<double> time_each(cudaStream_t stream, const Work& work, int repeats,
                                            const Work& before = {});

/// Mean seconds of `count` runs of `work` back to back.
[[nodiscard]] double time_together(cudaStream_t stream, const Work& work, int count);

/// Runs `work` until its times settle: first once, then as often as fits into `budget_s`, at least
/// `fewest` times and at most `most`.
[[nodiscard]] Sample measure(cudaStream_t stream, const Work& work, double budget_s,
                             const Work& before = {}, int fewest = 5, int most = 200);

/// The same of runs back to back, each sample the mean of a burst of 0.2 ms or more: what the host
/// and the events take is hidden behind short kernels, as it is in training.
[[nodiscard]] Sample measure_bursts(cudaStream_t stream, const Work& work, double budget_s);

}  // namespace foretrain::harness
