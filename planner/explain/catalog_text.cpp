// SPDX-License-Identifier: Apache-2.0
#include "planner/explain/catalog_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "planner/answer/json_of.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/text/json.hpp"
#include "planner/text/text_table.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

using Align = TextTable::Align;

std::string file_text(const CatalogEntry& entry) {
  std::ifstream in(entry.file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw UsageError("cannot read " + entry.file.string());
  return text;
}

Json entry_tree(const CatalogEntry& entry) {
  return {{"kind", entry.kind},
          {"name", entry.name},
          {"title", entry.title},
          {"summary", entry.summary},
          {"file", entry.file.string()}};
}

}  // namespace

std::string short_origin(const Scenario& scenario, const std::string& origin) {
  const std::string own = scenario.path + ":";
  if (origin.starts_with(own)) return "line " + origin.substr(own.size());
  for (const SourceFile& file : scenario.files)
    if (origin.starts_with(file.path + ":"))
      return std::filesystem::path(file.path).stem().string() + origin.substr(file.path.size());
  return origin;
}

Answer scenario_answer(const Scenario& scenario) {
  Answer answer;
  AnswerHead& head = answer.head;
  const auto written = std::ranges::count_if(scenario.values, [&](const ResolvedValue& value) {
    return value.origin.starts_with(scenario.path + ":") || value.origin == "--set";
  });
  head.subject = escaped(scenario.path);
  head.words = fmt::format("{} VALUES", scenario.values.size());
  head.sentence = fmt::format(
      "{} of {} values are the scenario's own; the others come from catalogs, rules "
      "and defaults.",
      written, scenario.values.size());
  AnswerFacts values;
  constexpr int most_columns = 52;
  for (const ResolvedValue& value : scenario.values)
    values.label_columns =
        std::min(most_columns, std::max(values.label_columns, display_width(value.path) + 2));
  for (const ResolvedValue& value : scenario.values)
    values.add(value.path,
               value.value + "  (" + escaped(short_origin(scenario, value.origin)) + ")");
  AnswerTable files{{words_column(), words_column()}};
  for (const SourceFile& file : scenario.files)
    files.add({"sha256 " + file.sha256.substr(0, 16), escaped(file.path)});
  answer.add("Values", std::move(values));
  answer.add("Files", std::move(files));
  return answer;
}

std::string scenario_json(const Scenario& scenario) {
  Json values = Json::array();
  for (const ResolvedValue& value : scenario.values)
    values.push_back({{"path", value.path}, {"value", value.value}, {"origin", value.origin}});
  Json files = Json::array();
  for (const SourceFile& file : scenario.files)
    files.push_back({{"path", file.path}, {"sha256", file.sha256}});
  return dump({{"schema", "scenario/1"},
               {"scenario", json_of(scenario_value(scenario))},
               {"values", std::move(values)},
               {"files", std::move(files)}});
}

Answer catalog_answer(const CatalogListing& catalog, const std::string& kind) {
  Answer answer;
  AnswerHead& head = answer.head;
  head.subject = "Catalog: " + kind;
  head.words = fmt::format("{} ENTRIES", catalog.entries.size());
  head.sentence = fmt::format(
      "{} {}{}.", catalog.entries.size(), kind,
      catalog.broken.empty() ? "" : fmt::format("; {} cannot be used", catalog.broken.size()));
  if (!catalog.entries.empty())
    head.next = fmt::format("foretrain show {} {}", kind, catalog.entries.front().name);
  AnswerTable entries{{words_column("name"), words_column("what it is")}};
  for (const CatalogEntry& entry : catalog.entries)
    entries.add({entry.name, entry.title + (entry.summary.empty() ? "" : ": " + entry.summary)});
  AnswerTable broken{{words_column("name"), words_column("why")}};
  for (const BrokenEntry& entry : catalog.broken)
    for (const Diagnostic& problem : entry.problems)
      broken.add({AnswerCell{entry.name, Tone::bad}, problem.text()});
  answer.add("", std::move(entries));
  answer.add("Cannot be used", std::move(broken));
  return answer;
}

std::string catalog_json(const CatalogListing& catalog) {
  Json list = Json::array();
  for (const CatalogEntry& entry : catalog.entries) list.push_back(entry_tree(entry));
  Json broken = Json::array();
  for (const BrokenEntry& entry : catalog.broken) {
    Json problems = Json::array();
    for (const Diagnostic& problem : entry.problems) problems.push_back(problem.text());
    broken.push_back({{"name", entry.name}, {"problems", std::move(problems)}});
  }
  return dump(
      {{"schema", "catalog/1"}, {"entries", std::move(list)}, {"broken", std::move(broken)}});
}

namespace {

/// "b200:6" of "/.../b200.yaml:6"; of "derived: /.../b200.yaml:6 x 1.49 (...)" likewise.
std::string inherited_from(const std::string& origin) {
  const std::string derived = "derived: ";
  if (origin.starts_with(derived)) {
    const auto end = origin.find(" x ");
    return inherited_from(origin.substr(derived.size(), end - derived.size())) + origin.substr(end);
  }
  const auto colon = origin.rfind(':');
  return std::filesystem::path(origin.substr(0, colon)).stem().string() + origin.substr(colon);
}

}  // namespace

std::string catalog_entry_text(const CatalogEntry& entry,
                               const std::vector<ResolvedValue>& inherited,
                               const TextStyle& style) {
  std::string result =
      hanging("", toned(entry.name, Tone::strong, style) + ": " + entry.title, style);
  if (!entry.summary.empty()) result += hanging("  ", entry.summary, style);
  result += hanging("  ", entry.file.string(), style) + "\n" + file_text(entry);
  if (inherited.empty()) return result;
  result += "\n" + toned("Inherited", Tone::strong, style) + "\n";
  TextTable values{{Align::left, Align::left, Align::left}};
  for (const ResolvedValue& value : inherited) {
    values.add({value.path, value.value, escaped(inherited_from(value.origin))});
  }
  return result + values.text(style);
}

std::string catalog_entry_json(const CatalogEntry& entry,
                               const std::vector<ResolvedValue>& inherited) {
  Json tree = entry_tree(entry);
  tree["text"] = file_text(entry);
  Json values = Json::array();
  for (const ResolvedValue& value : inherited)
    values.push_back({{"path", value.path}, {"value", value.value}, {"origin", value.origin}});
  tree["inherited"] = std::move(values);
  return dump(tree);
}

}  // namespace foretrain
