// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/cli/command.hpp"
#include "planner/cli/files/framework_imports.hpp"

namespace foretrain {

/// What is trained of a model.
struct TuningOptions {
  std::optional<int> lora;   ///< rank of adapters beside it
  std::optional<int> qlora;  ///< the same with frozen weights in 4 bits
  bool all_weights = false;  ///< all of its weights, by the same trainer

  /// Nothing where nothing was asked for.
  [[nodiscard]] std::optional<WantedTuning> wanted() const;
};

/// A scenario, or another tool's configuration in its place.
struct SourceOptions {
  std::string command;                        ///< that reads it
  std::shared_ptr<const GivenOptions> given;  ///< of that command
  ScenarioOptions scenario;
  FrameworkOptions framework;
  std::string megatron;  ///< arguments, or the file that holds them
  std::string hf;        ///< a Hugging Face configuration
  TuningOptions tuning;  ///< of its model

  /// A configuration stands in the place of a scenario file.
  [[nodiscard]] bool imports() const { return !megatron.empty() || !hf.empty(); }
};

/// Adds --lora, --qlora and --all-weights: what is trained of a model by the Hugging Face Trainer.
void add_tuning_options(CommandRow& command, TuningOptions& tuning, const std::string& with);

/// SCENARIO, --megatron, --hf and what those need to know: the machine and adapters. --set and
/// --catalog are for all three; add_scenario_options() adds them where the command's help wants
/// them.
void add_source_options(CommandRow& command, SourceOptions& source);

/// What has to stand behind a command's name to read the same again, overrides and folders
/// included; empty where that is standard input.
[[nodiscard]] std::string source_words(const SourceOptions& source);
[[nodiscard]] std::string source_words(const ScenarioOptions& options);

/// The one source that was given. What an import assumes goes to standard error.
/// @throws ScenarioError, UsageError
[[nodiscard]] Scenario read_scenario(const SourceOptions& source,
                                     Purpose purpose = Purpose::training);

/// Scenarios that are held against each other: file after file; a single file stands for as many
/// sides as --set names ("B:key=value"). Settings without a side hold for all. Standard input may
/// be several sides. `options.file` is not used.
/// @throws UsageError for sides that are not there or more than 26; ScenarioError
[[nodiscard]] std::vector<Scenario> read_sides(const std::vector<std::string>& files,
                                               const ScenarioOptions& options);

}  // namespace foretrain
