// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace foretrain::sqlite {

/// What SQLite refused; code() is its extended result code, system_error() the errno behind it,
/// 0 where there is none.
class Error : public std::runtime_error {
 public:
  Error(int code, const std::string& what, int system_error = 0)
      : std::runtime_error(what), code_(code), system_error_(system_error) {}
  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] int system_error() const { return system_error_; }

 private:
  int code_;
  int system_error_;
};

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct FinishStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

using Database = std::unique_ptr<sqlite3, CloseDatabase>;

/// A database that may come from anybody: its triggers and views do not run, its schema calls no
/// function with side effects, and nothing of ours can damage it.
/// @param flags of sqlite3_open_v2(). @throws Error
[[nodiscard]] Database open(const std::filesystem::path& file, int flags);
/// Runs statements without results. @throws Error
void execute(sqlite3* database, const std::string& sql);

/// A prepared statement. Parameters count from 1, columns from 0.
class Statement {
 public:
  /// @throws Error
  Statement(sqlite3* database, const std::string& sql);

  void bind(int parameter, std::int64_t value);
  void bind(int parameter, double value);
  void bind(int parameter, std::string_view text);
  void bind_null(int parameter);
  /// @return whether there is a row. @throws Error
  bool step();
  /// Ready for other values and another run.
  void reset();

  [[nodiscard]] int columns() const { return sqlite3_column_count(statement_.get()); }
  [[nodiscard]] std::string name(int column) const {
    return sqlite3_column_name(statement_.get(), column);
  }
  [[nodiscard]] int type(int column) const { return sqlite3_column_type(statement_.get(), column); }
  [[nodiscard]] std::int64_t integer(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
  }
  [[nodiscard]] double number(int column) const {
    return sqlite3_column_double(statement_.get(), column);
  }
  [[nodiscard]] std::string text(int column) const;

 private:
  void check(int code) const;
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, FinishStatement> statement_;
};

/// A name of a table or column, in double quotes.
[[nodiscard]] std::string identifier(std::string_view name);

}  // namespace foretrain::sqlite
