// SPDX-License-Identifier: Apache-2.0
#include "calibration/validate/peer_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "scenarios/fields/field_reader.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {
namespace {

/// Key of the file and name in tables.
constexpr std::array<std::pair<const char*, const char*>, 5> peers{{
    {"constant_mfu", "50 %"},
    {"calculon", "Calculon"},
    {"simumax", "SimuMax"},
    {"llm_analysis", "llm-analysis"},
    {"vtrain", "vTrain"},
}};

std::vector<Field> keys() {
  std::vector<Field> fields{
      schema_field(),
      {.path = "families", .kind = FieldKind::list, .help = "Groups of runs.", .required = true},
      {.path = "families[].name",
       .help = "What tables call it.",
       .example = "SC21, table 1",
       .required = true},
      {.path = "families[].records",
       .kind = FieldKind::text_list,
       .help = "How the ids of its records begin.",
       .example = "[sc21-t1-]",
       .required = true},
      {.path = "families[].runs",
       .kind = FieldKind::integer,
       .help = "Runs that the tools were compared with.",
       .example = "10",
       .min = 1},
      {.path = "families[].source",
       .help = "Who found the errors, with which versions.",
       .example = "arXiv 2312.12391",
       .required = true},
  };
  for (const auto& [key, name] : peers)
    fields.push_back({.path = std::string("families[].") + key,
                      .kind = FieldKind::number,
                      .help = std::string("Mean absolute error of ") + name + ", percent.",
                      .example = "8.4",
                      .min = 0,
                      .above_min = true});
  return fields;
}

bool belongs(const RecordCheck& check, const PeerFamily& family) {
  return check.quantity == step_quantity && !check.skipped &&
         std::ranges::any_of(family.records, [&](const std::string& prefix) {
           return check.id.starts_with(prefix);
         });
}

/// The keys of the file.
const FieldTable& peer_fields() {
  static const FieldTable table("Errors of other tools", keys());
  return table;
}

}  // namespace

const std::vector<std::string>& peer_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const auto& [key, name] : peers) result.emplace_back(name);
    return result;
  }();
  return names;
}

std::optional<std::vector<PeerFamily>> read_peer_errors(const std::string& text,
                                                        const std::string& name,
                                                        Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.count();
  const auto root = parse_yaml(text, name, YamlLimits{}, diagnostics);
  if (!root || diagnostics.count() != before) return std::nullopt;
  const FieldValues values = read_fields(*root, peer_fields(), diagnostics);
  if (diagnostics.count() != before) return std::nullopt;
  std::vector<PeerFamily> families;
  for (int i = 0; i < values.list_size("families"); ++i) {
    const std::string at = fmt::format("families[{}].", i);
    PeerFamily family;
    family.name = values.text(at + "name");
    family.records = values.at(at + "records").texts;
    if (values.has(at + "runs")) family.runs = values.integer(at + "runs");
    family.source = values.text(at + "source");
    for (const auto& [key, label] : peers)
      family.errors.push_back(values.has(at + key) ? std::optional(values.number(at + key))
                                                   : std::nullopt);
    families.push_back(std::move(family));
  }
  return families;
}

std::vector<PeerComparison> beside_peers(const std::vector<PeerFamily>& families,
                                         const std::vector<RecordCheck>& checks) {
  std::vector<PeerComparison> result;
  for (const PeerFamily& family : families) {
    PeerComparison line{.family = family};
    for (const RecordCheck& check : checks) {
      if (!belongs(check, family)) continue;
      ++line.runs;
      line.mape += std::abs(check.error());
    }
    if (line.runs == 0) continue;
    line.mape *= 100.0 / line.runs;
    result.push_back(std::move(line));
  }
  return result;
}

}  // namespace foretrain
