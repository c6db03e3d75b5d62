// SPDX-License-Identifier: Apache-2.0
#include "planner/edit/scenario_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "models/base/require.hpp"
#include "planner/edit/yaml_edit.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/fields/reference.hpp"
#include "scenarios/huggingface/huggingface.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/huggingface_plan.hpp"
#include "scenarios/sections/scenario_fields.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/text_file.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

/// YAML on one line.
std::string flow_text(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "null";
    case YamlNode::Kind::scalar:
      return yaml_scalar(node.text);
    case YamlNode::Kind::sequence: {
      std::vector<std::string> items;
      for (const YamlNode& item : node.items) items.push_back(flow_text(item));
      return fmt::format("[{}]", fmt::join(items, ", "));
    }
    case YamlNode::Kind::map:
      break;
  }
  std::vector<std::string> entries;
  for (const YamlEntry& entry : node.entries)
    entries.push_back(yaml_scalar(entry.key) + ": " + flow_text(entry.value));
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

void collect(const YamlNode& node, const std::string& path, std::vector<GivenValue>& values) {
  const Field* field = scenario_fields().find(path);
  const bool group = path.empty() || (field && field->kind == FieldKind::group);
  if (node.is_map() && group) {
    for (const YamlEntry& entry : node.entries)
      collect(entry.value, child_path(path, entry.key), values);
    return;
  }
  if (node.is_null() || path.empty()) return;
  const bool stands_for_child = group && node.is_scalar() && field && !field->scalar_child.empty();
  values.push_back({stands_for_child ? path + "." + field->scalar_child : path,
                    node.is_scalar() ? node.text : flow_text(node), node.mark.line,
                    node.mark.column});
}

/// The comment lines at the top of a file, in one line, without editor instructions.
std::string head_comment(const std::string& text) {
  std::string result;
  std::size_t begin = 0;
  while (begin < text.size() && text[begin] == '#') {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::size_t first = text.find_first_not_of("# ", begin);
    const std::string line = first < end ? text.substr(first, end - first) : std::string{};
    if (!line.empty() && !line.starts_with("yaml-language-server"))
      result += (result.empty() ? "" : " ") + line;
    begin = end + 1;
  }
  return result;
}

/// What was made of a framework's configuration, with its notes.
ImportedRun told(const ImportedScenario& imported) {
  ImportedRun run{imported.text, imported.notes.assumed};
  run.notes.insert(run.notes.begin(), "stack " + imported.notes.stack);
  if (!imported.notes.ignored.empty())
    run.notes.push_back("no effect on memory or time: " + joined(imported.notes.ignored));
  if (!imported.notes.approximated.empty())
    run.notes.push_back("not modelled, with a small effect: " +
                        joined(imported.notes.approximated));
  return run;
}

}  // namespace

const FieldTable& scenario_table() { return scenario_fields(); }

std::string legal_values(const Field& field) {
  std::string text = legal_text(field);
  std::erase(text, '`');
  return text;
}

std::string catalog_of_key(std::string_view path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> catalogs{
      {{"model", "models"},
       {"cluster.host", "hosts"},
       {"cluster.fabric.preset", "fabrics"},
       {"stack", "stacks"},
       {"site", "sites"}}};
  for (const auto& [key, catalog] : catalogs)
    if (key == path) return std::string(catalog);
  return {};
}

std::vector<GivenValue> given_values(const std::string& text) {
  Diagnostics diagnostics;
  std::vector<GivenValue> values;
  if (const auto root = parse_yaml(text, "text", YamlLimits{}, diagnostics))
    collect(*root, "", values);
  return values;
}

std::vector<ExampleScenario> example_scenarios() {
  Diagnostics diagnostics;
  const auto roots = catalog_roots({}, diagnostics);
  diagnostics.throw_if_any();
  std::vector<ExampleScenario> examples;
  for (const fs::path& root : roots) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(root / "scenarios", error)) {
      if (entry.path().extension() != ".yaml") continue;
      const auto text =
          read_text_file(entry.path(), entry.path().string(), YamlLimits{}.file_bytes, diagnostics);
      if (text)
        examples.push_back({entry.path().stem().string(), head_comment(*text), entry.path()});
    }
  }
  diagnostics.throw_if_any();
  std::ranges::sort(examples, [](const auto& a, const auto& b) { return a.name < b.name; });
  return examples;
}

ImportedModel import_model_config(const fs::path& file, const std::string& name,
                                  const std::string& date) {
  Diagnostics diagnostics;
  const YamlLimits limits;
  const auto text = read_text_file(file, file.string(), limits.file_bytes, diagnostics);
  const auto root =
      text ? parse_yaml(*text, file.string(), limits, diagnostics) : std::optional<YamlNode>{};
  diagnostics.throw_if_any();
  const std::string called = name.empty() ? huggingface_model_name(*root, file) : name;
  const auto model = import_huggingface(*root, {called}, diagnostics);
  diagnostics.throw_if_any();
  ImportedModel result{called, {}, model->assumed};
  result.text = model_catalog_text(
      *model, "imported from the Hugging Face configuration " + file.filename().string(), date);
  if (model->packed) result.notes.push_back(model->packed->sentence());
  if (!model->unknown.empty())
    result.notes.push_back("nothing was made of these keys: " + joined(model->unknown));
  return result;
}

std::vector<std::pair<std::string, std::string>> importable_frameworks() {
  std::vector<std::pair<std::string, std::string>> result;
  for (const auto& [framework, name] : EnumNames<Framework>::names)
    result.emplace_back(name, title_of(framework));
  return result;
}

ImportedRun import_run_config(const std::string& framework, const fs::path& file,
                              const std::string& host, std::optional<int> gpus) {
  const auto kind = from_name<Framework>(framework);
  FORETRAIN_REQUIRE(kind.has_value());
  Diagnostics diagnostics;
  const auto text = read_text_file(file, file.string(), YamlLimits{}.file_bytes, diagnostics);
  diagnostics.throw_if_any();
  PlanImportOptions options;
  options.name = huggingface_model_name(YamlNode{}, file);
  options.host = host;
  options.gpus = gpus;
  return told(import_framework(*kind, *text, file.string(), options));
}

ImportedRun run_on_own_gpus(const OwnGpus& own) {
  PlanImportOptions options;
  options.name = fmt::format("{}-{}x{}", own.model, own.gpus, own.device);
  options.model = own.model;
  options.device = own.device;
  options.gpus = own.gpus;
  options.sequence = own.sequence;
  return told(tuning_of_model({own.rank, own.quantised}, options));
}

}  // namespace foretrain
