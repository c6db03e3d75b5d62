// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>
#include <utility>

#include "models/require.hpp"
#include "planner/format.hpp"
#include "planner/internal/sqlite.hpp"
#include "planner/usage_error.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;
using sqlite::identifier;
using sqlite::Statement;

constexpr double exact = 9007199254740992.0;  // 2^53

/// Says "this process writes" to others. Of the open file, not of the process: SQLite takes back
/// all locks of the process on its file whenever it takes back one. The kernel releases it however
/// we end; workers, which inherit it, may live some milliseconds longer.
class WriterLock {
 public:
  explicit WriterLock(const fs::path& file) : file_(::open(file.c_str(), O_RDWR | O_CLOEXEC)) {
    if (file_ < 0) throw UsageError(file.string() + ": cannot be written: " + std::strerror(errno));
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = off_t{1} << 61U;  // beyond what SQLite locks
    lock.l_len = 1;
    for (int tries = 0; tries < 20; ++tries) {
      if (::fcntl(file_, F_OFD_SETLK, &lock) == 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ::close(file_);
    throw UsageError(file.string() + ": another sweep is writing to it");
  }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;
  ~WriterLock() { ::close(file_); }

 private:
  int file_;
};

[[noreturn]] void refuse(const fs::path& file, const sqlite::Error& error) {
  throw UsageError(file.string() + ": " + error.what());
}

SweepHeader read_header(sqlite3* database) {
  SweepHeader header;
  Statement rows(database, "SELECT name, value FROM sweep ORDER BY rowid");
  while (rows.step()) header.emplace_back(rows.text(0), rows.text(1));
  return header;
}

/// Whether the file holds a result; an empty file does not.
bool holds_sweep(sqlite3* database, const fs::path& file) {
  Statement tables(database, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
  std::vector<std::string> names;
  while (tables.step()) names.push_back(tables.text(0));
  if (names.empty()) return false;
  if (names != std::vector<std::string>{"points", "sweep"})
    throw UsageError(file.string() + ": holds other tables than those of a sweep");
  return true;
}

/// What a name of the header is called where it differs.
std::string difference(const std::string& name, const std::string& there, const std::string& here) {
  if (name == "scenario") return "another scenario, or other catalog files behind it";
  if (name == "program" || name == "foretrain_version")
    return "another program (" + there + ", not " + here + ")";
  if (name == "engine") return "--engine " + there + ", not " + here;
  if (name == "metrics") return "other metrics: " + there;
  if (name == "schema") return "another version of this format: " + there;
  return "another grid: " + there;
}

void check_same(const SweepHeader& there, const SweepHeader& here, const fs::path& file) {
  if (there == here) return;
  for (std::size_t i = 0; i < here.size() && i < there.size(); ++i)
    if (there[i] != here[i])
      throw UsageError(file.string() + ": holds another sweep: made with " +
                       difference(there[i].first, there[i].second, here[i].second));
  throw UsageError(file.string() + ": holds another sweep");
}

std::string create_tables(const Sweep& sweep) {
  std::string sql =
      "CREATE TABLE sweep(name TEXT PRIMARY KEY, value TEXT NOT NULL);\n"
      "CREATE TABLE points(point INTEGER PRIMARY KEY, hash TEXT, status TEXT NOT NULL, rule TEXT, "
      "reason TEXT";
  // No declared types: a cell is what it was given as.
  for (const std::string& key : sweep.question().grid.keys()) sql += ", " + identifier(key);
  for (const std::string& metric : sweep.question().metrics) sql += ", " + identifier(metric);
  return sql + ");\n";
}

void bind_value(Statement& statement, int parameter, const std::string& text) {
  const char* end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto [stopped, error] = std::from_chars(text.data(), end, whole);
      error == std::errc{} && stopped == end)
    return statement.bind(parameter, whole);
  double number = 0.0;
  if (const auto [stopped, error] = std::from_chars(text.data(), end, number);
      error == std::errc{} && stopped == end && std::isfinite(number))
    return statement.bind(parameter, number);
  statement.bind(parameter, text);
}

void bind_optional_text(Statement& statement, int parameter, const std::string& text) {
  if (text.empty())
    statement.bind_null(parameter);
  else
    statement.bind(parameter, text);
}

void bind_number(Statement& statement, int parameter, std::optional<double> value) {
  if (!value)
    statement.bind_null(parameter);
  else if (std::abs(*value) < exact && *value == std::trunc(*value))
    statement.bind(parameter, static_cast<std::int64_t>(*value));
  else
    statement.bind(parameter, *value);
}

SweepCell cell_of(const Statement& row, int column) {
  switch (row.type(column)) {
    case SQLITE_INTEGER:
      return row.integer(column);
    case SQLITE_FLOAT:
      return row.number(column);
    case SQLITE_NULL:
      return std::monostate{};
    default:
      return row.text(column);
  }
}

std::vector<SweepCell> cells_of(const Statement& row) {
  std::vector<SweepCell> cells;
  cells.reserve(static_cast<std::size_t>(row.columns()));
  for (int column = 0; column < row.columns(); ++column) cells.push_back(cell_of(row, column));
  return cells;
}

}  // namespace

struct SweepStore::Connection {
  fs::path file;
  std::unique_ptr<WriterLock> lock;  ///< released after the database is closed
  sqlite::Database database;
  std::unique_ptr<Statement> insert;
  bool in_transaction = false;

