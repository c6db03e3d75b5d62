// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <string>
#include <system_error>

#include "planner/sweep/internal/sweep_file.hpp"
#include "planner/sweep/sweep_store.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;
using sqlite::identifier;
using sqlite::Statement;

/// A file that goes away unless it is kept.
class Draft {
 public:
  explicit Draft(fs::path file) : file_(std::move(file)) {}
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    std::error_code ignored;
    fs::remove(file_, ignored);
  }
  [[nodiscard]] const fs::path& file() const { return file_; }

 private:
  fs::path file_;
};

void check_same_sweep(const SweepHeader& first, const SweepHeader& other,
                      const fs::path& first_file, const fs::path& other_file) {
  for (std::size_t i = 0; i < first.size(); ++i)
    if (i >= other.size() || first[i] != other[i])
      throw UsageError(other_file.string() + ": is of another sweep than " + first_file.string() +
                       ": they differ in " + first[i].first);
}

void attach(sqlite3* database, const fs::path& file) {
  Statement attach(database, "ATTACH ? AS input");
  attach.bind(1, file.string());
  attach.step();
}

/// The tables of the sweep whose result is attached. They are written anew: what its file says
/// about them is not run.
void create_like(sqlite3* database, const SweepHeader& header, const fs::path& file) {
  sqlite::execute(database,
                  std::string(sweep_file::table_of_header) + ";\n" +
                      sweep_file::table_of_points(sweep_file::value_columns(header, file)) +
                      ";\nINSERT INTO main.sweep SELECT * FROM input.sweep ORDER BY rowid");
}

/// Adds the rows of the attached database; failed ones only where there is nothing else.
void add_rows(sqlite3* database, const std::vector<std::string>& columns, const fs::path& file) {
  std::string differs;
  for (const std::string& column : columns)
    differs += (differs.empty() ? "" : " OR ") + ("a." + identifier(column) + " IS NOT b.") +
               identifier(column);
  Statement conflict(database,
                     "SELECT a.point FROM main.points a JOIN input.points b ON a.point = b.point "
                     "WHERE a.status <> 'failed' AND b.status <> 'failed' AND (" +
                         differs + ") ORDER BY 1 LIMIT 1");
  if (conflict.step())
    throw UsageError(file.string() + ": point " + conflict.text(0) +
                     " has another result than in a file before it");
  sqlite::execute(database,
                  "INSERT OR REPLACE INTO main.points SELECT * FROM input.points WHERE status <> "
                  "'failed' ORDER BY point;"
                  "INSERT OR IGNORE INTO main.points SELECT * FROM input.points WHERE status = "
                  "'failed' ORDER BY point");
}

}  // namespace

void merge_sweeps(const fs::path& out, const std::vector<fs::path>& inputs) {
  if (inputs.empty()) throw UsageError("sweep merge: there is nothing to merge");
  if (fs::exists(out))
    throw UsageError(out.string() + ": is there already; merging makes a new file");
  const SweepStore first(inputs.front());
  for (const fs::path& input : inputs) {
    const SweepStore store(input);
    check_same_sweep(first.header(), store.header(), inputs.front(), input);
    store.check_rows();
  }

  const Draft draft(out.string() + "." + std::to_string(getpid()) + ".part");
  sweep_file::guarded(out, [&] {
    const sqlite::Database database =
        sqlite::open(draft.file(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    sqlite3* db = database.get();
    sqlite::execute(db, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;");
    for (const fs::path& input : inputs) {
      attach(db, input);
      if (&input == &inputs.front()) create_like(db, first.header(), input);
      add_rows(db, first.columns(), input);
      sqlite::execute(db, "DETACH input");
    }
    sqlite::execute(db, "PRAGMA synchronous = FULL; PRAGMA journal_mode = WAL;");
  });
  std::error_code failure;
  fs::rename(draft.file(), out, failure);
  if (failure) throw UsageError(out.string() + ": " + failure.message());
}

}  // namespace foretrain
