// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "models/base/prediction.hpp"
#include "planner/cli/output_file.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// What the program tells its caller. Signals give 128 + n.
enum ExitCode : int {
  exit_ok = 0,
  exit_internal = 1,      ///< a defect of ours, or the output could not be written
  exit_usage = 2,         ///< bad usage or input
  exit_infeasible = 3,    ///< the plan cannot run
  exit_budget = 4,        ///< a budget is violated, or a claim is impossible
  exit_uncalibrated = 5,  ///< outside the calibrated range, under --strict
  exit_partial = 6,       ///< points of a sweep have no answer
  exit_out_of_memory = 7  ///< the process itself
};

/// A subcommand: its options, and what it does once they are parsed. run() returns an exit code.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

/// Output was refused because its reader went away: 128 + SIGPIPE, without a word.
inline constexpr int exit_closed_pipe = 141;

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
void add_folder_options(CLI::App& app, OwnFolders& folders);
/// Adds --set, --catalog and --profiles.
void add_override_options(CLI::App& app, ScenarioOptions& options);
/// Adds --root, which says how far `extends` may lead; under another name where that means
/// something else.
void add_root_option(CLI::App& app, ScenarioOptions& options, const std::string& name = "--root");
/// Adds --set, --catalog, --profiles and --root; the scenario itself is the command's own
/// positional.
void add_scenario_options(CLI::App& app, ScenarioOptions& options);
[[nodiscard]] LoadOptions load_options(const ScenarioOptions& options);
/// @throws ScenarioError, also of a scenario that lacks the section of `purpose`; UsageError
[[nodiscard]] Scenario read_scenario(const ScenarioOptions& options,
                                     Purpose purpose = Purpose::training);

/// Writes to standard output, or to `out` when it is not empty.
/// @return exit_ok or exit_closed_pipe
[[nodiscard]] int deliver(const std::string& text, const std::string& out = {},
                          FileUse use = FileUse::report);

/// The value of an enumeration option. @throws UsageError with the legal and the nearest names
template <class E>
[[nodiscard]] E option_value(const std::string& option, const std::string& text);
/// The value of --engine. @throws UsageError
[[nodiscard]] EngineKind engine_value(const std::string& text);
/// The same where an engine must be quick: not event. @throws UsageError
[[nodiscard]] EngineKind fast_engine_value(const std::string& text);
/// @throws UsageError for the event engine and a scenario that serves or post-trains
void require_own_engine(const Scenario& scenario, EngineKind engine);
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
