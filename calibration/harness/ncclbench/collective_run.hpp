// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/harness/common/nccl_operation.hpp"
#include "calibration/harness/gpubench/cuda.hpp"
#include "calibration/harness/ncclbench/nccl_library.hpp"

namespace foretrain::harness {

/// A communicator as one rank sees it.
struct Member {
  const NcclLibrary& nccl;
  NcclLibrary::Comm comm = nullptr;
  int rank = 0;
  int ranks = 1;
};

/// One collective of one size with its buffers.
class CollectiveRun {
 public:
  /// In place is the default where the operation has such a form.
  CollectiveRun(const Member& member, NcclOperation operation, std::int64_t bytes, bool in_place);

  /// Fills the send buffer with the rank's pattern.
  void prepare(cudaStream_t stream) const;
  void start(cudaStream_t stream) const;
  /// NCCL's estimate in microseconds; nothing where the library cannot tell.
  [[nodiscard]] std::optional<double> estimate(cudaStream_t stream) const;
  /// Runs once on fresh data and counts wrong elements at the buffer's ends and in its middle.
  [[nodiscard]] std::int64_t wrong_elements(cudaStream_t stream) const;
  [[nodiscard]] const NcclCounts& counts() const { return counts_; }

 private:
  [[nodiscard]] float* send() const;
  [[nodiscard]] float* receive() const;
  void call(cudaStream_t stream) const;
  void exchange(cudaStream_t stream) const;
  void pass_on(cudaStream_t stream) const;

  const Member& member_;
  NcclOperation operation_;
  bool in_place_;
  NcclCounts counts_;
  DeviceBuffer first_;
  DeviceBuffer second_;
};

/// False for operations whose buffers cannot be the same.
[[nodiscard]] bool has_in_place(NcclOperation operation);

}  // namespace foretrain::harness
