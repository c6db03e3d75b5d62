// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/plan_keys.hpp"

#include <algorithm>
#include <array>

#include "models/base/require.hpp"
#include "scenarios/fields/field_scalar.hpp"
#include "scenarios/sections/scenario_fields.hpp"
#include "scenarios/sections/sections.hpp"

namespace foretrain {
namespace {

/// A section of a scenario, and the part of a job that it becomes.
struct PlanSection {
  std::string_view name;
  const RowTable& (*table)();
  void* (*part)(Job&);
};

constexpr auto plan_sections = std::to_array<PlanSection>({
    {"training", []() -> const RowTable& { return training_keys(); },
     [](Job& job) -> void* { return &job.training; }},
    {"fine_tuning", []() -> const RowTable& { return fine_tuning_keys(); },
     [](Job& job) -> void* { return &job.fine_tuning; }},
    {"parallel", []() -> const RowTable& { return parallel_keys(); },
     [](Job& job) -> void* { return &job.parallel; }},
    {"memory", []() -> const RowTable& { return memory_keys(); },
     [](Job& job) -> void* { return &job.memory; }},
    {"communication", []() -> const RowTable& { return communication_keys(); },
     [](Job& job) -> void* { return &job; }},
});

const PlanSection* section_of(std::string_view path) {
  const auto found =
      std::ranges::find(plan_sections, path.substr(0, path.find('.')), &PlanSection::name);
  return found == plan_sections.end() ? nullptr : &*found;
}

std::string text_in(const KeyRow& row, const void* part) {
  const void* const at = row.slot.find(part);
  return at == nullptr || row.slot.ops->text == nullptr ? std::string()
                                                        : row.slot.ops->text(at, row.field);
}

const void* part_of(const PlanSection& section, const Job& job) {
  return section.part(const_cast<Job&>(job));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

}  // namespace

const KeyRow* plan_key(std::string_view path) {
  const PlanSection* const section = section_of(path);
  const KeyRow* const row = section == nullptr ? nullptr : section->table().find(path);
  return row == nullptr || !row->is_set() ? nullptr : row;
}

std::string plan_key_text(const KeyRow& row, const Job& job) {
  const PlanSection* const section = section_of(row.field.path);
  FORETRAIN_REQUIRE(section != nullptr);
  return text_in(row, part_of(*section, job));
}

Parsed<FieldValue> plan_key_value(const KeyRow& row, const std::string& text, const Mark& mark) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.text = text;
  node.mark = mark;
  return read_scalar(row.field, node);
}

void set_plan_key(const KeyRow& row, const FieldValue& value, Job& job) {
  const PlanSection* const section = section_of(row.field.path);
  FORETRAIN_REQUIRE(section != nullptr);
  row.set(section->part(job), value);
}

std::vector<PlanKeyValue> read_plan_keys(const YamlNode& node, Diagnostics& diagnostics) {
  std::vector<PlanKeyValue> keys;
  const FieldValues values = read_fields(node, scenario_fields(), diagnostics, Document::partial);
  for (const FieldValue& value : values.all()) {
    if (value.is_default) continue;
    if (const KeyRow* const row = plan_key(value.path))
      keys.push_back({row, value});
    else
      diagnostics.add(value.mark, value.path,
                      "is no part of a plan: training, fine_tuning, parallel, memory and "
                      "communication are");
  }
  return keys;
}

std::vector<PlanKeyText> unlike_plan_keys(const Job& job, const Job& usual) {
  std::vector<PlanKeyText> keys;
  for (const PlanSection& section : plan_sections)
    for (const KeyRow& row : section.table().rows()) {
      const void* const part = part_of(section, job);
      const bool said = row.is_set() && row.written != WhenWritten::never &&
                        (row.only_where == nullptr || row.only_where(part));
      if (!said) continue;
      std::string text = text_in(row, part);
      if (text != text_in(row, part_of(section, usual)))
        keys.push_back({row.field.path, std::move(text)});
    }
  return keys;
}

}  // namespace foretrain
