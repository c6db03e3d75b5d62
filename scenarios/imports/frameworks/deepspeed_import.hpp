// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "scenarios/imports/frameworks/imported_plan.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// A count that somebody else says, and where.
struct GivenCount {
  std::optional<int> value;
  std::string place;
};

/// What stands for "auto" in a DeepSpeed JSON, and must not differ from what it says: flags of the
/// command line, or the Trainer's arguments.
struct DeepSpeedGiven {
  GivenCount micro, gathered;  ///< micro-batch, and micro-batches per step
  std::optional<Precision> precision;
  std::string precision_place;
  bool keep_precision = false;  ///< the plan's stands where the JSON says nothing
  bool trainer = false;         ///< the Trainer decides on recomputation and on what is left out
};

/// Reads a DeepSpeed configuration into a plan that has its model, sequence and replicas, and
/// chooses its stack.
void read_deepspeed_tree(const YamlNode& root, const DeepSpeedGiven& given,
                         const PlanImportOptions& options, ImportedPlan& plan,
                         Diagnostics& diagnostics);

/// The profile that is nearest to today's DeepSpeed.
void choose_deepspeed_release(ImportedPlan& plan);

}  // namespace foretrain
