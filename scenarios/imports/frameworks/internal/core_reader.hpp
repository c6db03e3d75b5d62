// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
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

}  // namespace foretrain::core
