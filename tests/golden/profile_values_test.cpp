// SPDX-License-Identifier: Apache-2.0
// Every constant of the shipped profiles and devices, whatever file it stands in: a row per key, a
// column per entry, base units. FORETRAIN_UPDATE_GOLDEN=1 rewrites the records; review the
// difference.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "scenarios/catalog/catalog_entry.hpp"

using namespace foretrain;

namespace {

bool is_constant(const FieldValue& value) {
  if (value.path == "schema" || value.path.starts_with("provenance.")) return false;
  switch (value.field->kind) {
    case FieldKind::number:
    case FieldKind::integer:
    case FieldKind::quantity:
    case FieldKind::boolean:
    case FieldKind::choice:
      return true;
    default:
      return false;
  }
}

std::string cell_of(const FieldValue& value) {
  if (value.field->kind == FieldKind::boolean) return value.boolean ? "true" : "false";
  if (value.field->kind == FieldKind::choice) return value.text;
  return fmt::format("{}", value.number);
}

/// Values of all entries of a kind, by key and entry, as a table.
std::string table_of(CatalogKind kind) {
  Diagnostics diagnostics;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{{}, {}, diagnostics, files, values};
  const std::vector<CatalogFile> entries = list_catalog_files(kind, catalog_roots({}, diagnostics));
  std::map<std::string, std::map<std::string, std::string>> rows;
  std::string text = "key";
  for (const CatalogFile& entry : entries) {
    CAPTURE(entry.shown);
    const auto read = read_catalog_file(entry, catalog_fields(kind), context, nullptr);
    REQUIRE(read.has_value());
    text += "," + entry.name;
    for (const FieldValue& value : read->all())
      if (is_constant(value)) rows[value.path][entry.name] = cell_of(value);
  }
  diagnostics.throw_if_any();
  text += "\n";
  for (const auto& [key, cells] : rows) {
    text += key;
    for (const CatalogFile& entry : entries) {
      const auto cell = cells.find(entry.name);
      text += "," + (cell == cells.end() ? "" : cell->second);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("profiles: every constant has the value on record, own or inherited",
          "[golden][profiles]") {
  const CatalogKind kind = GENERATE(CatalogKind::stacks, CatalogKind::sites,
                                    CatalogKind::device_profiles, CatalogKind::devices);
  const std::string table = table_of(kind);
  const std::filesystem::path file = std::filesystem::path(FORETRAIN_SOURCE_DIR) / "tests/golden" /
                                     (std::string(name_of(kind)) + ".expected.csv");
  if (std::getenv("FORETRAIN_UPDATE_GOLDEN") != nullptr)
    std::ofstream(file, std::ios::binary) << table;
  std::ostringstream committed;
  committed << std::ifstream(file, std::ios::binary).rdbuf();
  INFO(file.string());
  CHECK(committed.str() == table);
}
