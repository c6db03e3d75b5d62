// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "calibration/imports/imported_log.hpp"
#include "calibration/imports/sweep_row.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Collects the ranks that a log of nccl-tests lists before its first row: how many, on how many
/// hosts, of which product.
class RankList {
 public:
  RankList(ImportedLog& log, Diagnostics& diagnostics) : log_{log}, diagnostics_{diagnostics} {}

  /// Takes "#  Rank  0 Group  0 Pid 267630 on nid005098 device  0 [0009:01:00] NVIDIA GH200 120GB".
  /// @return false when the line is another one
  bool take(int line, std::string_view text);
  /// Takes one rank from a file that lists them in fields.
  void add(int line, int group, const std::string& host, const std::string& product);
  /// Sets the log's facts. @return false after reporting ranks that no record can describe: of
  /// several products or groups, or spread unevenly
  [[nodiscard]] bool close(int line, const ImportOptions& options);

 private:
  ImportedLog& log_;
  Diagnostics& diagnostics_;
  std::set<std::string> hosts_;
  std::set<std::string> products_;
  std::set<int> groups_;
  int count_ = 0;
  int line_ = 0;
  bool closed_ = false;
};

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
