// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "calibration/imports/imported_log.hpp"
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

}  // namespace foretrain
