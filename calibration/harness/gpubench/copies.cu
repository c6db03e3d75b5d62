// SPDX-License-Identifier: Apache-2.0
// Copies between host and GPU and between GPUs, one way and both ways at once.
#include <algorithm>
#include <cstring>
#include <memory>

#include "calibration/harness/gpubench/bench.hpp"

namespace foretrain::harness {
namespace {

/// Host memory that the GPU can reach without the driver's help.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes) { check(cudaMallocHost(&memory_, bytes)); }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer() { cudaFreeHost(memory_); }
  [[nodiscard]] unsigned char* data() const { return static_cast<unsigned char*>(memory_); }

 private:
  void* memory_ = nullptr;
};

void write_copy(Bench& bench, const std::string& way, int from, int to, std::size_t bytes,
                const Sample& seconds, bool passed) {
  bench.write("copy", [&](JsonLine& line) {
    line.text("way", way).whole("from", from).whole("to", to);
    line.whole("bytes", static_cast<std::int64_t>(bytes));
    add_times(line, seconds);
    line.number("gb_per_s", static_cast<double>(bytes) / seconds.median * 1e-9);
    line.truth("check_passed", passed);
  });
}

/// Both directions as one piece of work on one stream: the second waits for nothing but the start.
struct BothWays {
  Stream other;
  Event begin;
  Event end;

  void run(cudaStream_t on, const Work& one_way, const Work& other_way) const {
    check(cudaEventRecord(begin.get(), on));
    check(cudaStreamWaitEvent(other.get(), begin.get()));
    one_way(on);
    other_way(other.get());
    check(cudaEventRecord(end.get(), other.get()));
    check(cudaStreamWaitEvent(on, end.get()));
  }
};

void bench_host(Bench& bench, std::size_t bytes) {
  const PinnedBuffer out{bytes};
  const PinnedBuffer back{bytes};
  const DeviceBuffer on_gpu{bytes};
  const DeviceBuffer other{bytes};
  for (std::size_t i = 0; i < bytes; ++i) out.data()[i] = static_cast<unsigned char>(i * 31U >> 3U);
  std::memset(back.data(), 0, bytes);
  const Work up = [&](cudaStream_t on) {
    check(cudaMemcpyAsync(on_gpu.as<void>(), out.data(), bytes, cudaMemcpyHostToDevice, on));
  };
  const Work down = [&](cudaStream_t on) {
    check(cudaMemcpyAsync(back.data(), on_gpu.as<void>(), bytes, cudaMemcpyDeviceToHost, on));
  };
  const Sample to_device = measure(bench.stream(), up, 0.1, {}, 5, 50);
  const Sample to_host = measure(bench.stream(), down, 0.1, {}, 5, 50);
  const bool same = std::memcmp(out.data(), back.data(), bytes) == 0;
  write_copy(bench, "host-to-device", -1, bench.device(), bytes, to_device, same);
  write_copy(bench, "device-to-host", bench.device(), -1, bytes, to_host, same);
  const BothWays pair;
  const Work second = [&](cudaStream_t on) {
    check(cudaMemcpyAsync(back.data(), other.as<void>(), bytes, cudaMemcpyDeviceToHost, on));
  };
  const Work both = [&](cudaStream_t on) { pair.run(on, up, second); };
  write_copy(bench, "host-both-ways", -1, bench.device(), 2 * bytes,
             measure(bench.stream(), both, 0.1, {}, 5, 50), same);
}

bool enable_peer(int from, int to) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, from, to));
  if (can == 0) return false;
  check(cudaSetDevice(from));
  const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled)
    cudaGetLastError();
  else
    check(status);
  return true;
}

bool same_bytes(const DeviceBuffer& left, const DeviceBuffer& right) {
  constexpr std::size_t some = 1UL << 16U;
  const std::size_t count = std::min(left.bytes(), some);
  std::vector<unsigned char> a(count);
  std::vector<unsigned char> b(count);
  check(cudaMemcpy(a.data(), left.as<void>(), count, cudaMemcpyDeviceToHost));
  check(cudaMemcpy(b.data(), right.as<void>(), count, cudaMemcpyDeviceToHost));
  return a == b;
}

void bench_peer(Bench& bench, int peer, std::size_t bytes) {
  const int self = bench.device();
  const bool direct = enable_peer(self, peer) && enable_peer(peer, self);
  check(cudaSetDevice(peer));
  const DeviceBuffer there{bytes};
  const DeviceBuffer there_too{bytes};
  check(cudaMemset(there_too.as<void>(), 0x3C, bytes));
  check(cudaSetDevice(self));
  const DeviceBuffer here{bytes};
  const DeviceBuffer here_too{bytes};
  check(cudaMemset(here.as<void>(), 0x5A, bytes));
  check(cudaDeviceSynchronize());
  const Work send = [&](cudaStream_t on) {
    check(cudaMemcpyPeerAsync(there.as<void>(), peer, here.as<void>(), self, bytes, on));
  };
  const Work receive = [&](cudaStream_t on) {
    check(cudaMemcpyPeerAsync(here_too.as<void>(), self, there_too.as<void>(), peer, bytes, on));
  };
  const std::string suffix = direct ? "" : "-through-host";
  const Sample one = measure(bench.stream(), send, 0.05, {}, 5, 50);
  write_copy(bench, "peer" + suffix, self, peer, bytes, one, same_bytes(here, there));
  const BothWays pair;
  const Work both = [&](cudaStream_t on) { pair.run(on, send, receive); };
  const Sample two = measure(bench.stream(), both, 0.05, {}, 5, 50);
  write_copy(bench, "peer-both-ways" + suffix, self, peer, 2 * bytes, two,
             same_bytes(here_too, there_too));
}

}  // namespace

void bench_copies(Bench& bench, double until) {
  int gpus = 0;
  check(cudaGetDeviceCount(&gpus));
  std::vector<std::function<void()>> cases;
  for (const std::size_t mib : {1U, 16U, 256U})
    cases.emplace_back([&bench, mib] { bench_host(bench, mib << 20U); });
  for (int peer = 0; peer < gpus; ++peer)
    if (peer != bench.device())
      cases.emplace_back([&bench, peer] { bench_peer(bench, peer, 256UL << 20U); });
  std::size_t done = 0;
  while (done < cases.size() && bench.left(until) > 0.0) cases[done++]();
  bench.write_coverage("copy", done, cases.size());
}

}  // namespace foretrain::harness
