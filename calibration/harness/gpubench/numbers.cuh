// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

namespace foretrain::harness {

/// SplitMix64's finisher: well-mixed bits of an index, the same on host and device.
__host__ __device__ inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

/// Uniform in [-1, 1). Zeros or constants would draw less power and so run at higher clocks.
__host__ __device__ inline float random_value(std::uint64_t seed, std::uint64_t index) {
  const auto top = static_cast<float>(mixed(seed * 0x51ULL + index) >> 40U);
  return top * (2.0F / 16777216.0F) - 1.0F;
}

template <typename T>
__device__ inline float to_float(T value) {
  return static_cast<float>(value);
}

template <typename T>
__global__ void fill_random(T* data, std::uint64_t count, std::uint64_t seed) {
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  for (std::uint64_t i = blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x;
       i < count; i += step)
    data[i] = T(random_value(seed, i));
}

}  // namespace foretrain::harness
