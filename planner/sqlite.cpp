// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/sqlite.hpp"

namespace foretrain::sqlite {

Database open(const std::filesystem::path& file, int flags) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &raw, flags, nullptr);
  Database database(raw);
  if (code != SQLITE_OK)
    throw Error(code, raw != nullptr ? sqlite3_errmsg(raw) : sqlite3_errstr(code));
  sqlite3_extended_result_codes(raw, 1);
  return database;
}

void execute(sqlite3* database, const std::string& sql) {
  const int code = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw Error(code, sqlite3_errmsg(database));
}

Statement::Statement(sqlite3* database, const std::string& sql) : database_(database) {
  sqlite3_stmt* raw = nullptr;
  check(sqlite3_prepare_v2(database, sql.c_str(), -1, &raw, nullptr));
  statement_.reset(raw);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) throw Error(code, sqlite3_errmsg(database_));
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
                            reinterpret_cast<sqlite3_destructor_type>(-1), SQLITE_UTF8));
}

void Statement::bind_null(int parameter) { check(sqlite3_bind_null(statement_.get(), parameter)); }

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) throw Error(code, sqlite3_errmsg(database_));
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
