// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/help/program_build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "planner/version.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/yaml/text_file.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

bool is_day(std::string_view text) {
  constexpr std::string_view form = "dddd-dd-dd";
  return text.size() == form.size() &&
         std::equal(text.begin(), text.end(), form.begin(), [](char c, char like) {
           return like == 'd' ? c >= '0' && c <= '9' : c == like;
         });
}

/// The latest value of a key `date`. Days in this form are ordered as text.
std::string latest_day(const std::string& text) {
  constexpr std::string_view key = "date: ";
  constexpr std::size_t day = 10;
  std::string latest;
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    const std::string found = text.substr(at + key.size(), day);
    if (is_day(found)) latest = std::max(latest, found);
  }
  return latest;
}

std::string latest_day_below(const fs::path& folder) {
  std::string latest;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, error)) {
    if (entry.path().extension() != ".yaml") continue;
    Diagnostics unheard;
    const auto text =
        read_text_file(entry.path(), entry.path().string(), YamlLimits{}.file_bytes, unheard);
    if (text) latest = std::max(latest, latest_day(*text));
  }
  return latest;
}

}  // namespace

std::string version_text() {
  Diagnostics unheard;
  const fs::path root = catalog_roots({}, unheard).back();
  std::string latest;
  for (const char* part : {"models/catalog", "topologies/catalog", "calibration/profiles"})
    latest = std::max(latest, latest_day_below(root / part));
  return fmt::format("foretrain {}\ndata {}: {}\n", version,
                     latest.empty() ? "not found" : "of " + latest, root.generic_string());
}

}  // namespace foretrain
