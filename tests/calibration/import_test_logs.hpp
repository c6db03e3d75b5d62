// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "calibration/imports/import_log.hpp"

namespace foretrain {

/// A file of the repository.
inline std::string repository_file(const std::filesystem::path& path) {
  std::ifstream file(std::filesystem::path(FORETRAIN_SOURCE_DIR) / path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A file below tests/calibration/fixtures.
inline std::string fixture(const std::string& name) {
  return repository_file(std::filesystem::path("tests/calibration/fixtures") / name);
}

/// A log with what was reported about it, one line each.
struct Imported {
  ImportedLog log;
  std::string errors;
};

inline Imported imported(const std::string& text, const ImportOptions& options = {},
                         const std::string& name = "x.log") {
  Diagnostics diagnostics;
  Imported result{import_log(text, name, std::nullopt, options, diagnostics), ""};
  for (const Diagnostic& item : diagnostics.items()) result.errors += item.text() + "\n";
  return result;
}

/// The text with its first `from` replaced.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

/// "12 left out: ..." of every flagged row.
inline std::string flags(const ImportedLog& log) {
  std::string text;
  for (const FlaggedRow& row : log.flagged)
    text += std::to_string(row.line) + (row.kept ? " kept: " : " left out: ") + row.what + "\n";
  return text;
}

}  // namespace foretrain
