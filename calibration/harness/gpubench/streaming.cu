// SPDX-License-Identifier: Apache-2.0
// Kernels bound by memory: copy, read, sum, and the shapes of layernorm, softmax and Adam.
#include <algorithm>
#include <array>
#include <cmath>

#include "calibration/harness/gpubench/bench.hpp"
#include "calibration/harness/gpubench/numbers.cuh"

namespace foretrain::harness {
namespace {

constexpr int threads = 256;

struct Rows {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

__global__ void copy_kernel(const float4* from, float4* to, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += step)
    to[i] = from[i];
}

__device__ float block_sum(float value) {
  __shared__ float parts[32];
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xFFFFFFFFU, value, offset);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0.0F;
  for (unsigned i = 0; i < blockDim.x / 32; ++i) sum += parts[i];
  __syncthreads();
  return sum;
}

__device__ float block_max(float value) {
  __shared__ float parts[32];
  for (int offset = 16; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_down_sync(0xFFFFFFFFU, value, offset));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float largest = parts[0];
  for (unsigned i = 1; i < blockDim.x / 32; ++i) largest = fmaxf(largest, parts[i]);
  __syncthreads();
  return largest;
}

/// Eight numbers, as wide as a thread can read at once.
struct alignas(16) Eight {
  __nv_bfloat162 pairs[4];
};

template <typename Visit>
__device__ void each(const Eight& eight, const Visit& visit) {
  for (const __nv_bfloat162 pair : eight.pairs) {
    const float2 both = __bfloat1622float2(pair);
    visit(both.x);
    visit(both.y);
  }
}

template <typename Change>
__device__ Eight changed(const Eight& eight, const Change& change) {
  Eight result;
  for (int i = 0; i < 4; ++i) {
    const float2 both = __bfloat1622float2(eight.pairs[i]);
    result.pairs[i] = __floats2bfloat162_rn(change(both.x), change(both.y));
  }
  return result;
}

/// Rows are read once and kept in shared memory, as library kernels do.
extern __shared__ Eight kept_row[];

/// Sum of each row: reads once, writes one number a row.
__global__ void reduce_kernel(const Eight* x, float* out, int width) {
  const Eight* row = x + static_cast<std::int64_t>(blockIdx.x) * width;
  float sum = 0.0F;
  for (int i = threadIdx.x; i < width; i += blockDim.x)
    each(row[i], [&](float value) { sum += value; });
  sum = block_sum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void layernorm_kernel(const Eight* x, Eight* y, int width) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * width;
  float sum = 0.0F;
  float squares = 0.0F;
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    kept_row[i] = x[first + i];
    each(kept_row[i], [&](float value) {
      sum += value;
      squares += value * value;
    });
  }
  const float columns = 8.0F * static_cast<float>(width);
  const float mean = block_sum(sum) / columns;
  const float variance = block_sum(squares) / columns - mean * mean;
  const float scale = rsqrtf(variance + 1e-5F);
  for (int i = threadIdx.x; i < width; i += blockDim.x)
    y[first + i] = changed(kept_row[i], [=](float value) { return (value - mean) * scale; });
}

__global__ void softmax_kernel(const Eight* x, Eight* y, int width) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * width;
  float largest = -INFINITY;
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    kept_row[i] = x[first + i];
    each(kept_row[i], [&](float value) { largest = fmaxf(largest, value); });
  }
  largest = block_max(largest);
  float sum = 0.0F;
  for (int i = threadIdx.x; i < width; i += blockDim.x)
    each(kept_row[i], [&](float value) { sum += __expf(value - largest); });
  const float scale = 1.0F / block_sum(sum);
  for (int i = threadIdx.x; i < width; i += blockDim.x)
    y[first + i] =
        changed(kept_row[i], [=](float value) { return __expf(value - largest) * scale; });
}

/// Reads a gradient, weight and two moments, writes weight, moments and a bf16 copy: 30 bytes.
__global__ void adam_kernel(const float* gradient, float* weight, float* first, float* second,
                            __nv_bfloat16* copy, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += step) {
    const float g = gradient[i];
    const float m = 0.9F * first[i] + 0.1F * g;
    const float v = 0.95F * second[i] + 0.05F * g * g;
    const float w = weight[i] - 1e-4F * m * rsqrtf(v + 1e-16F);
    first[i] = m;
    second[i] = v;
    weight[i] = w;
    copy[i] = __float2bfloat16(w);
  }
}

