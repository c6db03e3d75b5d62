// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace foretrain::harness {

class NcclError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct NcclId {
  std::array<char, 128> bytes{};
};

/// NCCL, loaded when the program runs (libnccl.so.2, or the file that FORETRAIN_NCCL names): the
/// same binary measures whatever release a cluster has, and building needs no NCCL.
/// Only what NCCL 2.10 and later promise in their C interface is used.
class NcclLibrary {
 public:
  using Comm = void*;

  /// @throws NcclError where the library is missing or too old.
  NcclLibrary();
  NcclLibrary(const NcclLibrary&) = delete;
  NcclLibrary& operator=(const NcclLibrary&) = delete;
  ~NcclLibrary();

  [[nodiscard]] int version() const;
  [[nodiscard]] NcclId make_id() const;
  [[nodiscard]] Comm join(int ranks, const NcclId& id, int rank) const;
  /// A communicator of those that give the same colour, in the order of `key`; null for a negative
  /// colour. Needs NCCL 2.18.
  [[nodiscard]] Comm split(Comm comm, int color, int key) const;
  void leave(Comm comm) const;
  void begin_group() const;
  void end_group() const;

  // All on fp32, sums; counts in elements.
  void all_reduce(const void* send, void* receive, std::size_t count, Comm comm,
                  cudaStream_t stream) const;
  void all_gather(const void* send, void* receive, std::size_t count, Comm comm,
                  cudaStream_t stream) const;
  void reduce_scatter(const void* send, void* receive, std::size_t count, Comm comm,
                      cudaStream_t stream) const;
  void broadcast(const void* send, void* receive, std::size_t count, int root, Comm comm,
                 cudaStream_t stream) const;
  void reduce(const void* send, void* receive, std::size_t count, int root, Comm comm,
              cudaStream_t stream) const;
  void send(const void* from, std::size_t count, int peer, Comm comm, cudaStream_t stream) const;
  void receive(void* to, std::size_t count, int peer, Comm comm, cudaStream_t stream) const;

  /// True where ncclGroupSimulateEnd is there (NCCL 2.22).
  [[nodiscard]] bool can_estimate() const;
  /// Ends a group without running it. @return NCCL's own estimate in microseconds; below zero
  /// where it has none.
  [[nodiscard]] double estimate_group() const;

 private:
  struct Calls;
  void check(int status, const char* what) const;

  void* library_ = nullptr;
  std::unique_ptr<Calls> calls_;
};

}  // namespace foretrain::harness
