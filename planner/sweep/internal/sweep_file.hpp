// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/sweep/internal/sqlite.hpp"
#include "planner/sweep/sweep_store.hpp"

namespace foretrain::sweep_file {

// The file of a sweep's result: how it is opened, what it must hold, and what is wrong with it. It
// may come from anybody, and from a disk that loses bits.

/// Version of the tables; the header's "schema".
inline constexpr std::string_view schema = "sweep/1";
/// The last column of a row: CRC-32 of the others.
inline constexpr std::string_view checksum_column = "checksum";

/// Throws what SQLite refused as a sentence: SystemError for the machine (a full disk, a lock, too
/// many open files), UsageError for the file (no database, damaged, not writable).
[[noreturn]] void refuse(const std::filesystem::path& file, const sqlite::Error& error);

/// What `call` gives, or refuse().
template <class Call>
auto guarded(const std::filesystem::path& file, Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const sqlite::Error& error) {
    refuse(file, error);
  }
}

/// Says "this process writes" to others. Of the open file, not of the process: SQLite takes back
/// all locks of the process on its file whenever it takes back one. The kernel releases it however
/// we end; workers, which inherit it, may live some milliseconds longer.
class WriterLock {
 public:
  /// Waits a second. @throws UsageError saying who has it
  explicit WriterLock(const std::filesystem::path& file);
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;
  ~WriterLock();

 private:
  int file_;
};

/// Opens a result to read it, also in a folder that cannot be written. @throws sqlite::Error,
/// UsageError
[[nodiscard]] sqlite::Database open_to_read(const std::filesystem::path& file);

/// The statements that make the tables of a result with these keys and metrics.
[[nodiscard]] std::string table_of_points(const std::vector<std::string>& columns);
inline constexpr const char* table_of_header =
    "CREATE TABLE sweep(name TEXT PRIMARY KEY, value TEXT NOT NULL)";

/// Names of the columns of keys and metrics, as a header says. @throws UsageError
[[nodiscard]] std::vector<std::string> value_columns(const SweepHeader& header,
                                                     const std::filesystem::path& file);

[[nodiscard]] SweepHeader read_header(sqlite3* database);
/// The value of a name, empty where it is not there.
[[nodiscard]] std::string value_of(const SweepHeader& header, std::string_view name);

/// Whether the file holds a result; an empty database does not.
/// @throws UsageError when it holds anything else: other tables, triggers, views, another schema,
///   columns that are not those of its header, rows of points that are not in its grid
[[nodiscard]] bool holds_sweep(sqlite3* database, const std::filesystem::path& file);

/// The checksum of a row's cells, without itself.
[[nodiscard]] std::int64_t checksum(const std::vector<SweepCell>& cells);
/// Takes the checksum off the cells of a row. @throws UsageError when it is another one
void check_row(std::vector<SweepCell>& cells, const std::filesystem::path& file);

[[nodiscard]] std::vector<SweepCell> cells_of(const sqlite::Statement& row);

}  // namespace foretrain::sweep_file
