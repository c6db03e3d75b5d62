// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/ncclbench/collective_run.hpp"

#include <algorithm>
#include <set>

namespace foretrain::harness {
namespace {

constexpr int element_bytes = 4;

/// pattern_value() on the device.
__global__ void fill_pattern(float* data, std::int64_t count, int rank) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += step)
    data[i] = static_cast<float>((rank * 7 + i * 3) % 13);
}

}  // namespace

bool has_in_place(NcclOperation operation) {
  return operation != NcclOperation::all_to_all && operation != NcclOperation::send_receive;
}

CollectiveRun::CollectiveRun(const Member& member, NcclOperation operation, std::int64_t bytes,
                             bool in_place)
    : member_{member},
      operation_{operation},
      in_place_{in_place},
      counts_{nccl_counts(operation, bytes, member.ranks, element_bytes)} {
  const auto size = [](std::int64_t elements) {
    return static_cast<std::size_t>(elements) * element_bytes;
  };
  first_ = DeviceBuffer{size(in_place ? std::max(counts_.send, counts_.receive) : counts_.send)};
  if (!in_place) second_ = DeviceBuffer{size(counts_.receive)};
}

float* CollectiveRun::send() const {
  auto* base = first_.as<float>();
  const bool part = in_place_ && operation_ == NcclOperation::all_gather;
  return part ? base + member_.rank * counts_.call : base;
}

float* CollectiveRun::receive() const {
  if (!in_place_) return second_.as<float>();
  auto* base = first_.as<float>();
  const bool part = operation_ == NcclOperation::reduce_scatter;
  return part ? base + member_.rank * counts_.call : base;
}

void CollectiveRun::prepare(cudaStream_t stream) const {
  fill_pattern<<<512, 256, 0, stream>>>(send(), counts_.send, member_.rank);
  check(cudaGetLastError());
}

void CollectiveRun::exchange(cudaStream_t stream) const {
  member_.nccl.begin_group();
  for (int peer = 0; peer < member_.ranks; ++peer) {
    const std::int64_t at = peer * counts_.call;
    const auto count = static_cast<std::size_t>(counts_.call);
    member_.nccl.send(send() + at, count, peer, member_.comm, stream);
    member_.nccl.receive(receive() + at, count, peer, member_.comm, stream);
  }
  member_.nccl.end_group();
}

void CollectiveRun::pass_on(cudaStream_t stream) const {
  const int next = (member_.rank + 1) % member_.ranks;
  const int last = (member_.rank + member_.ranks - 1) % member_.ranks;
  const auto count = static_cast<std::size_t>(counts_.call);
  member_.nccl.begin_group();
  member_.nccl.send(send(), count, next, member_.comm, stream);
  member_.nccl.receive(receive(), count, last, member_.comm, stream);
  member_.nccl.end_group();
}

void CollectiveRun::call(cudaStream_t stream) const {
  const NcclLibrary& nccl = member_.nccl;
  const auto count = static_cast<std::size_t>(counts_.call);
  switch (operation_) {
    case NcclOperation::all_reduce:
      return nccl.all_reduce(send(), receive(), count, member_.comm, stream);
    case NcclOperation::all_gather:
      return nccl.all_gather(send(), receive(), count, member_.comm, stream);
    case NcclOperation::reduce_scatter:
      return nccl.reduce_scatter(send(), receive(), count, member_.comm, stream);
    case NcclOperation::broadcast:
      return nccl.broadcast(send(), receive(), count, 0, member_.comm, stream);
    case NcclOperation::reduce:
      return nccl.reduce(send(), receive(), count, 0, member_.comm, stream);
    case NcclOperation::all_to_all:
      return exchange(stream);
    case NcclOperation::send_receive:
      return pass_on(stream);
  }
}

void CollectiveRun::start(cudaStream_t stream) const { call(stream); }

std::optional<double> CollectiveRun::estimate(cudaStream_t stream) const {
  if (!member_.nccl.can_estimate()) return std::nullopt;
  member_.nccl.begin_group();
  call(stream);
  const double microseconds = member_.nccl.estimate_group();
  return microseconds < 0.0 ? std::nullopt : std::optional{microseconds};
}

std::int64_t CollectiveRun::wrong_elements(cudaStream_t stream) const {
  prepare(stream);
  call(stream);
  check(cudaStreamSynchronize(stream));
  constexpr std::int64_t piece = 4096;
  const std::int64_t count = counts_.receive;
  std::int64_t wrong = 0;
  const std::set<std::int64_t> starts{0, std::max<std::int64_t>(0, count / 2 - piece / 2),
                                      std::max<std::int64_t>(0, count - piece)};
  for (const std::int64_t begin : starts) {
    std::vector<float> seen(static_cast<std::size_t>(std::min(piece, count - begin)));
    check(cudaMemcpy(seen.data(), receive() + begin, seen.size() * sizeof(float),
                     cudaMemcpyDeviceToHost));
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const std::optional<float> expected =
          expected_value(operation_, member_.rank, member_.ranks, counts_.call,
                         begin + static_cast<std::int64_t>(i));
      if (expected && seen[i] != *expected) ++wrong;
    }
  }
  return wrong;
}

}  // namespace foretrain::harness
