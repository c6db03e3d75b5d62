// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fields/shipped_table.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "scenarios/yaml/confinement.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/text_file.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {

namespace fs = std::filesystem;

DatedFiles files_of(const ShippedTable& table, const std::vector<fs::path>& catalogs) {
  DatedFiles files;
  Diagnostics diagnostics;
  for (const fs::path& root : catalog_roots(catalogs, diagnostics))
    for (const char* place : {table.place, table.own}) {
      std::error_code failed;
      const fs::path file = root / place;
      if (fs::is_regular_file(file, failed))
        files.emplace_back(file, fs::last_write_time(file, failed));
    }
  diagnostics.throw_if_any();
  return files;
}

std::vector<FieldValues> read_files(const ShippedTable& table, const DatedFiles& files) {
  std::vector<FieldValues> read;
  Diagnostics diagnostics;
  for (const auto& [file, written] : files) {
    const std::string name = file.string();
    const auto text = read_text_file(file, name, YamlLimits{}.file_bytes, diagnostics);
    diagnostics.throw_if_any();
    const auto tree = parse_yaml(*text, name, YamlLimits{}, diagnostics);
    diagnostics.throw_if_any();
    read.push_back(read_fields(*tree, table.fields(), diagnostics));
    diagnostics.throw_if_any();
  }
  return read;
}

bool is_off(const YamlNode& node, const std::vector<std::string>& more) {
  const auto is_word = [&](const YamlNode& item) {
    return std::any_of(more.begin(), more.end(), [&](const std::string& word) {
      return lower_case(word) == lower_case(item.text);
    });
  };
  if (!node.is_scalar())
    return node.entries.empty() && std::all_of(node.items.begin(), node.items.end(), is_word);
  const std::string text = lower_case(node.text);
  return node.is_null() || text.empty() || text == "false" || text == "no" || text == "none" ||
         text == "off" || parse_number(text).value == 0.0 || is_word(node);
}

std::vector<Field> refused_fields(const std::string& path) {
  return {{.path = path, .kind = FieldKind::list, .help = "Keys that matter where they are on."},
          {.path = path + "[].keys",
           .kind = FieldKind::text_list,
           .help = "Their paths.",
           .example = "[a.b]",
           .required = true},
          {.path = path + "[].off",
           .kind = FieldKind::text_list,
           .help = "Further values that change nothing.",
           .example = "[auto]"},
          {.path = path + "[].missing",
           .help = "What is not modelled.",
           .example = "a second model",
           .required = true}};
}

std::vector<RefusedKeys> refused_at(const FieldValues& values, const std::string& path) {
  std::vector<RefusedKeys> rows;
  for (int i = 0; i < values.list_size(path); ++i) {
    const std::string row = fmt::format("{}[{}].", path, i);
    rows.push_back({values.at(row + "keys").texts, texts_at(values, row + "off"),
                    values.text(row + "missing")});
  }
  return rows;
}

std::vector<std::string> texts_at(const FieldValues& values, const std::string& path) {
  return values.has(path) ? values.at(path).texts : std::vector<std::string>{};
}

}  // namespace foretrain
