// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/internal/sweep_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "planner/sweep/sweep_grid.hpp"
#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain::sweep_file {
namespace {

namespace fs = std::filesystem;
using sqlite::identifier;
using sqlite::Statement;

std::string named(const fs::path& file) { return escaped(file.string()) + ": "; }

/// The bits of an extended result code that say what kind it is.
int kind_of(int code) { return code & 0xFF; }

bool has_open(const fs::path& process, const struct stat& wanted) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(process / "fd", ignored)) {
    struct stat status {};
    if (::stat(entry.path().c_str(), &status) == 0 && status.st_dev == wanted.st_dev &&
        status.st_ino == wanted.st_ino)
      return true;
  }
  return false;
}

/// The process of this host that has a file open besides us. A lock of an open file does not name
/// its owner.
std::optional<long> other_user_of(const fs::path& file) {
  struct stat wanted {};
  if (::stat(file.c_str(), &wanted) != 0) return std::nullopt;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    long process = 0;
    const auto [stopped, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (error != std::errc{} || stopped != name.data() + name.size() || process == ::getpid())
      continue;
    if (has_open(entry.path(), wanted)) return process;
  }
  return std::nullopt;
}

bool is_there(const fs::path& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && status.st_size > 0;
}

/// As a name that SQLite reads as an URI.
std::string uri_of(const fs::path& file) {
  std::string uri = "file:";
  for (const char c : fs::absolute(file).string())
    uri += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/'
               ? std::string(1, c)
               : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return uri + "?immutable=1";
}

std::vector<std::string> texts_of(const Json& list) {
  if (!list.is_array()) return {};
  std::vector<std::string> texts;
  for (const Json& item : list) {
    if (!item.is_string()) return {};
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

[[noreturn]] void refuse_header(const fs::path& file, std::string_view name) {
  throw UsageError(named(file) + "is damaged, or no result of a sweep: its table sweep has no " +
                   (name == "points" ? "number of " : "") + std::string(name));
}

void check_objects(sqlite3* database, const fs::path& file) {
  Statement objects(database,
                    "SELECT type, name FROM sqlite_master WHERE NOT (type = 'table' OR (type = "
                    "'index' AND name LIKE 'sqlite_autoindex_sweep_%')) ORDER BY name LIMIT 1");
  if (objects.step())
    throw UsageError(named(file) + "holds the " + escaped(objects.text(0)) + " " +
                     in_quotes(objects.text(1)) + ", which no result of a sweep has");
}

std::string sql_of(sqlite3* database, std::string_view table) {
  Statement row(database, "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?");
  row.bind(1, table);
  return row.step() ? row.text(0) : "";
}

void check_tables(sqlite3* database, const SweepHeader& header, const fs::path& file) {
  if (sql_of(database, "sweep") != table_of_header ||
      sql_of(database, "points") != table_of_points(value_columns(header, file)))
    throw UsageError(named(file) +
                     "its tables are not those of a result that this version writes; make it anew");
}

void check_points(sqlite3* database, const SweepHeader& header, const fs::path& file) {
  const std::string points = value_of(header, "points");
  std::int64_t count = -1;
  const char* end = points.data() + points.size();
  const auto [stopped, error] = std::from_chars(points.data(), end, count);
  if (error != std::errc{} || stopped != end || count < 0 || count > most_points)
    refuse_header(file, "points");
  Statement row(database,
                "SELECT point, status FROM points WHERE point < 0 OR point >= ? OR status NOT IN "
                "('ok', 'infeasible', 'invalid', 'failed') LIMIT 1");
  row.bind(1, count);
  if (!row.step()) return;
  const std::int64_t point = row.integer(0);
  if (point < 0 || point >= count)
    throw UsageError(named(file) +
                     fmt::format("is damaged: it has a row of point {}, and the grid has {} points",
                                 point, count));
  throw UsageError(named(file) + fmt::format("is damaged: point {} has the status ", point) +
                   in_quotes(row.text(1)));
}

}  // namespace

void refuse(const fs::path& file, const sqlite::Error& error) {
  const std::string where = named(file);
  const std::string why = error.system_error() != 0 ? std::strerror(error.system_error()) : "";
  const int kind = kind_of(error.code());
  if (kind == SQLITE_FULL || error.system_error() == ENOSPC || error.system_error() == EDQUOT)
    throw SystemError(where +
                      "the disk is full; what was committed is kept, and --resume continues it "
                      "once there is room");
  if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED)
    throw SystemError(where + "another program has locked it; try again when that has ended");
  if (kind == SQLITE_CORRUPT)
    throw UsageError(where + "is damaged (" + error.what() +
                     "); take a copy of it, or make it anew");
  if (kind == SQLITE_CANTOPEN && (error.system_error() == EMFILE || error.system_error() == ENFILE))
    throw SystemError(where + "cannot be opened: " + why + " (see ulimit -n)");
  if (kind == SQLITE_CANTOPEN)
    throw UsageError(where + error.what() + (why.empty() ? "" : ": " + why));
  if (kind == SQLITE_IOERR)
    throw SystemError(where +
                      "reading or writing it failed: " + (why.empty() ? error.what() : why));
  if (kind == SQLITE_READONLY) throw UsageError(where + "cannot be written: " + error.what());
  if (kind == SQLITE_NOMEM) throw SystemError(where + "there is not enough memory");
  throw UsageError(where + error.what());
}

WriterLock::WriterLock(const fs::path& file) : file_(::open(file.c_str(), O_RDWR | O_CLOEXEC)) {
  if (file_ < 0) throw UsageError(named(file) + "cannot be written: " + std::strerror(errno));
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
  const auto process = other_user_of(file);
  throw UsageError(named(file) + "another sweep is writing to it: " +
                   (process ? fmt::format("process {} of this host", *process)
                            : std::string("one of another user, or on another host")));
}

