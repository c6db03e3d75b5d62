// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/band_table_file.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "scenarios/fields/field_reader.hpp"
#include "scenarios/fields/field_table.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

Field share_field(std::string path, std::string help) {
  return {.path = std::move(path),
          .kind = FieldKind::number,
          .help = std::move(help),
          .example = "0.08",
          .required = true,
          .min = 0,
          .max = 10};
}

Field whole_field(std::string path, std::string help) {
  return {.path = std::move(path),
          .kind = FieldKind::integer,
          .help = std::move(help),
          .example = "64",
          .required = true,
          .min = 1};
}

Field year_field(std::string path, std::string help) {
  return {.path = std::move(path),
          .kind = FieldKind::integer,
          .help = std::move(help),
          .example = "2025",
          .min = 2017,
          .max = 2100};
}

const FieldTable& band_table_fields() {
  static const FieldTable table(
      "Widths of bands",
      {schema_field(),
       {.path = "widths", .kind = FieldKind::list, .help = "One kind of ignorance each."},
       {.path = "widths[].kind",
        .kind = FieldKind::choice,
        .help = "What is not known.",
        .example = "site",
        .required = true,
        .choices = choices_of<BandKind>()},
       share_field("widths[].low", "Down, as a share of the step."),
       share_field("widths[].high", "Up."),
       {.path = "unmeasured_site",
        .kind = FieldKind::group,
        .help = "Bands on clusters without a measured site are no narrower."},
       share_field("unmeasured_site.low", "Down, as a share of the step."),
       share_field("unmeasured_site.high", "Up."),
       {.path = "reach", .kind = FieldKind::list, .help = "What each stack was fitted on."},
       {.path = "reach[].stack", .help = "Stack profile.", .example = "nemo", .required = true},
       whole_field("reach[].runs", "Fitted runs."),
       whole_field("reach[].gpus", "Most GPUs of one."),
       whole_field("reach[].tensor", "Most tensor ranks of one."),
       {.path = "reach[].devices",
        .kind = FieldKind::text_list,
        .help = "Their devices, and those of the same chip.",
        .example = "[my-gpu]",
        .required = true},
       year_field("reach[].first_year", "Of the oldest software of one, where known."),
       year_field("reach[].last_year", "Of the newest.")});
  return table;
}

BandTable table_in(const FieldValues& values, Diagnostics& diagnostics) {
  BandTable table;
  std::set<BandKind> seen;
  for (int i = 0; i < values.list_size("widths"); ++i) {
    const std::string path = fmt::format("widths[{}].", i);
    const auto kind = values.choice<BandKind>(path + "kind");
    if (!seen.insert(kind).second)
      diagnostics.add(values.where(path + "kind"), path + "kind", "is there already");
    at(table.widths, kind) = {values.number(path + "low"), values.number(path + "high")};
  }
  table.unmeasured_site = {values.number("unmeasured_site.low"),
                           values.number("unmeasured_site.high")};
  for (const auto& [kind, name] : EnumNames<BandKind>::names)
    if (seen.count(kind) == 0)
      diagnostics.add(values.where("widths"), "widths",
                      "has no width of kind " + std::string(name));
  for (int i = 0; i < values.list_size("reach"); ++i) {
    const std::string path = fmt::format("reach[{}].", i);
    const auto year = [&](const char* key) {
      return values.has(path + key) ? std::optional<int>{values.integer(path + key)} : std::nullopt;
    };
    if (values.has(path + "first_year") != values.has(path + "last_year"))
      diagnostics.add(values.where(path + "stack"), path + "first_year",
                      "needs last_year, and that one first_year");
    table.reach[values.text(path + "stack")] = {values.integer(path + "runs"),
                                                values.at(path + "devices").texts,
                                                values.integer(path + "gpus"),
                                                values.integer(path + "tensor"),
                                                year("first_year"),
                                                year("last_year")};
  }
  return table;
}

}  // namespace

std::optional<BandTable> read_band_table(const std::string& text, const std::string& name,
                                         Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.count();
  const auto root = parse_yaml(text, name, YamlLimits{}, diagnostics);
  if (!root || diagnostics.count() != before) return std::nullopt;
  const FieldValues values = read_fields(*root, band_table_fields(), diagnostics);
  if (diagnostics.count() != before) return std::nullopt;
  BandTable table = table_in(values, diagnostics);
  if (diagnostics.count() != before) return std::nullopt;
  return table;
}

std::string band_table_text(const BandTable& table, const std::string& about) {
  std::string text = "# SPDX-License-Identifier: Apache-2.0\n";
  for (std::size_t from = 0; from < about.size();) {
    const std::size_t end = std::min(about.find('\n', from), about.size());
    text += "# " + about.substr(from, end - from) + "\n";
    from = end + 1;
  }
  text += "schema: 1\nwidths:\n";
  for (const auto& [kind, name] : EnumNames<BandKind>::names) {
    const BandSides& width = at(table.widths, kind);
    text +=
        fmt::format("  - {{kind: {}, low: {:.4g}, high: {:.4g}}}\n", name, width.low, width.high);
  }
  text += fmt::format("unmeasured_site: {{low: {:.4g}, high: {:.4g}}}\nreach:\n",
                      table.unmeasured_site.low, table.unmeasured_site.high);
  for (const auto& [stack, reach] : table.reach) {
    const std::string years =
        reach.first_year && reach.last_year
            ? fmt::format(" first_year: {}, last_year: {},", *reach.first_year, *reach.last_year)
            : "";
    text += fmt::format(
        "  - {{stack: {}, runs: {}, gpus: {}, tensor: {},{}\n     devices: [{}]}}\n", stack,
        reach.runs, reach.gpus, reach.tensor, years, fmt::join(reach.devices, ", "));
  }
  return text;
}

std::shared_ptr<const BandTable> load_band_table(const std::vector<fs::path>& roots,
                                                 Diagnostics& diagnostics) {
  static std::mutex reading;
  static std::map<fs::path, std::shared_ptr<const BandTable>> known;
  const std::lock_guard lock(reading);
  for (const fs::path& root : roots) {
    const fs::path file = root / band_table_path;
    std::error_code failed;
    if (!fs::is_regular_file(file, failed)) continue;
    if (const auto found = known.find(file); found != known.end()) return found->second;
    const auto text = read_text_file(file, file.string(), YamlLimits{}.file_bytes, diagnostics);
    if (!text) return nullptr;
    auto table = read_band_table(*text, band_table_path, diagnostics);
    if (!table) return nullptr;
    return known[file] = std::make_shared<const BandTable>(std::move(*table));
  }
  diagnostics.add(Diagnostic{band_table_path, 0, 0, "", "is in no catalog root"});
  return nullptr;
}

}  // namespace foretrain
