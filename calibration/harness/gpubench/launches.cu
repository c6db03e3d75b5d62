// SPDX-License-Identifier: Apache-2.0
// What a kernel costs before it does anything: launch by launch, and replayed as a graph.
#include <chrono>

#include "calibration/harness/gpubench/bench.hpp"

namespace foretrain::harness {
namespace {

constexpr int launches = 1000;

__global__ void empty_kernel() {}

__global__ void count_kernel(unsigned* counter) { atomicAdd(counter, 1U); }

double host_seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void write_launch(Bench& bench, const char* way, const Sample& seconds, bool passed) {
  bench.write("launch", [&](JsonLine& line) {
    line.text("way", way);
    add_times(line, seconds);
    line.truth("check_passed", passed);
  });
}

/// Per launch, when the queue is never empty: the slower of what host and device can do.
Sample back_to_back(Bench& bench) {
  std::vector<double> seconds;
  for (int i = 0; i < 20; ++i)
    seconds.push_back(time_together(
        bench.stream(), [](cudaStream_t on) { empty_kernel<<<1, 32, 0, on>>>(); }, launches));
  check(cudaGetLastError());
  return summarize(seconds);
}

/// From the host's call until it knows that the kernel has ended.
Sample round_trip(Bench& bench) {
  std::vector<double> seconds;
  for (int i = 0; i < launches; ++i)
    seconds.push_back(host_seconds([&] {
      empty_kernel<<<1, 32, 0, bench.stream()>>>();
      check(cudaStreamSynchronize(bench.stream()));
    }));
  return summarize(seconds);
}

class Graph {
 public:
  Graph(cudaStream_t stream, unsigned* counter, int kernels) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < kernels; ++i) count_kernel<<<1, 1, 0, stream>>>(counter);
    check(cudaStreamEndCapture(stream, &graph_));
    check(cudaGraphInstantiate(&ready_, graph_, 0));
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    cudaGraphExecDestroy(ready_);
    cudaGraphDestroy(graph_);
  }
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(ready_, stream)); }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t ready_ = nullptr;
};

}  // namespace

void bench_launches(Bench& bench) {
  write_launch(bench, "back-to-back", back_to_back(bench), true);
  write_launch(bench, "round-trip", round_trip(bench), true);
  const DeviceBuffer counter{sizeof(unsigned)};
  check(cudaMemset(counter.as<void>(), 0, counter.bytes()));
  check(cudaDeviceSynchronize());
  const Graph graph{bench.stream(), counter.as<unsigned>(), launches};
  constexpr int replays = 20;
  std::vector<double> seconds = time_each(
      bench.stream(), [&](cudaStream_t on) { graph.launch(on); }, replays);
  for (double& each : seconds) each /= launches;
  unsigned counted = 0;
  check(cudaMemcpy(&counted, counter.as<void>(), sizeof counted, cudaMemcpyDeviceToHost));
  write_launch(bench, "graph", summarize(seconds), counted == launches * replays);
}

}  // namespace foretrain::harness
