// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "calibration/harness/common/nccl_operation.hpp"

namespace foretrain::harness {

struct NcclbenchOptions {
  std::vector<NcclOperation> operations = all_operations();
  std::int64_t begin_bytes = 8;
  std::int64_t end_bytes = std::int64_t{8} << 30U;
  int factor = 2;
  int gpus = 1;            ///< of this process, a thread each
  int group_size = 0;      ///< ranks of a process group; 0: all ranks are one
  int group_stride = 1;    ///< distance between neighbours of a group
  bool one_group = false;  ///< only the first group works, the others wait
  double budget_s = 240.0;
  bool overlap = true;    ///< also with a matrix product beside it
  std::string algorithm;  ///< sets NCCL_ALGO; empty: NCCL chooses
  std::string protocol;   ///< sets NCCL_PROTO
  std::string out_file;
  bool help = false;
};

/// @return the options, or one sentence about the first thing that is wrong.
[[nodiscard]] std::variant<NcclbenchOptions, std::string> parse_ncclbench(
    const std::vector<std::string>& arguments);

[[nodiscard]] std::string_view ncclbench_help();

/// Which process group a rank belongs to, and its place there.
struct GroupPlace {
  int group = 0;
  int rank = 0;
};

/// Groups of `size` ranks that are `stride` apart, as tensor, data and pipeline groups are.
/// @pre size * stride divides world
[[nodiscard]] GroupPlace group_place(int rank, int size, int stride);

}  // namespace foretrain::harness
