// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep_store.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "models/base/require.hpp"
#include "planner/sweep/internal/sweep_file.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;
using sqlite::identifier;
using sqlite::Statement;

constexpr double exact = 9007199254740992.0;  // 2^53

std::string shown(const fs::path& file) { return escaped(file.string()); }

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
      throw UsageError(shown(file) + ": holds another sweep: made with " +
                       difference(there[i].first, there[i].second, here[i].second));
  throw UsageError(shown(file) + ": holds another sweep");
}

SweepCell number_cell(double value) {
  if (std::abs(value) < exact && value == std::trunc(value))
    return static_cast<std::int64_t>(value);
  return value;
}

SweepCell value_cell(const std::string& text) {
  const char* end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto [stopped, error] = std::from_chars(text.data(), end, whole);
      error == std::errc{} && stopped == end)
    return whole;
  double number = 0.0;
  if (const auto [stopped, error] = std::from_chars(text.data(), end, number);
      error == std::errc{} && stopped == end && std::isfinite(number))
    return number;
  return text;
}

SweepCell text_cell(const std::string& text) {
  return text.empty() ? SweepCell{} : SweepCell{text};
}

/// A row as it is stored, its checksum at the end.
std::vector<SweepCell> stored_cells(const Sweep& sweep, const SweepRow& row) {
  std::vector<SweepCell> cells{row.point, text_cell(row.hash), std::string(name_of(row.status)),
                               text_cell(row.rule), text_cell(row.reason)};
  for (const std::string& value : sweep.values_of(row.point)) cells.push_back(value_cell(value));
  for (const auto& metric : row.metrics)
    cells.push_back(metric && std::isfinite(*metric) ? number_cell(*metric) : SweepCell{});
  cells.emplace_back(sweep_file::checksum(cells));
  return cells;
}

void bind_cell(Statement& statement, int parameter, const SweepCell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell))
    statement.bind(parameter, *whole);
  else if (const auto* number = std::get_if<double>(&cell))
    statement.bind(parameter, *number);
  else if (const auto* text = std::get_if<std::string>(&cell))
    statement.bind(parameter, *text);
  else
    statement.bind_null(parameter);
}

}  // namespace

struct SweepStore::Connection {
  fs::path file;
  std::unique_ptr<sweep_file::WriterLock> lock;  ///< released after the database is closed
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
    // Locked first: of two that start a file, the second one finds what the first one made.
    if (!file.empty()) lock = std::make_unique<sweep_file::WriterLock>(file);
    const bool known = sweep_file::holds_sweep(db, file);
    if (known) {
      check_same(sweep_file::read_header(db), sweep.header(), file);
      if (!resume)
        throw UsageError(shown(file) +
                         ": holds this sweep, or a part of it; --resume continues it");
    }
    // In WAL mode with NORMAL, whatever ends the program leaves every commit in place.
    sqlite::execute(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
    if (!known) create(sweep);
    prepare(sweep);
  }

  void create(const Sweep& sweep) {
    sqlite3* db = database.get();
    sqlite::execute(
        db,
        fmt::format("BEGIN IMMEDIATE;\n{};\n{}", sweep_file::table_of_header,
                    sweep_file::table_of_points(sweep_file::value_columns(sweep.header(), file))));
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
        6 + sweep.question().grid.keys().size() + sweep.question().metrics.size();
    std::string sql = "INSERT OR REPLACE INTO points VALUES(?";
    for (std::size_t i = 1; i < cells; ++i) sql += ",?";
    insert = std::make_unique<Statement>(database.get(), sql + ")");
  }
};

SweepStore::SweepStore(const fs::path& file, const Sweep& sweep, bool resume)
    : connection_(std::make_unique<Connection>()) {
  connection_->file = file;
  sweep_file::guarded(file, [&] { connection_->open_to_write(sweep, resume); });
}

SweepStore::SweepStore(const fs::path& file) : connection_(std::make_unique<Connection>()) {
  connection_->file = file;
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) throw UsageError(shown(file) + ": is not a file");
  sweep_file::guarded(file, [&] {
    connection_->database = sweep_file::open_to_read(file);
    sqlite3_busy_timeout(connection_->database.get(), 10'000);
    if (!sweep_file::holds_sweep(connection_->database.get(), file))
      throw UsageError(shown(file) + ": holds no sweep");
  });
}

SweepStore::~SweepStore() = default;
SweepStore::SweepStore(SweepStore&&) noexcept = default;

