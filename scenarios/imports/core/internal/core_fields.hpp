// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/imports/core/core_config.hpp"

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

// Fields that are not called as the argument of Megatron-LM that sets them, or have none:
// scenarios/dialects/megatron-core.yaml.

/// The fields of a list: shape, conditional, harmless.GROUP, approximate.GROUP.
[[nodiscard]] std::vector<std::string_view> fields_of(std::string_view list);
[[nodiscard]] bool is_field(std::string_view list, std::string_view name);
/// The argument that a field sets as it is (renamed), or where it is false (inverse); empty where
/// the list does not have it.
[[nodiscard]] std::string_view argument_of(std::string_view list, std::string_view name);

/// A precision by name.
struct NamedPrecision {
  std::string_view fp8_recipe{};  ///< empty: no 8-bit products
  std::string_view fp4_recipe{};
  int bf16_ends = 0;        ///< layers at either end that stay in 16 bits
  bool parameters = false;  ///< gathered in 8 bits
};

/// @param name without the "bf16_" or "fp16_" that names begin with
[[nodiscard]] std::optional<NamedPrecision> precision_named(const std::string& name);

}  // namespace foretrain::core
