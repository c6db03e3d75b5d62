// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/fields/shipped_table.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"

namespace foretrain {

/// Why a key of a configuration changes neither memory nor time of a step.
enum class NoEffect {
  naming,      ///< names, places, accounts
  reporting,   ///< logs, trackers, profilers
  saving,      ///< checkpoints of the source: their rate is `operations`' to say
  evaluation,  ///< what passes between steps compute
  contents,    ///< which samples and tokens, not how many
  amounts,     ///< numbers inside of the same arithmetic: rates, decays, scales, seeds
  starting,    ///< launch, loading, first values
  elsewhere    ///< a plan or device that is read from other keys or that the run does not use
};
FORETRAIN_ENUM_NAMES(NoEffect, {NoEffect::naming, "naming"}, {NoEffect::reporting, "reporting"},
                     {NoEffect::saving, "saving"}, {NoEffect::evaluation, "evaluation"},
                     {NoEffect::contents, "contents"}, {NoEffect::amounts, "amounts"},
                     {NoEffect::starting, "starting"}, {NoEffect::elsewhere, "elsewhere"});

/// Keys with one reason; "group.*" stands for everything under a group.
struct NoEffectKeys {
  NoEffect why;
  std::vector<std::string> keys;
};

/// What is known of a framework's keys that its importer does not read.
struct KeyTable {
  std::vector<NoEffectKeys> idle;
  std::vector<std::string> approximated;  ///< change memory or time a little, not modelled
  /// Keys that stop training for evaluation where they are on; those that then say how often and
  /// how large; those that count examples, and so decide the length of a run.
  std::vector<std::string> pausing, paced, lengthening;
  std::vector<RefusedKeys> refused;
};

/// Where that lies below a catalog root, and in a folder of a user's own (--catalog), whose keys
/// are added to the shipped ones.
inline constexpr const char* idle_keys_path = "scenarios/imports/idle_keys.yaml";
inline constexpr const char* own_idle_keys = "idle_keys.yaml";

/// @param groups further groups by name, which no framework includes
/// @throws ScenarioError when one of the files is broken
[[nodiscard]] KeyTable key_table(Framework framework,
                                 const std::vector<std::filesystem::path>& catalogs,
                                 const std::vector<std::string>& groups = {});

}  // namespace foretrain