SweepHeader SweepStore::header() const {
  return sweep_file::guarded(connection_->file,
                             [&] { return sweep_file::read_header(connection_->database.get()); });
}

std::string SweepStore::header_value(const std::string& name) const {
  std::string value = sweep_file::value_of(header(), name);
  FORETRAIN_REQUIRE(!value.empty());
  return value;
}

SweepCounts SweepStore::counts() const {
  SweepCounts counts;
  const std::string points = header_value("points");
  std::from_chars(points.data(), points.data() + points.size(), counts.points);
  sweep_file::guarded(connection_->file, [&] {
    Statement rows(connection_->database.get(),
                   "SELECT status, count(*) FROM points GROUP BY status");
    while (rows.step()) {
      const std::string status = rows.text(0);
      (status == "ok"           ? counts.ok
       : status == "infeasible" ? counts.infeasible
       : status == "invalid"    ? counts.invalid
                                : counts.failed) += rows.integer(1);
    }
  });
  return counts;
}

std::vector<bool> SweepStore::done(bool retry) const {
  std::vector<bool> result(static_cast<std::size_t>(counts().points), false);
  for_each([&](const std::vector<SweepCell>& cells) {
    const bool failed = std::get<std::string>(cells[2]) == name_of(PointStatus::failed);
    result.at(static_cast<std::size_t>(std::get<std::int64_t>(cells[0]))) = !(retry && failed);
    return true;
  });
  return result;
}

void SweepStore::insert(const Sweep& sweep, const std::vector<SweepRow>& rows) {
  FORETRAIN_REQUIRE(connection_->insert != nullptr);
  sweep_file::guarded(connection_->file, [&] {
    if (!connection_->in_transaction)
      sqlite::execute(connection_->database.get(), "BEGIN IMMEDIATE");
    connection_->in_transaction = true;
    Statement& statement = *connection_->insert;
    for (const SweepRow& row : rows) {
      int at = 0;
      for (const SweepCell& cell : stored_cells(sweep, row)) bind_cell(statement, ++at, cell);
      statement.step();
      statement.reset();
    }
  });
}

void SweepStore::commit() {
  if (!connection_->in_transaction) return;
  sweep_file::guarded(connection_->file,
                      [&] { sqlite::execute(connection_->database.get(), "COMMIT"); });
  connection_->in_transaction = false;
}

std::vector<std::string> SweepStore::columns() const {
  return sweep_file::guarded(connection_->file, [&] {
    const Statement row(connection_->database.get(), "SELECT * FROM points");
    std::vector<std::string> names;
    for (int column = 0; column + 1 < row.columns(); ++column) names.push_back(row.name(column));
    return names;
  });
}

void SweepStore::check_rows() const {
  for_each([](const std::vector<SweepCell>&) { return true; });
}

void SweepStore::for_each(const std::function<bool(const std::vector<SweepCell>&)>& use) const {
  sweep_file::guarded(connection_->file, [&] {
    Statement row(connection_->database.get(), "SELECT * FROM points ORDER BY point");
    while (row.step()) {
      std::vector<SweepCell> cells = sweep_file::cells_of(row);
      sweep_file::check_row(cells, connection_->file);
      if (!use(cells)) return;
    }
  });
}

std::vector<std::vector<SweepCell>> SweepStore::first_by(const std::string& column, bool most,
                                                         int rows) const {
  return sweep_file::guarded(connection_->file, [&] {
    Statement row(connection_->database.get(),
                  fmt::format("SELECT * FROM points WHERE status = 'ok' AND {0} IS NOT NULL ORDER "
                              "BY {0}{1}, point LIMIT {2}",
                              identifier(column), most ? " DESC" : "", rows));
    std::vector<std::vector<SweepCell>> result;
    while (row.step()) {
      result.push_back(sweep_file::cells_of(row));
      sweep_file::check_row(result.back(), connection_->file);
    }
    return result;
  });
}

std::vector<std::pair<std::string, std::int64_t>> SweepStore::refusals() const {
  return sweep_file::guarded(connection_->file, [&] {
    Statement rows(
        connection_->database.get(),
        "SELECT status || coalesce(': ' || nullif(rule, ''), ': ' || nullif(reason, ''), '') "
        "AS kind, "
        "count(*) AS number FROM points WHERE status <> 'ok' GROUP BY kind ORDER BY number "
        "DESC, kind");
    std::vector<std::pair<std::string, std::int64_t>> result;
    while (rows.step()) result.emplace_back(rows.text(0), rows.integer(1));
    return result;
  });
}

}  // namespace foretrain
