// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain::harness {

enum class NcclOperation : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  send_receive
};

[[nodiscard]] std::string_view name(NcclOperation operation);
[[nodiscard]] std::optional<NcclOperation> find_operation(std::string_view text);
[[nodiscard]] std::vector<NcclOperation> all_operations();

/// Bus bandwidth over algorithm bandwidth among `ranks`: what of the size crosses the slowest link
/// in the best case. Source: NVIDIA nccl-tests, doc/PERFORMANCE.md.
[[nodiscard]] double bus_factor(NcclOperation operation, int ranks);

/// Elements of the send and receive buffers of one rank for a row of `bytes`, which is what
/// nccl-tests calls size: the larger of the two buffers, or what is reduced or sent.
struct NcclCounts {
  std::int64_t send = 0;
  std::int64_t receive = 0;
  std::int64_t call = 0;  ///< the count that the call is given
};

/// A size is rounded down to what the ranks can share evenly; 0 where nothing is left.
[[nodiscard]] NcclCounts nccl_counts(NcclOperation operation, std::int64_t bytes, int ranks,
                                     int element_bytes);

/// What element `index` of a rank's receive buffer is, when element j of rank r's send buffer is
/// pattern_value(r, j): sums of small whole numbers, exact in fp32.
[[nodiscard]] float pattern_value(int rank, std::int64_t index);
[[nodiscard]] std::optional<float> expected_value(NcclOperation operation, int rank, int ranks,
                                                  std::int64_t call_count, std::int64_t index);

}  // namespace foretrain::harness
