// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "calibration/harness/gpubench/cuda.hpp"

namespace foretrain::harness {
namespace {

std::string place(const std::source_location& where) {
  return std::string{where.file_name()} + ":" + std::to_string(where.line()) + ": ";
}

}  // namespace

void check(cudaError_t status, std::source_location where) {
  if (status != cudaSuccess) throw CudaError{place(where) + cudaGetErrorString(status)};
}

void check(cublasStatus_t status, std::source_location where) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw CudaError{place(where) + cublasLtGetStatusString(status)};
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_{bytes} {
  if (bytes > 0) check(cudaMalloc(&memory_, bytes));
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : memory_{std::exchange(other.memory_, nullptr)}, bytes_{std::exchange(other.bytes_, 0)} {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

// Destructors cannot report; a failure here shows at the next checked call.
DeviceBuffer::~DeviceBuffer() { cudaFree(memory_); }

Stream::Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
Stream::~Stream() { cudaStreamDestroy(stream_); }

Event::Event() { check(cudaEventCreate(&event_)); }
Event::~Event() { cudaEventDestroy(event_); }

/// What two events take with nothing between them.
static double event_seconds(cudaStream_t stream) {
  static const double seconds = [stream] {
    const Event begin;
    const Event end;
    std::vector<double> pairs;
    for (int i = 0; i < 51; ++i) {
      check(cudaEventRecord(begin.get(), stream));
      check(cudaEventRecord(end.get(), stream));
      check(cudaEventSynchronize(end.get()));
      float milliseconds = 0.0F;
      check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
      pairs.push_back(milliseconds * 1e-3);
    }
    return summarize(pairs).minimum;
  }();
  return seconds;
}

std::vector<double> time_each(cudaStream_t stream, const Work& work, int repeats,
                              const Work& before) {
  const double nothing = event_seconds(stream);
  const Event begin;
  const Event end;
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    if (before) before(stream);
    check(cudaEventRecord(begin.get(), stream));
    work(stream);
    check(cudaEventRecord(end.get(), stream));
    check(cudaEventSynchronize(end.get()));
    float milliseconds = 0.0F;
    check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
    seconds.push_back(std::max(milliseconds * 1e-3 - nothing, 1e-9));
  }
  return seconds;
}

double time_together(cudaStream_t stream, const Work& work, int count) {
  const Work all = [&](cudaStream_t on) {
    for (int i = 0; i < count; ++i) work(on);
  };
  return time_each(stream, all, 1).front() / count;
}

Sample measure(cudaStream_t stream, const Work& work, double budget_s, const Work& before,
               int fewest, int most) {
  const double first = time_each(stream, work, 2, before).back();
  const double fit = budget_s / std::max(first, 1e-6);
  const int repeats = std::clamp(static_cast<int>(std::min(fit, 1e6)), fewest, most);
  return summarize(time_each(stream, work, repeats, before));
}

Sample measure_bursts(cudaStream_t stream, const Work& work, double budget_s) {
  constexpr double burst_s = 2e-4;
  constexpr int fewest = 3;
  constexpr int most = 50;
  const double one = std::max(time_together(stream, work, 3), 1e-6);
  const int count = std::clamp(static_cast<int>(burst_s / one), 1, 200);
  const int bursts = std::clamp(static_cast<int>(budget_s / (one * count)), fewest, most);
  std::vector<double> seconds;
  for (int i = 0; i < bursts; ++i) seconds.push_back(time_together(stream, work, count));
  return summarize(seconds);
}

}  // namespace foretrain::harness
