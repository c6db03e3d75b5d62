// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/records/record_check.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// A record that constants are fitted to, and what was true of it.
struct FitRecord {
  std::string id;
  std::string source;  ///< family of runs, table of kernels or sweep
  std::string device;  ///< catalog name
  int gpus = 1;
  std::optional<int> year = {};  ///< of its software, where the source tells
  std::string stack = {};        ///< whose training loop ran it; empty: a benchmark
};

[[nodiscard]] FitRecord fit_record(const RecordCheck& check, const Job& job,
                                   const std::optional<int>& year);

/// The circumstances of a set of records.
struct ConstantReach {
  std::vector<std::string> devices = {};  ///< catalog names, sorted
  std::vector<std::string> stacks = {};   ///< sorted; empty: benchmarks alone
  std::optional<int> least_gpus = {};     ///< nothing: no record
  std::optional<int> most_gpus = {};
  std::optional<int> first_year = {};  ///< nothing: no source tells
  std::optional<int> last_year = {};

  void add(const FitRecord& record);
  void add(const ConstantReach& other);

  friend bool operator==(const ConstantReach&, const ConstantReach&) = default;
};

/// What a constant is used for beyond what it was measured on.
struct ReachBeyond {
  std::vector<std::string> devices = {};  ///< that no record which tells it ran on
  std::vector<std::string> stacks = {};   ///< likewise, where any stack told it
  std::optional<int> gpus = {};  ///< the most, where above twice the most that it was measured on
  std::optional<int> first_year = {};  ///< where before, or after, all years that it was told in
  std::optional<int> last_year = {};

  [[nodiscard]] bool any() const {
    return !devices.empty() || !stacks.empty() || gpus || first_year || last_year;
  }
};

/// @param scaled whether the number of GPUs matters to the constant
[[nodiscard]] ReachBeyond beyond(const ConstantReach& told, const ConstantReach& used, bool scaled);

}  // namespace foretrain
