// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/imports/megatron/megatron_source.hpp"

namespace foretrain {

/// Whether a map is a file of Megatron-LM's --yaml-cfg: arguments at its top, fields of
/// TransformerConfig under `language_model` and of ModelParallelConfig under `model_parallel`.
[[nodiscard]] bool is_megatron_yaml(const YamlNode& root);

/// The arguments that such a file stands for (megatron/training/yaml_arguments.py).
[[nodiscard]] MegatronSource megatron_yaml_source(const YamlNode& root);

}  // namespace foretrain
