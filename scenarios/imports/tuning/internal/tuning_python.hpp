// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/imports/frameworks/imported_plan.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain::tuning {

/// Whether a source is a Python script that loads a model and trains it.
[[nodiscard]] bool is_tuning_python(const ImportSource& source);

/// The arguments of calls in it as one map, as TrainingArguments and PEFT call them: of
/// from_pretrained, get_peft_model, LoraConfig, BitsAndBytesConfig, configurations of TRL and its
/// trainers. Nothing is run; other statements are passed over, which `assumed` says.
[[nodiscard]] std::optional<YamlNode> tuning_python(const ImportSource& source,
                                                    std::vector<std::string>& assumed,
                                                    Diagnostics& diagnostics);

}  // namespace foretrain::tuning