  ~Connection() {
    insert.reset();
    database.reset();
  }

  void open_to_write(const Sweep& sweep, bool resume) {
    database = sqlite::open(file.empty() ? fs::path(":memory:") : file,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    sqlite3* db = database.get();
    sqlite3_busy_timeout(db, 10'000);
    const bool known = holds_sweep(db, file);
    if (!file.empty()) lock = std::make_unique<WriterLock>(file);
    if (known) {
      check_same(read_header(db), sweep.header(), file);
      if (!resume)
        throw UsageError(file.string() +
                         ": holds this sweep, or a part of it; --resume continues it");
    }
    // In WAL mode with NORMAL, whatever ends the program leaves every commit in place.
    sqlite::execute(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
    if (!known) create(sweep);
    prepare(sweep);
  }

  void create(const Sweep& sweep) {
    sqlite3* db = database.get();
    sqlite::execute(db, "BEGIN IMMEDIATE;\n" + create_tables(sweep));
    Statement row(db, "INSERT INTO sweep(name, value) VALUES(?, ?)");
    for (const auto& [name, value] : sweep.header()) {
      row.bind(1, name);
      row.bind(2, value);
      row.step();
      row.reset();
    }
    sqlite::execute(db, "COMMIT");
  }

  void prepare(const Sweep& sweep) {
    const std::size_t cells =
        5 + sweep.question().grid.keys().size() + sweep.question().metrics.size();
    std::string sql = "INSERT OR REPLACE INTO points VALUES(?";
    for (std::size_t i = 1; i < cells; ++i) sql += ",?";
    insert = std::make_unique<Statement>(database.get(), sql + ")");
  }
};

SweepStore::SweepStore(const fs::path& file, const Sweep& sweep, bool resume)
    : connection_(std::make_unique<Connection>()) {
  connection_->file = file;
  try {
    connection_->open_to_write(sweep, resume);
  } catch (const sqlite::Error& error) {
    refuse(file, error);
  }
}

SweepStore::SweepStore(const fs::path& file) : connection_(std::make_unique<Connection>()) {
  connection_->file = file;
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) throw UsageError(file.string() + ": is not a file");
  try {
    connection_->database = sqlite::open(file, SQLITE_OPEN_READWRITE);
    sqlite3_busy_timeout(connection_->database.get(), 10'000);
    if (!holds_sweep(connection_->database.get(), file))
      throw UsageError(file.string() + ": holds no sweep");
    static_cast<void>(counts());
  } catch (const sqlite::Error& error) {
    refuse(file, error);
  }
}

SweepStore::~SweepStore() = default;
SweepStore::SweepStore(SweepStore&&) noexcept = default;

SweepHeader SweepStore::header() const { return read_header(connection_->database.get()); }

std::string SweepStore::header_value(const std::string& name) const {
  Statement row(connection_->database.get(), "SELECT value FROM sweep WHERE name = ?");
  row.bind(1, name);
  FORETRAIN_REQUIRE(row.step());
  return row.text(0);
}

SweepCounts SweepStore::counts() const {
  SweepCounts counts;
  const std::string points = header_value("points");
  std::from_chars(points.data(), points.data() + points.size(), counts.points);
  Statement rows(connection_->database.get(),
                 "SELECT status, count(*) FROM points GROUP BY status");
  while (rows.step()) {
    const std::string status = rows.text(0);
    (status == "ok"           ? counts.ok
     : status == "infeasible" ? counts.infeasible
     : status == "invalid"    ? counts.invalid
                              : counts.failed) += rows.integer(1);
  }
  return counts;
}

std::vector<bool> SweepStore::done(bool retry) const {
  std::vector<bool> result(static_cast<std::size_t>(counts().points), false);
  Statement rows(
      connection_->database.get(),
      retry ? "SELECT point FROM points WHERE status <> 'failed'" : "SELECT point FROM points");
  while (rows.step()) result.at(static_cast<std::size_t>(rows.integer(0))) = true;
  return result;
}

void SweepStore::insert(const Sweep& sweep, const std::vector<SweepRow>& rows) {
  FORETRAIN_REQUIRE(connection_->insert != nullptr);
  if (!connection_->in_transaction) sqlite::execute(connection_->database.get(), "BEGIN IMMEDIATE");
  connection_->in_transaction = true;
  Statement& statement = *connection_->insert;
  for (const SweepRow& row : rows) {
    int at = 0;
    statement.bind(++at, row.point);
    bind_optional_text(statement, ++at, row.hash);
    statement.bind(++at, name_of(row.status));
    bind_optional_text(statement, ++at, row.rule);
    bind_optional_text(statement, ++at, row.reason);
    for (const std::string& value : sweep.values_of(row.point)) bind_value(statement, ++at, value);
    for (const auto& metric : row.metrics) bind_number(statement, ++at, metric);
    statement.step();
    statement.reset();
  }
}

void SweepStore::commit() {
  if (!connection_->in_transaction) return;
  sqlite::execute(connection_->database.get(), "COMMIT");
  connection_->in_transaction = false;
}

std::vector<std::string> SweepStore::columns() const {
  const Statement row(connection_->database.get(), "SELECT * FROM points");
  std::vector<std::string> names;
  for (int column = 0; column < row.columns(); ++column) names.push_back(row.name(column));
  return names;
}

void SweepStore::for_each(const std::function<bool(const std::vector<SweepCell>&)>& use) const {
  Statement row(connection_->database.get(), "SELECT * FROM points ORDER BY point");
  while (row.step())
    if (!use(cells_of(row))) return;
}

std::vector<std::vector<SweepCell>> SweepStore::first_by(const std::string& column, bool most,
                                                         int rows) const {
  Statement row(connection_->database.get(),
                fmt::format("SELECT * FROM points WHERE status = 'ok' AND {0} IS NOT NULL ORDER BY "
                            "{0}{1}, point LIMIT {2}",
                            identifier(column), most ? " DESC" : "", rows));
  std::vector<std::vector<SweepCell>> result;
  while (row.step()) result.push_back(cells_of(row));
  return result;
}

std::vector<std::pair<std::string, std::int64_t>> SweepStore::refusals() const {
  Statement rows(
      connection_->database.get(),
      "SELECT status || CASE WHEN rule IS NULL THEN '' ELSE ': ' || rule END AS kind, "
      "count(*) AS number FROM points WHERE status <> 'ok' GROUP BY kind ORDER BY number "
      "DESC, kind");
  std::vector<std::pair<std::string, std::int64_t>> result;
  while (rows.step()) result.emplace_back(rows.text(0), rows.integer(1));
  return result;
}

}  // namespace foretrain
