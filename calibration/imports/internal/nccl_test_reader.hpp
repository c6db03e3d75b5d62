// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "calibration/imports/imported_log.hpp"
#include "calibration/imports/nccl_devices.hpp"
#include "calibration/imports/sweep_row.hpp"

namespace foretrain {

/// What the readers of nccl-tests' two formats share: the rows of one test after another.
class NcclTestReader {
 public:
  NcclTestReader(ImportedLog& log, const ImportOptions& options, Diagnostics& diagnostics)
      : log_{log}, options_{options}, diagnostics_{diagnostics}, ranks_{log, diagnostics} {}

 protected:
  void flag(int line, std::string what, bool kept = false) {
    log_.flagged.push_back({line, kept, std::move(what)});
  }

  /// Sizes of one test grow.
  void take_size(int line, double size) {
    if (size < last_size_)
      flag(line, fmt::format("{:.0f} bytes after {:.0f}: rows are out of order", size, last_size_),
           true);
    last_size_ = size;
  }

  /// Keeps a row that does not contradict itself; false where it does.
  bool keep(int line, std::string_view where, const SweepLine& row, bool in_place) {
    const double ranks = static_cast<double>(base_.nodes) * base_.gpus_per_node;
    const std::string wrong = row_contradiction(row, base_.collective, ranks);
    if (wrong.empty())
      log_.sweeps.push_back(sweep_record(base_, row, in_place));
    else
      flag(line, fmt::format("{}: {}", where, wrong));
    return wrong.empty();
  }

  ImportedLog& log_;
  const ImportOptions& options_;
  Diagnostics& diagnostics_;
  RankList ranks_;
  SweepRecord base_;
  double last_size_ = 0.0;
  BusAverage average_;
};

}  // namespace foretrain
