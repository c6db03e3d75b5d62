// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/common/nccl_operation.hpp"

#include <array>
#include <cstddef>

namespace foretrain::harness {
namespace {

constexpr std::array<std::string_view, 7> names{"all_reduce",  "all_gather", "reduce_scatter",
                                                "broadcast",   "reduce",     "all_to_all",
                                                "send_receive"};

float sum_of(int ranks, std::int64_t index) {
  float sum = 0.0F;
  for (int rank = 0; rank < ranks; ++rank) sum += pattern_value(rank, index);
  return sum;
}

}  // namespace

std::string_view name(NcclOperation operation) {
  return names[static_cast<std::size_t>(operation)];
}

std::optional<NcclOperation> find_operation(std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) return static_cast<NcclOperation>(i);
  return std::nullopt;
}

std::vector<NcclOperation> all_operations() {
  std::vector<NcclOperation> all;
  for (std::size_t i = 0; i < names.size(); ++i) all.push_back(static_cast<NcclOperation>(i));
  return all;
}

double bus_factor(NcclOperation operation, int ranks) {
  const double share = static_cast<double>(ranks - 1) / ranks;
  switch (operation) {
    case NcclOperation::all_reduce:
      return 2.0 * share;
    case NcclOperation::all_gather:
    case NcclOperation::reduce_scatter:
    case NcclOperation::all_to_all:
      return share;
    case NcclOperation::broadcast:
    case NcclOperation::reduce:
    case NcclOperation::send_receive:
      return 1.0;
  }
  return 1.0;
}

NcclCounts nccl_counts(NcclOperation operation, std::int64_t bytes, int ranks, int element_bytes) {
  const std::int64_t elements = bytes / element_bytes;
  const std::int64_t part = elements / ranks;
  switch (operation) {
    case NcclOperation::all_gather:
      return {part, part * ranks, part};
    case NcclOperation::reduce_scatter:
      return {part * ranks, part, part};
    case NcclOperation::all_to_all:
      return {part * ranks, part * ranks, part};
    case NcclOperation::all_reduce:
    case NcclOperation::broadcast:
    case NcclOperation::reduce:
    case NcclOperation::send_receive:
      return {elements, elements, elements};
  }
  return {};
}

float pattern_value(int rank, std::int64_t index) {
  return static_cast<float>((std::int64_t{7} * rank + 3 * index) % 13);
}

std::optional<float> expected_value(NcclOperation operation, int rank, int ranks,
                                    std::int64_t call_count, std::int64_t index) {
  switch (operation) {
    case NcclOperation::all_reduce:
      return sum_of(ranks, index);
    case NcclOperation::reduce:
      return rank == 0 ? std::optional{sum_of(ranks, index)} : std::nullopt;
    case NcclOperation::broadcast:
      return pattern_value(0, index);
    case NcclOperation::all_gather:
      return pattern_value(static_cast<int>(index / call_count), index % call_count);
    case NcclOperation::reduce_scatter:
      return sum_of(ranks, rank * call_count + index);
    case NcclOperation::all_to_all:
      return pattern_value(static_cast<int>(index / call_count),
                           rank * call_count + index % call_count);
    case NcclOperation::send_receive:
      return pattern_value((rank + ranks - 1) % ranks, index);
  }
  return std::nullopt;
}

}  // namespace foretrain::harness
