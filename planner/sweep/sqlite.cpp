// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/internal/sqlite.hpp"

#include <utility>

namespace foretrain::sqlite {
namespace {

[[noreturn]] void fail(sqlite3* database, int code) {
  throw Error(code, sqlite3_errmsg(database), sqlite3_system_errno(database));
}

void distrust(sqlite3* database) {
  for (const auto& [option, value] : {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                      {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                      {SQLITE_DBCONFIG_ENABLE_VIEW, 0}})
    if (const int code = sqlite3_db_config(database, option, value, nullptr); code != SQLITE_OK)
      fail(database, code);
  execute(database, "PRAGMA cell_size_check = ON");
}

}  // namespace

Database open(const std::filesystem::path& file, int flags) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &raw, flags, nullptr);
  Database database(raw);
  if (code != SQLITE_OK && raw == nullptr) throw Error(code, sqlite3_errstr(code));
  if (code != SQLITE_OK) fail(raw, code);
  sqlite3_extended_result_codes(raw, 1);
  distrust(raw);
  return database;
}

void execute(sqlite3* database, const std::string& sql) {
  const int code = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(database, code);
}

Statement::Statement(sqlite3* database, const std::string& sql) : database_(database) {
  sqlite3_stmt* raw = nullptr;
  check(sqlite3_prepare_v2(database, sql.c_str(), -1, &raw, nullptr));
  statement_.reset(raw);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) fail(database_, code);
}

void Statement::bind(int parameter, std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), parameter, value));
}

void Statement::bind(int parameter, double value) {
  check(sqlite3_bind_double(statement_.get(), parameter, value));
}

void Statement::bind(int parameter, std::string_view text) {
  check(sqlite3_bind_text64(statement_.get(), parameter, text.data(), text.size(),
                            // What SQLITE_TRANSIENT stands for, without its old-style cast.
                            // NOLINTNEXTLINE(performance-no-int-to-ptr)
                            reinterpret_cast<sqlite3_destructor_type>(-1), SQLITE_UTF8));
}

void Statement::bind_null(int parameter) { check(sqlite3_bind_null(statement_.get(), parameter)); }

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) fail(database_, code);
  return false;
}

void Statement::reset() {
  // Its result repeats the error of the last step, which was thrown there.
  sqlite3_reset(statement_.get());
  check(sqlite3_clear_bindings(statement_.get()));
}

std::string Statement::text(int column) const {
  const unsigned char* raw = sqlite3_column_text(statement_.get(), column);
  if (raw == nullptr) return {};
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return {reinterpret_cast<const char*>(raw), size};
}

std::string identifier(std::string_view name) {
  std::string result = "\"";
  for (const char c : name) {
    if (c == '"') result += c;
    result += c;
  }
  return result + '"';
}

}  // namespace foretrain::sqlite
