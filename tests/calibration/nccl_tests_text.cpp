// SPDX-License-Identifier: Apache-2.0
#include "tests/calibration/nccl_tests_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/imports/sweep_row.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

/// As nccl-tests prints a figure in `width` columns: as many decimals as leave it readable.
std::string printed_figure(double value, int width) {
  const int digits = value < 1.0 ? 0 : static_cast<int>(std::floor(std::log10(value))) + 1;
  const int decimals = digits < width - 2 ? 2 : digits < width - 1 ? 1 : 0;
  return fmt::format("{:{}.{}f}", value, width, decimals);
}

struct PrintedResult {
  double time_us = 0.0;
  double busbw_gbs = 0.0;
};

PrintedResult result_of(const SweepRecord& record, double factor) {
  const double per_us = factor * record.size_bytes * 1e-3;
  FORETRAIN_REQUIRE(record.time_us.value_or(0.0) > 0.0 || record.busbw_gbs.value_or(0.0) > 0.0);
  if (record.time_us && *record.time_us > 0.0) return {*record.time_us, per_us / *record.time_us};
  return {per_us / *record.busbw_gbs, *record.busbw_gbs};
}

std::string printed_cells(const SweepRecord* record, double factor) {
  if (record == nullptr)
    return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "N/A", "N/A", "N/A", "N/A");
  const PrintedResult result = result_of(*record, factor);
  return fmt::format("  {}  {}  {}  {:6}", printed_figure(result.time_us, 7),
                     printed_figure(result.busbw_gbs / factor, 6),
                     printed_figure(result.busbw_gbs, 6), 0);
}

std::string printed_header(const SweepRecord& first) {
  std::string text =
      fmt::format("# Collective test starting: {}_perf\n# Using devices\n", first.collective);
  for (int rank = 0; rank < first.nodes * first.gpus_per_node; ++rank)
    text += fmt::format("#  Rank {:2} Group  0 Pid {:6} on {:>10} device {:2} [0000:00:00] {}\n",
                        rank, rank + 1, fmt::format("node{}", rank / first.gpus_per_node),
                        rank % first.gpus_per_node, first.gpu);
  return text +
         "#\n"
         "#                                                              out-of-place              "
         "         in-place\n"
         "#       size         count      type   redop    root     time   algbw   busbw #wrong    "
         " time   algbw   busbw #wrong\n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)           "
         " (us)  (GB/s)  (GB/s)\n";
}

}  // namespace

std::string nccl_tests_text(const std::vector<SweepRecord>& sweep) {
  FORETRAIN_REQUIRE(!sweep.empty());
  const SweepRecord& first = sweep.front();
  const double ranks = static_cast<double>(first.nodes) * first.gpus_per_node;
  const double factor = nccl_bus_factor(first.collective, ranks).value_or(0.0);
  FORETRAIN_REQUIRE(factor > 0.0);
  struct Pair {
    const SweepRecord* out_of_place = nullptr;
    const SweepRecord* in_place = nullptr;
  };
  std::map<double, Pair> rows;
  for (const SweepRecord& record : sweep)
    (record.in_place ? rows[record.size_bytes].in_place : rows[record.size_bytes].out_of_place) =
        &record;
  std::string text = printed_header(first);
  const bool sums = first.collective == "all_reduce" || first.collective == "reduce_scatter" ||
                    first.collective == "reduce";
  double sum = 0.0;
  int count = 0;
  for (const auto& [size, pair] : rows) {
    for (const SweepRecord* record : {pair.out_of_place, pair.in_place}) {
      if (record == nullptr) continue;
      sum += result_of(*record, factor).busbw_gbs;
      ++count;
    }
    text +=
        fmt::format("{:12.0f}  {:12.0f}  {:>8}  {:>6}  {:>6}{}{}\n", size, std::floor(size / 4.0),
                    "float", sums ? "sum" : "none", "-1", printed_cells(pair.out_of_place, factor),
                    printed_cells(pair.in_place, factor));
  }
  return text + fmt::format("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {:g}\n#\n",
                            sum / count);
}

}  // namespace foretrain