struct Result {
  Sample seconds;
  double bytes = 0.0;
  double error = 0.0;  ///< largest distance from the reference
  double allowed = 0.0;
};

void write_result(Bench& bench, const char* kernel, const char* type, Rows size,
                  const Result& result) {
  bench.write("memory_kernel", [&](JsonLine& line) {
    line.text("kernel", kernel).text("dtype", type);
    line.whole("rows", size.rows).whole("columns", size.columns).number("bytes", result.bytes);
    add_times(line, result.seconds);
    line.number("gb_per_s", result.bytes / result.seconds.median * 1e-9);
    line.number("check_error", result.error).truth("check_passed", result.error <= result.allowed);
  });
}

template <typename T>
std::vector<T> read_back(const DeviceBuffer& buffer, std::size_t first, std::size_t count) {
  std::vector<T> host(count);
  check(cudaMemcpy(host.data(), buffer.as<T>() + first, count * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}

int grid(const Bench& bench) { return bench.properties().multiProcessorCount * 16; }

void bench_copy(Bench& bench, std::int64_t bytes) {
  const auto count = bytes / static_cast<std::int64_t>(sizeof(float4));
  const DeviceBuffer from{static_cast<std::size_t>(bytes)};
  const DeviceBuffer to{static_cast<std::size_t>(bytes)};
  fill_random<<<1024, threads, 0, bench.stream()>>>(from.as<float>(),
                                                    static_cast<std::uint64_t>(count) * 4, 3);
  const Work work = [&](cudaStream_t on) {
    copy_kernel<<<grid(bench), threads, 0, on>>>(from.as<float4>(), to.as<float4>(), count);
    check(cudaGetLastError());
  };
  Result result{measure(bench.stream(), work, 0.05, bench.cold_caches())};
  result.bytes = 2.0 * static_cast<double>(bytes);
  const std::size_t some = static_cast<std::size_t>(std::min<std::int64_t>(count * 4, 4096));
  const std::vector<float> seen = read_back<float>(to, 0, some);
  for (std::size_t i = 0; i < some; ++i)
    result.error = std::max(result.error, std::abs(static_cast<double>(seen[i]) -
                                                   static_cast<double>(random_value(3, i))));
  write_result(bench, "copy", "fp32", {1, count * 4}, result);
}

/// The first row of what a row-wise kernel should give, in double precision.
template <typename Reference>
void bench_rows(
    Bench& bench, const char* kernel, Rows size, double passes, double allowed,
    const std::function<void(cudaStream_t, const DeviceBuffer&, const DeviceBuffer&)>& run,
    const Reference& error) {
  const auto count = static_cast<std::size_t>(size.rows * size.columns);
  const DeviceBuffer x{count * sizeof(__nv_bfloat16)};
  const DeviceBuffer y{
      std::max(count * sizeof(__nv_bfloat16), static_cast<std::size_t>(size.rows) * sizeof(float))};
  fill_random<<<1024, threads, 0, bench.stream()>>>(x.as<__nv_bfloat16>(), count, 5);
  const Work work = [&](cudaStream_t on) {
    run(on, x, y);
    check(cudaGetLastError());
  };
  Result result{measure(bench.stream(), work, 0.05, bench.cold_caches())};
  result.bytes = passes * static_cast<double>(count) * sizeof(__nv_bfloat16);
  result.allowed = allowed;
  std::vector<double> row;
  for (const __nv_bfloat16 value :
       read_back<__nv_bfloat16>(x, 0, static_cast<std::size_t>(size.columns)))
    row.push_back(static_cast<double>(__bfloat162float(value)));
  result.error = error(row, y);
  write_result(bench, kernel, "bf16", size, result);
}

double mean_of(const std::vector<double>& row) {
  double sum = 0.0;
  for (const double value : row) sum += value;
  return sum / static_cast<double>(row.size());
}

double largest_distance(const std::vector<double>& expected, const DeviceBuffer& y) {
  double worst = 0.0;
  const auto seen = read_back<__nv_bfloat16>(y, 0, expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = static_cast<double>(__bfloat162float(seen[i]));
    worst = std::max(worst, std::abs(value - expected[i]) / (std::abs(expected[i]) + 1e-2));
  }
  return worst;
}

double layernorm_error(const std::vector<double>& row, const DeviceBuffer& y) {
  const double mean = mean_of(row);
  double variance = 0.0;
  for (const double value : row) variance += (value - mean) * (value - mean);
  const double scale = 1.0 / std::sqrt(variance / static_cast<double>(row.size()) + 1e-5);
  std::vector<double> expected;
  for (const double value : row) expected.push_back((value - mean) * scale);
  return largest_distance(expected, y);
}

double softmax_error(const std::vector<double>& row, const DeviceBuffer& y) {
  double sum = 0.0;
  for (const double value : row) sum += std::exp(value);
  std::vector<double> expected;
  for (const double value : row) expected.push_back(std::exp(value) / sum);
  return largest_distance(expected, y);
}

double reduce_error(const std::vector<double>& row, const DeviceBuffer& y) {
  const double sum = mean_of(row) * static_cast<double>(row.size());
  return std::abs(static_cast<double>(read_back<float>(y, 0, 1).front()) - sum) /
         std::sqrt(static_cast<double>(row.size()));
}

void bench_row_kernels(Bench& bench, Rows size) {
  const auto rows = static_cast<unsigned>(size.rows);
  const int width = static_cast<int>(size.columns / 8);
  const std::size_t kept = static_cast<std::size_t>(width) * sizeof(Eight);
  const auto launch = [&](auto kernel) {
    return [=](cudaStream_t on, const DeviceBuffer& x, const DeviceBuffer& y) {
      kernel<<<rows, threads, kept, on>>>(x.as<Eight>(), y.as<Eight>(), width);
    };
  };
  bench_rows(bench, "layernorm", size, 2.0, 2e-2, launch(layernorm_kernel), layernorm_error);
  bench_rows(bench, "softmax", size, 2.0, 2e-2, launch(softmax_kernel), softmax_error);
  const auto reduce = [=](cudaStream_t on, const DeviceBuffer& x, const DeviceBuffer& y) {
    reduce_kernel<<<rows, threads, 0, on>>>(x.as<Eight>(), y.as<float>(), width);
  };
  bench_rows(bench, "reduce", size, 1.0, 1e-3, reduce, reduce_error);
}

void bench_adam(Bench& bench, std::int64_t count) {
  const auto words = static_cast<std::size_t>(count);
  std::array<DeviceBuffer, 4> state;
  for (std::size_t i = 0; i < state.size(); ++i) {
    state[i] = DeviceBuffer{words * sizeof(float)};
    check(cudaMemset(state[i].as<void>(), 0, state[i].bytes()));
  }
  const DeviceBuffer copy{words * sizeof(__nv_bfloat16)};
  fill_random<<<1024, threads, 0, bench.stream()>>>(state[0].as<float>(), words, 7);
  const Work work = [&](cudaStream_t on) {
    adam_kernel<<<grid(bench), threads, 0, on>>>(state[0].as<float>(), state[1].as<float>(),
                                                 state[2].as<float>(), state[3].as<float>(),
                                                 copy.as<__nv_bfloat16>(), count);
    check(cudaGetLastError());
  };
  work(bench.stream());
  check(cudaStreamSynchronize(bench.stream()));
  Result result;
  result.allowed = 1e-6;
  const std::vector<float> weights = read_back<float>(state[1], 0, 256);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double g = static_cast<double>(random_value(7, i));
    const double step = -1e-4 * 0.1 * g / std::sqrt(0.05 * g * g + 1e-16);
    result.error = std::max(result.error, std::abs(static_cast<double>(weights[i]) - step));
  }
  result.seconds = measure(bench.stream(), work, 0.05, bench.cold_caches());
  result.bytes = 30.0 * static_cast<double>(count);
  write_result(bench, "adam", "fp32", {1, count}, result);
}

}  // namespace

void bench_streaming(Bench& bench, double until) {
  std::vector<std::function<void()>> cases;
  for (const std::int64_t mib : {1, 4, 16, 64, 256, 1024})
    cases.emplace_back([&bench, mib] { bench_copy(bench, mib << 20U); });
  for (const Rows size : {Rows{8192, 4096}, Rows{8192, 8192}, Rows{2048, 4096}, Rows{8192, 1024},
                          Rows{65536, 2048}, Rows{512, 16384}})
    cases.emplace_back([&bench, size] { bench_row_kernels(bench, size); });
  for (const std::int64_t count : {1 << 20, 1 << 24, 1 << 27})
    cases.emplace_back([&bench, count] { bench_adam(bench, count); });
  std::size_t done = 0;
  while (done < cases.size() && bench.left(until) > 0.0) cases[done++]();
  bench.write_coverage("memory_kernel", done, cases.size());
}

}  // namespace foretrain::harness
