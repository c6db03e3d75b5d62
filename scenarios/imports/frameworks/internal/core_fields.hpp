// SPDX-License-Identifier: Apache-2.0
// Fields of Megatron-Core's configuration classes that are not called as the argument of
// Megatron-LM that sets them, or that have none. Names: megatron/core/transformer/
// transformer_config.py and model_parallel_config.py, megatron/bridge/training/config.py and
// models/gpt_provider.py (NVIDIA-NeMo/Megatron-Bridge), as read in November 2026.
#pragma once

#include <string_view>
#include <vector>

namespace foretrain::core {

struct Field {
  std::string_view name, argument;
};

/// Whose value is that of an argument of another name.
[[nodiscard]] const std::vector<Field>& renamed_fields();
/// Which set an argument where they are false.
[[nodiscard]] const std::vector<Field>& inverse_fields();
/// Arguments of Megatron-LM that are read only where another one is set.
[[nodiscard]] const std::vector<std::string_view>& conditional_arguments();
/// Fields of a model that decide its parameters.
[[nodiscard]] const std::vector<std::string_view>& shape_fields();
/// Fields that change neither memory nor time of a step, by group.
[[nodiscard]] const std::vector<std::string_view>& harmless_model_fields();
[[nodiscard]] const std::vector<std::string_view>& harmless_optimizer_fields();
[[nodiscard]] const std::vector<std::string_view>& harmless_ddp_fields();
[[nodiscard]] const std::vector<std::string_view>& harmless_overlap_fields();
[[nodiscard]] const std::vector<std::string_view>& harmless_precision_fields();
/// Fields whose effect is small and not modelled.
[[nodiscard]] const std::vector<std::string_view>& approximate_model_fields();
[[nodiscard]] const std::vector<std::string_view>& approximate_ddp_fields();

/// A precision by name, as Megatron-Bridge and NeMo 2 register them (training/mixed_precision.py;
/// nemo/collections/llm/recipes/precision/mixed_precision.py).
struct NamedPrecision {
  std::string_view name;
  std::string_view fp8_recipe{};  ///< empty: no 8-bit products
  std::string_view fp4_recipe{};
  int bf16_ends = 0;        ///< layers at either end that stay in 16 bits
  bool parameters = false;  ///< gathered in 8 bits
};

/// Without the "bf16_" or "fp16_" that names begin with.
[[nodiscard]] const std::vector<NamedPrecision>& named_precisions();

}  // namespace foretrain::core
