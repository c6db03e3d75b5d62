// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "models/base/prediction.hpp"
#include "planner/cli/command_row.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// Folders of the user's own that stand before what ships, as given.
struct OwnFolders {
  std::vector<std::string> profiles;  ///< of --profiles, which stand first
  std::vector<std::string> catalogs;  ///< of --catalog

  /// As they would be given again: "--profiles", "DIR", ...
  [[nodiscard]] std::vector<std::string> arguments() const;
};

/// Roots of catalogs in the order in which they are looked through. @throws UsageError
[[nodiscard]] std::vector<std::filesystem::path> own_roots(const OwnFolders& folders);

/// Options of every command that reads a scenario.
struct ScenarioOptions {
  std::string file;  ///< "-": standard input
  std::vector<std::string> overrides;
  OwnFolders folders;
  std::string root = {};  ///< empty: the repository of the file
};

/// Adds --catalog and --profiles; the latter tells on standard error what now stands before the
/// shipped profiles.
void add_folder_options(CommandRow& command, OwnFolders& folders);
/// Adds --set, --catalog and --profiles.
void add_override_options(CommandRow& command, ScenarioOptions& options);
/// Adds --root, which says how far `extends` may lead; under another name where that means
/// something else.
void add_root_option(CommandRow& command, ScenarioOptions& options,
                     const std::string& name = "--root");
/// Adds --threads.
void add_threads_option(CommandRow& command, int& threads);
/// The positional argument that names the scenario.
void add_scenario_argument(CommandRow& command, ScenarioOptions& options);
/// Adds --set, --catalog, --profiles and --root; the scenario itself is the command's own
/// positional.
void add_scenario_options(CommandRow& command, ScenarioOptions& options);
[[nodiscard]] LoadOptions load_options(const ScenarioOptions& options);
/// The file, or a measured run in its place, of which what is assumed goes to standard error.
/// @throws ScenarioError, also of a scenario that lacks the section of `purpose`; UsageError
[[nodiscard]] Scenario read_scenario(const ScenarioOptions& options,
                                     Purpose purpose = Purpose::training);
/// The same of what standard input holds.
[[nodiscard]] Scenario read_scenario_text(const std::string& text, const LoadOptions& options);

/// Writes to standard output, or to `out` when it is not empty.
/// @return exit_ok or exit_closed_pipe
[[nodiscard]] int deliver(const std::string& text, const std::string& out = {},
                          FileUse use = FileUse::report);

/// An engine must be quick: not event. @throws UsageError
void require_fast_engine(EngineKind engine);
/// @throws UsageError for the event engine and a scenario that serves or post-trains
void require_own_engine(const Scenario& scenario, EngineKind engine);
/// The value of an option whose words are split by the command itself. @throws UsageError with the
/// legal and the nearest names
template <class E>
[[nodiscard]] E option_value(const std::string& option, const std::string& text);
/// Throws the UsageError of option_value().
[[noreturn]] void refuse_value(const std::string& option, const std::string& text,
                               const std::vector<std::string>& legal);

template <class E>
E option_value(const std::string& option, const std::string& text) {
  if (const auto value = from_name<E>(text)) return *value;
  std::vector<std::string> legal;
  for (const auto name : all_names<E>()) legal.emplace_back(name);
  refuse_value(option, text, legal);
}

}  // namespace foretrain