WriterLock::~WriterLock() { ::close(file_); }

sqlite::Database open_to_read(const fs::path& file) {
  try {
    sqlite::Database database = sqlite::open(file, SQLITE_OPEN_READWRITE);
    // Opened in fact with the first question only.
    Statement(database.get(), "SELECT count(*) FROM sqlite_master").step();
    return database;
  } catch (const sqlite::Error& error) {
    const int kind = kind_of(error.code());
    const bool folder_refuses = kind == SQLITE_CANTOPEN || kind == SQLITE_READONLY;
    if (!folder_refuses || error.system_error() == EMFILE || ::access(file.c_str(), R_OK) != 0)
      throw;
  }
  // Where no log can stand beside it, a file without one is all that there is.
  const fs::path log = file.string() + "-wal";
  if (is_there(log))
    throw UsageError(named(file) + "its last rows are in " + escaped(log.filename().string()) +
                     ", and nothing can be written beside it; copy both to another folder");
  return sqlite::open(uri_of(file), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

std::string table_of_points(const std::vector<std::string>& columns) {
  // No declared types: a cell is what it was given as.
  std::string sql =
      "CREATE TABLE points(point INTEGER PRIMARY KEY, hash TEXT, status TEXT NOT NULL, rule TEXT, "
      "reason TEXT";
  for (const std::string& column : columns) sql += ", " + identifier(column);
  return sql + ", " + std::string(checksum_column) + " INTEGER NOT NULL)";
}

std::vector<std::string> value_columns(const SweepHeader& header, const fs::path& file) {
  std::vector<std::string> columns;
  const Json axes = Json::parse(value_of(header, "axes"), nullptr, false);
  if (axes.is_array())
    for (const Json& axis : axes)
      if (axis.is_object() && axis.contains("keys"))
        for (std::string& key : texts_of(axis["keys"])) columns.push_back(std::move(key));
  if (columns.empty()) refuse_header(file, "axes");
  const auto metrics = texts_of(Json::parse(value_of(header, "metrics"), nullptr, false));
  if (metrics.empty()) refuse_header(file, "metrics");
  columns.insert(columns.end(), metrics.begin(), metrics.end());
  return columns;
}

SweepHeader read_header(sqlite3* database) {
  SweepHeader header;
  Statement rows(database, "SELECT name, value FROM sweep ORDER BY rowid");
  while (rows.step()) header.emplace_back(rows.text(0), rows.text(1));
  return header;
}

std::string value_of(const SweepHeader& header, std::string_view name) {
  const auto found =
      std::ranges::find_if(header, [&](const auto& entry) { return entry.first == name; });
  return found == header.end() ? "" : found->second;
}

bool holds_sweep(sqlite3* database, const fs::path& file) {
  Statement tables(database, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
  std::vector<std::string> names;
  while (tables.step()) names.push_back(tables.text(0));
  check_objects(database, file);
  if (names.empty()) return false;
  if (names != std::vector<std::string>{"points", "sweep"})
    throw UsageError(named(file) + "holds other tables than those of a sweep");
  const SweepHeader header = read_header(database);
  for (const char* name : {"schema", "engine", "points", "identity"})
    if (value_of(header, name).empty()) refuse_header(file, name);
  if (value_of(header, "schema") != schema)
    throw UsageError(named(file) + "is written in the format " +
                     in_quotes(value_of(header, "schema")) + "; this version reads " +
                     in_quotes(schema));
  check_tables(database, header, file);
  check_points(database, header, file);
  return true;
}

std::int64_t checksum(const std::vector<SweepCell>& cells) {
  uLong sum = ::crc32(0L, nullptr, 0);
  const auto add = [&](const void* bytes, std::size_t size) {
    sum = ::crc32_z(sum, static_cast<const Bytef*>(bytes), size);
  };
  for (const SweepCell& cell : cells) {
    const char kind = static_cast<char>(cell.index());
    add(&kind, 1);
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) add(whole, sizeof(*whole));
    if (const auto* number = std::get_if<double>(&cell)) add(number, sizeof(*number));
    if (const auto* text = std::get_if<std::string>(&cell)) {
      const auto size = static_cast<std::uint64_t>(text->size());
      add(&size, sizeof(size));
      add(text->data(), text->size());
    }
  }
  return static_cast<std::int64_t>(sum);
}

void check_row(std::vector<SweepCell>& cells, const fs::path& file) {
  const SweepCell written = cells.back();
  cells.pop_back();
  if (written == SweepCell{checksum(cells)}) return;
  const auto* point = std::get_if<std::int64_t>(&cells.front());
  throw UsageError(named(file) +
                   fmt::format("is damaged: the row of point {} is not what was written; delete "
                               "it, or take a copy of the file",
                               point ? *point : -1));
}

std::vector<SweepCell> cells_of(const Statement& row) {
  std::vector<SweepCell> cells;
  cells.reserve(static_cast<std::size_t>(row.columns()));
  for (int column = 0; column < row.columns(); ++column) {
    switch (row.type(column)) {
      case SQLITE_INTEGER:
        cells.emplace_back(row.integer(column));
        break;
      case SQLITE_FLOAT:
        cells.emplace_back(row.number(column));
        break;
      case SQLITE_NULL:
        cells.emplace_back(std::monostate{});
        break;
      default:
        cells.emplace_back(row.text(column));
    }
  }
  return cells;
}

}  // namespace foretrain::sweep_file
