// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/inputs/engine_profile.hpp"
#include "models/inputs/job.hpp"
#include "models/post_training/post_training_plan.hpp"
#include "models/serving/serving_plan.hpp"
#include "scenarios/catalog/catalog_listing.hpp"
#include "scenarios/yaml/confinement.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/load_options.hpp"

namespace foretrain {

/// What a scenario was resolved from, so that parts of it can be resolved anew.
struct ScenarioSource {
  std::string text;
  std::filesystem::path folder;
  LoadOptions options;
};

/// A scenario after defaults, overrides and catalogs.
struct Scenario {
  /// By its sections: of one with `training` and `serving` alone, training.
  Work work = Work::training;
  Job job;  ///< without `training`, its own keys are as a job has them by default
  std::optional<ServingPlan> serving;             ///< with `serving`
  std::optional<EngineProfile> engine;            ///< of `serving`
  std::optional<PostTrainingPlan> post_training;  ///< with `post_training`
  /// Of post-training: the GPUs that generate; `job.cluster` are those that train.
  Cluster generation;
  std::string path;                   ///< as the user named it
  std::vector<ResolvedValue> values;  ///< in schema order, then catalog values
  std::vector<SourceFile> files;
  ScenarioSource source;  ///< its text is empty for jobs that no scenario was read for
};

/// Reads, checks and resolves a scenario file. Without `options.root`, `extends` leads to files of
/// its repository; outside of one, to those of its folder and below.
/// @throws ScenarioError with every error found in the file, its `extends` chain, the overrides and
///   the catalog entries it names. Plans that break a rule are not errors here
///   (models/rules/plan_rules.hpp).
[[nodiscard]] Scenario load_scenario(const std::filesystem::path& file,
                                     const LoadOptions& options = {});

/// The same from text; `name` stands for the file in messages, relative paths resolve against
/// `folder`. Without `options.root`, `extends` leads to files of `folder` and below alone: a text
/// may come from anywhere.
[[nodiscard]] Scenario load_scenario_text(const std::string& text, const std::string& name,
                                          const std::filesystem::path& folder,
                                          const LoadOptions& options = {});

/// The machine of a scenario with another number of hosts, and of GPUs of each where
/// `gpus_per_host` is not 0: switches, levels and latency follow. Plan and data degree are not
/// looked at.
/// @pre scenario.source.text is not empty; hosts >= 1
/// @throws ScenarioError where catalogs or limits refuse that many
[[nodiscard]] Cluster cluster_with_hosts(const Scenario& scenario, int hosts,
                                         int gpus_per_host = 0);

}  // namespace foretrain
