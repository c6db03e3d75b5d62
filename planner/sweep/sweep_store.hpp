// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "planner/sweep/sweep.hpp"

namespace foretrain {

/// A cell of a result: null, whole number, number or text.
using SweepCell = std::variant<std::monostate, std::int64_t, double, std::string>;

/// How many rows of each kind a result has.
struct SweepCounts {
  std::int64_t points = 0;  ///< of the grid
  std::int64_t ok = 0;
  std::int64_t infeasible = 0;
  std::int64_t invalid = 0;
  std::int64_t failed = 0;

  [[nodiscard]] std::int64_t rows() const { return ok + infeasible + invalid + failed; }
  [[nodiscard]] std::int64_t missing() const { return points - rows(); }
  /// Every point has an answer.
  [[nodiscard]] bool complete() const { return missing() == 0 && failed == 0; }
};

/// The rows of one sweep in an SQLite file: table `sweep` (name, value) holds its header, table
/// `points` a row per point. Rows that were committed survive the death of the program, also by
/// kill -9. Neither order nor number of the processes that computed them leaves a trace in the
/// tables. One process writes at a time.
class SweepStore {
 public:
  /// Starts a result in `file`, or in memory when it is empty; goes on with the one that is there
  /// when `resume` is set.
  /// @throws UsageError when the file cannot be written, is no result of a sweep, is one of another
  ///   sweep (naming what differs), is written by another process, or is there without `resume`
  SweepStore(const std::filesystem::path& file, const Sweep& sweep, bool resume);
  /// Opens a result to read it. @throws UsageError
  explicit SweepStore(const std::filesystem::path& file);
  ~SweepStore();
  SweepStore(SweepStore&&) noexcept;
  SweepStore& operator=(SweepStore&&) = delete;

  [[nodiscard]] SweepHeader header() const;
  /// The value of a name of the header. @pre it is there
  [[nodiscard]] std::string header_value(const std::string& name) const;
  [[nodiscard]] SweepCounts counts() const;
  /// Whether each point of the grid has a row; rows of failed points do not count with `retry`.
  [[nodiscard]] std::vector<bool> done(bool retry) const;

  /// Adds rows, in one transaction with others until commit(). A row replaces that of the same
  /// point. @pre opened to write
  void insert(const Sweep& sweep, const std::vector<SweepRow>& rows);
  void commit();

  /// Names of the columns of a row: "point", "hash", "status", "rule", "reason", keys, metrics.
  [[nodiscard]] std::vector<std::string> columns() const;
  /// Every row is what was written. @throws UsageError
  void check_rows() const;
  /// Calls `use` with every row, in the order of points, until it returns false.
  void for_each(const std::function<bool(const std::vector<SweepCell>&)>& use) const;
  /// The rows with the least of a numeric column, or the most, ties by point; rows without it are
  /// left out.
  [[nodiscard]] std::vector<std::vector<SweepCell>> first_by(const std::string& column, bool most,
                                                             int rows) const;
  /// Rows that are not ok by status and rule, most frequent first.
  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> refusals() const;

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

/// Joins results of the same sweep into a new file. Rows of the same point must be equal; a failed
/// one gives way to an answer.
/// @throws UsageError when `out` is there already, or an input is no result or of another sweep
void merge_sweeps(const std::filesystem::path& out,
                  const std::vector<std::filesystem::path>& inputs);

}  // namespace foretrain
