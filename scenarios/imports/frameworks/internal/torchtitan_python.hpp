// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "scenarios/imports/frameworks/imported_plan.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// Whether a source is a configuration of torchtitan since 2026: Python that builds a
/// Trainer.Config.
[[nodiscard]] bool is_torchtitan_python(const ImportSource& source);

/// That configuration under the keys of the TOML before it. Lines behind it override:
/// `config=llama3_8b` names one of several, others are `training.steps=100`.
/// Nothing after reporting why there is none.
[[nodiscard]] std::optional<YamlNode> torchtitan_python(const ImportSource& source,
                                                        Diagnostics& diagnostics);

}  // namespace foretrain
