// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/common/nccl_operation.hpp"

#include <catch2/catch.hpp>

namespace foretrain::harness {
namespace {

using Buffers = std::vector<std::vector<float>>;

Buffers sent(int ranks, std::int64_t count) {
  Buffers buffers;
  for (int rank = 0; rank < ranks; ++rank) {
    buffers.emplace_back();
    for (std::int64_t i = 0; i < count; ++i) buffers.back().push_back(pattern_value(rank, i));
  }
  return buffers;
}

float sum(const Buffers& buffers, std::size_t index) {
  float total = 0.0F;
  for (const std::vector<float>& buffer : buffers) total += buffer[index];
  return total;
}

/// What a rank receives, by the definition of the operation.
std::vector<float> by_definition(NcclOperation operation, int rank, int ranks,
                                 const NcclCounts& counts) {
  const Buffers from = sent(ranks, counts.send);
  const auto call = static_cast<std::size_t>(counts.call);
  std::vector<float> got;
  for (std::size_t i = 0; i < static_cast<std::size_t>(counts.receive); ++i) {
    const auto me = static_cast<std::size_t>(rank);
    switch (operation) {
      case NcclOperation::all_reduce:
      case NcclOperation::reduce:
        got.push_back(sum(from, i));
        break;
      case NcclOperation::broadcast:
        got.push_back(from[0][i]);
        break;
      case NcclOperation::all_gather:
        got.push_back(from[i / call][i % call]);
        break;
      case NcclOperation::reduce_scatter:
        got.push_back(sum(from, me * call + i));
        break;
      case NcclOperation::all_to_all:
        got.push_back(from[i / call][me * call + i % call]);
        break;
      case NcclOperation::send_receive:
        got.push_back(
            from[(me + static_cast<std::size_t>(ranks) - 1) % static_cast<std::size_t>(ranks)][i]);
        break;
    }
  }
  return got;
}

}  // namespace

TEST_CASE("expected values are those of the operation's definition", "[harness]") {
  for (const int ranks : {2, 3, 8})
    for (const NcclOperation operation : all_operations()) {
      const NcclCounts counts = nccl_counts(operation, 1000, ranks, 4);
      for (int rank = 0; rank < ranks; ++rank) {
        const std::vector<float> got = by_definition(operation, rank, ranks, counts);
        for (std::size_t i = 0; i < got.size(); ++i) {
          const auto expected =
              expected_value(operation, rank, ranks, counts.call, static_cast<std::int64_t>(i));
          if (operation == NcclOperation::reduce && rank > 0)
            CHECK_FALSE(expected.has_value());
          else
            REQUIRE(expected == got[i]);
        }
      }
    }
}

TEST_CASE("bus factors are those of nccl-tests", "[harness]") {
  CHECK(bus_factor(NcclOperation::all_reduce, 8) == Approx(1.75));
  CHECK(bus_factor(NcclOperation::all_gather, 8) == Approx(0.875));
  CHECK(bus_factor(NcclOperation::reduce_scatter, 8) == Approx(0.875));
  CHECK(bus_factor(NcclOperation::all_to_all, 8) == Approx(0.875));
  CHECK(bus_factor(NcclOperation::broadcast, 8) == 1.0);
  CHECK(bus_factor(NcclOperation::send_receive, 8) == 1.0);
}

TEST_CASE("sizes too small for the ranks leave nothing to call with", "[harness]") {
  CHECK(nccl_counts(NcclOperation::all_gather, 8, 4, 4).call == 0);
  CHECK(nccl_counts(NcclOperation::all_reduce, 8, 4, 4).call == 2);
}

TEST_CASE("operations are found by their names", "[harness]") {
  for (const NcclOperation operation : all_operations())
    CHECK(find_operation(name(operation)) == operation);
  CHECK_FALSE(find_operation("AllReduce").has_value());
}

}  // namespace foretrain::harness
