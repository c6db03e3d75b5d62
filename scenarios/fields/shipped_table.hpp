// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/fields/field_reader.hpp"

namespace foretrain {

/// A table of facts that the project ships, and that a folder of a user's own (--catalog) adds to.
struct ShippedTable {
  const char* place;  ///< below the data folder
  const char* own;    ///< below an extra root
  const FieldTable& (*fields)();
};

/// Files with the time when each was written.
using DatedFiles = std::vector<std::pair<std::filesystem::path, std::filesystem::file_time_type>>;

/// The files of a table, those of `catalogs` first. @throws ScenarioError for folders that are none
[[nodiscard]] DatedFiles files_of(const ShippedTable& table,
                                  const std::vector<std::filesystem::path>& catalogs);
/// @throws ScenarioError when one of the files is broken
[[nodiscard]] std::vector<FieldValues> read_files(const ShippedTable& table,
                                                  const DatedFiles& files);

/// What a table's files say, made once and again where a file changed. Safe to share by threads.
template <class Rows>
class ShippedRows {
 public:
  using Make = Rows (*)(const std::vector<FieldValues>& files);
  ShippedRows(ShippedTable table, Make make) : table_{table}, make_{make} {}

  /// @throws ScenarioError
  [[nodiscard]] std::shared_ptr<const Rows> of(const std::vector<std::filesystem::path>& catalogs) {
    const DatedFiles files = files_of(table_, catalogs);
    const std::lock_guard lock(mutex_);
    if (!rows_ || files_ != files) {
      rows_ = std::make_shared<const Rows>(make_(read_files(table_, files)));
      files_ = files;
    }
    return rows_;
  }

 private:
  ShippedTable table_;
  Make make_;
  std::mutex mutex_;
  DatedFiles files_;
  std::shared_ptr<const Rows> rows_;
};

/// Keys that are refused unless their value is one that changes nothing: null, empty, false, no,
/// none, off, zero, or one of `off`; of a list, each of its items.
struct RefusedKeys {
  std::vector<std::string> keys;
  std::vector<std::string> off;
  std::string missing;  ///< what is not modelled
};
[[nodiscard]] bool is_off(const YamlNode& node, const std::vector<std::string>& more);
/// Fields of a list of such rows, and the rows as read.
[[nodiscard]] std::vector<Field> refused_fields(const std::string& path);
[[nodiscard]] std::vector<RefusedKeys> refused_at(const FieldValues& values,
                                                  const std::string& path);

/// A list of texts; empty where it is absent.
[[nodiscard]] std::vector<std::string> texts_at(const FieldValues& values, const std::string& path);

}  // namespace foretrain
