// SPDX-License-Identifier: Apache-2.0
#include "planner/own_runs/scenario_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "calibration/cases/record_scenario.hpp"
#include "calibration/records/run_catalog.hpp"
#include "calibration/records/run_record.hpp"
#include "models/base/ranges.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/sha256.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t ids_shown = 5;

/// A file, and which of its runs.
struct RecordPlace {
  std::string file, id;
};

RecordPlace place_of(const std::string& name) {
  std::error_code error;
  const auto mark = name.rfind('#');
  if (mark == std::string::npos || fs::exists(name, error)) return {name, {}};
  return {name.substr(0, mark), name.substr(mark + 1)};
}

/// Whether a line begins with one of the keys that hold records; most scenarios are not parsed
/// twice for this.
bool may_hold_records(const std::string& text) {
  for (const std::string_view key : {"runs", "record"})
    for (auto at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
      const auto line = text.find_last_not_of(" \t\"'{", at - 1);
      const bool begins = at == 0 || line == std::string::npos || text[line] == '\n';
      const auto end = text.find_first_not_of("\"' ", at + key.size());
      if (begins && end != std::string::npos && text[end] == ':') return true;
    }
  return false;
}

/// The runs of a document; none where it holds none.
std::vector<const YamlNode*> runs_of(const YamlNode& document) {
  std::vector<const YamlNode*> nodes;
  if (const YamlNode* const record = document.find("record"); record && record->is_map())
    nodes.push_back(record);
  if (const YamlNode* const runs = document.find("runs"); runs && runs->is_sequence())
    for (const YamlNode& node : runs->items) nodes.push_back(&node);
  return nodes;
}

std::string id_of(const YamlNode& node) {
  const YamlNode* const id = node.find("id");
  return id != nullptr && id->is_scalar() ? id->text : std::string();
}

/// The run that is asked for; null after reporting.
const YamlNode* run_called(const std::string& id, const std::vector<const YamlNode*>& runs,
                           const std::string& name, Diagnostics& diagnostics) {
  if (id.empty() && runs.size() == 1) return runs.front();
  std::vector<std::string> ids;
  for (const YamlNode* const node : runs) {
    ids.push_back(id_of(*node));
    if (!id.empty() && ids.back() == id) return node;
  }
  const std::vector<std::string> first(
      ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(std::min(ids.size(), ids_shown)));
  diagnostics.add(Diagnostic{
      name, 0, 0, "runs",
      id.empty() ? fmt::format("holds {} runs; name one, as {}#{}. Their ids: {}{}", ids.size(),
                               name, escaped(first.front()), joined(first),
                               ids.size() > ids_shown ? ", ..." : "")
                 : fmt::format("has no run {}{}", in_quotes(id), nearest_hint(id, ids))});
  return nullptr;
}

}  // namespace

std::optional<ImportedRecord> import_record(const std::string& text, const std::string& name,
                                            const std::string& id,
                                            const std::vector<fs::path>& catalogs) {
  if (!may_hold_records(text)) return std::nullopt;
  Diagnostics diagnostics;
  const auto document = parse_yaml(text, name, run_record_limits(), diagnostics);
  const auto runs = document ? runs_of(*document) : std::vector<const YamlNode*>{};
  if (runs.empty()) return std::nullopt;
  const YamlNode* const node = run_called(id, runs, name, diagnostics);
  const auto record =
      node == nullptr ? std::optional<RunRecord>{} : read_run_record(*node, diagnostics);
  diagnostics.throw_if_any();
  RecordScenario scenario = record_scenario(*record, load_run_catalog(catalogs));
  if (!scenario.why.empty())
    throw ScenarioError(
        {{name, node->mark.line, node->mark.column, "runs[]",
          fmt::format("{} is no scenario: {}", in_quotes(record->id), scenario.why)}});
  return ImportedRecord{std::move(scenario.text), std::move(scenario.assumed)};
}

namespace {

/// The run of a file, with the file's text; nothing where it holds none.
std::optional<ImportedRecord> record_of_file(const RecordPlace& place,
                                             const std::vector<fs::path>& catalogs,
                                             std::string& text) {
  Diagnostics diagnostics;
  auto read = read_text_file(place.file, place.file, run_record_limits().file_bytes, diagnostics);
  diagnostics.throw_if_any();
  text = std::move(*read);
  auto record = import_record(text, place.file, place.id, catalogs);
  if (!record && !place.id.empty())
    throw ScenarioError({{place.file, 0, 0, "",
                          "holds no measured runs, of which " + in_quotes("#" + place.id) +
                              " names one; leave it out"}});
  return record;
}

Scenario scenario_of(const ImportedRecord& record, const std::string& text, const std::string& name,
                     const fs::path& folder, const LoadOptions& options) {
  Scenario scenario = load_scenario_text(record.text, name, folder, options);
  scenario.files.front() = {name, sha256_hex(text)};
  return scenario;
}

}  // namespace

ImportedRecord import_record_file(const std::string& file, const std::vector<fs::path>& catalogs) {
  const RecordPlace place = place_of(file);
  std::string text;
  if (auto record = record_of_file(place, catalogs, text)) return std::move(*record);
  throw ScenarioError({{place.file, 0, 0, "runs", "a list of measured runs is missing"}});
}

LoadedScenario load_scenario_or_record(const std::string& file, const LoadOptions& options) {
  const RecordPlace place = place_of(file);
  std::string text;
  const auto record = record_of_file(place, options.catalogs, text);
  if (!record) return {load_scenario(place.file, options)};
  return {scenario_of(*record, text, file, fs::path(place.file).parent_path(), options),
          record->assumed};
}

LoadedScenario load_text_or_record(const std::string& text, const std::string& name,
                                   const fs::path& folder, const LoadOptions& options) {
  const auto record = import_record(text, name, {}, options.catalogs);
  if (!record) return {load_scenario_text(text, name, folder, options)};
  return {scenario_of(*record, text, name, folder, options), record->assumed};
}

}  // namespace foretrain
