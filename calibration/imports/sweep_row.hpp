// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "calibration/imports/imported_log.hpp"

namespace foretrain {

/// One printed result of a collective, as tools of the nccl-tests family give it.
struct SweepLine {
  double size_bytes = 0.0;
  double time_us = 0.0;
  std::optional<double> algbw_gbs;
  std::optional<double> busbw_gbs;
  double algbw_step = 0.01;  ///< of the last digit printed
  double busbw_step = 0.01;
};

/// Bus bandwidth over algorithm bandwidth as nccl-tests defines them (its PERFORMANCE.md); nothing
/// for a name that is not one of its operations. Names: all_reduce, all_gather, reduce_scatter,
/// alltoall, broadcast, reduce, gather, scatter, sendrecv.
[[nodiscard]] std::optional<double> nccl_bus_factor(const std::string& collective, double ranks);

/// What its own figures say against a row: size over time must be the algorithm bandwidth, and that
/// times the operation's factor the bus bandwidth, within what is printed. Empty: nothing.
[[nodiscard]] std::string row_contradiction(const SweepLine& row, const std::string& collective,
                                            double ranks);

/// Step of the last digit of a printed number: "0.53" 0.01, "120" 1.
[[nodiscard]] double last_digit(std::string_view printed);

/// The bus bandwidths of a test's rows, which its average must be the mean of.
struct BusAverage {
  double sum = 0.0;
  int rows = 0;

  void add(double busbw_gbs) {
    sum += busbw_gbs;
    ++rows;
  }
  /// What the rows say against the log's own average, in GB/s. Empty: nothing.
  [[nodiscard]] std::string contradiction(double written) const;
};

/// A record of a row of `log`, which has device, ranks and tool; `base` has what all rows of one
/// sweep share.
[[nodiscard]] SweepRecord sweep_record(const SweepRecord& base, const SweepLine& row,
                                       bool in_place);

/// nodes and GPUs per node, and what describes the network, from options and a log's facts; false
/// after reporting what is missing at `line`.
[[nodiscard]] bool complete_base(const ImportOptions& options, const ImportedLog& log, int line,
                                 SweepRecord& base, Diagnostics& diagnostics);

}  // namespace foretrain
