// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/inputs/job.hpp"
#include "scenarios/fields/key_rows.hpp"

namespace foretrain {

// The keys of `training`, `fine_tuning`, `parallel`, `memory` and `communication` by their paths: a
// plan without its model, machine and software.

/// The row of a key, which files set; null where there is none.
[[nodiscard]] const KeyRow* plan_key(std::string_view path);

/// What a scenario says of a job under this key; empty where it would leave the key out because
/// the job has no such part. @pre plan_key(row.field.path) == &row
[[nodiscard]] std::string plan_key_text(const KeyRow& row, const Job& job);

/// A text as a value of the key, or what is wrong with it.
[[nodiscard]] Parsed<FieldValue> plan_key_value(const KeyRow& row, const std::string& text,
                                                const Mark& mark = {});
/// Sets it. @pre likewise
void set_plan_key(const KeyRow& row, const FieldValue& value, Job& job);

/// A key of a plan with a value for it.
struct PlanKeyValue {
  const KeyRow* row = nullptr;
  FieldValue value;
};
/// What these sections, nested as in a scenario, say. Keys that are none of a plan's and illegal
/// values are reported at their place.
[[nodiscard]] std::vector<PlanKeyValue> read_plan_keys(const YamlNode& node,
                                                       Diagnostics& diagnostics);

/// A key of a plan with its text.
struct PlanKeyText {
  std::string path, text;
};
/// The keys that scenarios say of `job` and not, or otherwise, of `usual`.
[[nodiscard]] std::vector<PlanKeyText> unlike_plan_keys(const Job& job, const Job& usual);

}  // namespace foretrain
