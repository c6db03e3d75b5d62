// SPDX-License-Identifier: Apache-2.0
// How much slower a matrix product runs while something like a communication kernel holds k
// processors and moves memory, as NCCL's kernels do.
#include <algorithm>
#include <cmath>

#include "calibration/harness/gpubench/bench.hpp"
#include "calibration/harness/gpubench/gemm.hpp"

namespace foretrain::harness {
namespace {

constexpr int communication_threads = 512;  // NCCL's ring kernels run up to 640

/// Copies its part of a buffer again and again until the host raises the flag, or `rounds` are
/// over, so that a lost flag cannot hang the GPU. Its shared memory keeps other blocks off its
/// processor.
__global__ void occupy(const float4* from, float4* to, std::int64_t per_block,
                       const volatile int* stop, int rounds, unsigned long long* moved) {
  extern __shared__ float4 whole_processor[];
  const std::int64_t base = blockIdx.x * per_block;
  int round = 0;
  for (; round < rounds; ++round) {
    for (std::int64_t i = threadIdx.x; i < per_block; i += blockDim.x)
      to[base + i] = from[base + i];
    if (threadIdx.x == 0) whole_processor[0].x = static_cast<float>(*stop);
    __syncthreads();
    const bool over = whole_processor[0].x != 0.0F;
    __syncthreads();
    if (over) break;
  }
  if (threadIdx.x == 0)
    atomicAdd(moved, static_cast<unsigned long long>(round + 1) * per_block * sizeof(float4));
}

/// An int that host and GPU both see.
class Flag {
 public:
  Flag() {
    check(cudaHostAlloc(&host_, sizeof(int), cudaHostAllocMapped));
    check(cudaHostGetDevicePointer(&device_, host_, 0));
    lower();
  }
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;
  ~Flag() { cudaFreeHost(host_); }
  void raise() { *static_cast<volatile int*>(host_) = 1; }
  void lower() { *static_cast<volatile int*>(host_) = 0; }
  [[nodiscard]] const int* on_device() const { return static_cast<const int*>(device_); }

 private:
  void* host_ = nullptr;
  void* device_ = nullptr;
};

struct Neighbour {
  explicit Neighbour(const Bench& bench)
      : shared{static_cast<int>(bench.properties().sharedMemPerBlockOptin)} {
    check(cudaFuncSetAttribute(occupy, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  }

  void start(int processors) {
    flag.lower();
    check(cudaMemsetAsync(moved.as<void>(), 0, moved.bytes(), stream.get()));
    constexpr int rounds = 200000;  // seconds at the most
    occupy<<<processors, communication_threads, static_cast<std::size_t>(shared), stream.get()>>>(
        from.as<float4>(), to.as<float4>(), per_block, flag.on_device(), rounds,
        moved.as<unsigned long long>());
    check(cudaGetLastError());
  }

  /// Bytes that it copied.
  double stop() {
    flag.raise();
    unsigned long long bytes = 0;
    check(cudaMemcpyAsync(&bytes, moved.as<void>(), sizeof bytes, cudaMemcpyDeviceToHost,
                          stream.get()));
    check(cudaStreamSynchronize(stream.get()));
    return static_cast<double>(bytes);
  }

  static constexpr std::int64_t per_block = (4 << 20) / sizeof(float4);
  static constexpr int most = 64;
  int shared;
  Flag flag;
  Stream stream;
  DeviceBuffer from{most * per_block * sizeof(float4)};
  DeviceBuffer to{most * per_block * sizeof(float4)};
  DeviceBuffer moved{sizeof(unsigned long long)};
};

}  // namespace

void bench_interference(Bench& bench, double until) {
  const GemmCase what{{8192, 8192, 8192}, GemmPass::forward, NumberType::bf16};
  const Gemm gemm{what};
  const Work work = [&gemm](cudaStream_t on) { gemm.run(on); };
  const auto time = [&] { return measure(bench.stream(), work, 0.1, {}, 5, 60); };
  // Power control settles first, or the neighbour would be blamed for the clock that it finds.
  const int settling = static_cast<int>(std::ceil(1.0 / time().median));
  for (int i = 0; i < settling; ++i) work(bench.stream());
  Neighbour neighbour{bench};
  std::size_t done = 0;
  const std::vector<int> processors{1, 2, 4, 8, 16, 24, 32};
  for (const int k : processors) {
    if (bench.left(until) <= 0.0 || k >= bench.properties().multiProcessorCount) break;
    const double before = time().median;
    neighbour.start(k);
    const Sample seconds = time();
    const double moved = neighbour.stop();
    const double alone = (before + time().median) / 2.0;
    const GemmCheck checked = gemm.verify(bench.stream());
    bench.write("interference", [&](JsonLine& line) {
      line.text("kernel", "gemm").text("dtype", name(what.type));
      line.whole("tokens", what.shape.tokens).whole("out", what.shape.out);
      line.whole("in", what.shape.in).whole("processors", k);
      add_times(line, seconds);
      line.number("alone_us", alone * 1e6).number("slowdown", 1.0 - alone / seconds.median);
      line.number("neighbour_bytes", moved).truth("check_passed", checked.worst <= 1.0);
    });
    ++done;
  }
  bench.write_coverage("interference", done, processors.size());
}

}  // namespace foretrain::harness
