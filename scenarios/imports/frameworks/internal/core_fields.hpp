// SPDX-License-Identifier: Apache-2.0
// Fields of Megatron-Core's configuration classes that are not called as the argument of
// Megatron-LM that sets them, or that have none. Names: megatron/core/transformer/
// transformer_config.py and model_parallel_config.py, megatron/bridge/training/config.py and
// models/gpt_provider.py (NVIDIA-NeMo/Megatron-Bridge), as read in November 2026.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/imports/frameworks/core_config.hpp"

namespace foretrain::core {

/// A value as Megatron-LM's arguments write it: lists in brackets; of a class or a type its name,
/// without "torch."; nothing for null.
[[nodiscard]] std::string core_text(const YamlNode& node);

/// Reads one configuration; every member function reads one group of its fields.
class CoreReader {
 public:
  CoreReader(const CoreGroups& groups, const YamlNode& root,
             const std::vector<std::string>& left_out, TreeReader& in, CoreConfig& config)
      : groups_{groups}, root_{root}, left_out_{left_out}, in_{in}, config_{config} {}

  void read_model();
  void read_vocabulary();
  void read_batch();
  void read_precision();
  void read_data_parallel();
  void read_optimizer();
  void read_adapter();

 private:
  /// The user leaves it out.
  [[nodiscard]] bool left(const std::string& path) const;
  [[nodiscard]] const YamlNode* take(const std::string& path);
  void set(const std::string& argument, std::string value, const std::string& path);
  /// Sets an argument to the value of a path; takes it away where that is null or false.
  void put(const std::string& argument, const std::string& path);
  [[nodiscard]] bool on(const std::string& path, bool otherwise);
  void read_field(const std::string& group, const std::string& name);
  /// Refuses a switch that stands on the side that is not modelled.
  void refuse_if(const std::string& path, bool side);
  void read_model_field(const std::string& group, const std::string& name);
  void read_shape(const std::string& group);
  void read_named_precision(const std::string& name);
  void read_precision_fields(const std::string& group);
  void read_overlap(bool distributed);
  void read_targets(const YamlNode& targets);
  [[nodiscard]] int degree(const char* argument) const;

  const CoreGroups& groups_;
  const YamlNode& root_;
  const std::vector<std::string>& left_out_;
  TreeReader& in_;
  CoreConfig& config_;
};

struct Field {
  std::string_view name, argument;
};

/// Whose value is that of an argument of another name.
[[nodiscard]] const std::vector<Field>& renamed_fields();
/// Which set an argument where they are false.
[[nodiscard]] const std::vector<Field>& inverse_fields();
/// The argument of a field in one of these lists; empty where it is not there.
[[nodiscard]] std::string_view argument_in(const std::vector<Field>& fields, std::string_view name);
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
