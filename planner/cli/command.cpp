// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/command.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/own_runs/scenario_file.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {

namespace {

/// Says which profiles of a folder stand before the shipped ones. @throws UsageError
void tell_profiles(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    throw UsageError("--profiles " + in_quotes(folder) + " is not a folder");
  const std::vector<std::string> names = own_profiles(folder);
  if (names.empty())
    throw UsageError("--profiles " + in_quotes(folder) +
                     " holds no profile: device/NAME.yaml, stack/NAME.yaml or site/NAME.yaml");
  write_diagnostic("profiles " + folder + " before the shipped ones: " + joined(names));
}

/// The scenario, after telling what was assumed of a measured run.
Scenario told(LoadedScenario loaded) {
  for (const std::string& sentence : loaded.assumed) write_diagnostic("assumed  " + sentence);
  return std::move(loaded.scenario);
}

}  // namespace

std::vector<std::string> OwnFolders::arguments() const {
  std::vector<std::string> words;
  for (const std::string& folder : profiles) words.insert(words.end(), {"--profiles", folder});
  for (const std::string& folder : catalogs) words.insert(words.end(), {"--catalog", folder});
  return words;
}

std::vector<std::filesystem::path> own_roots(const OwnFolders& folders) {
  std::vector<std::filesystem::path> roots{folders.profiles.begin(), folders.profiles.end()};
  for (const std::string& folder : folders.catalogs) {
    const std::filesystem::path path(folder);
    const bool file = path.extension() == ".yaml" && std::filesystem::is_regular_file(path);
    if (!file && !std::filesystem::is_directory(path))
      throw UsageError("--catalog " + in_quotes(folder) +
                       " is not a folder, nor the file NAME.yaml of a device");
    roots.push_back(path);
  }
  return roots;
}

void add_folder_options(CommandRow& command, OwnFolders& folders) {
  command.option(
      "--profiles", folders.profiles, "DIR",
      "Folder with profiles of your own (device/, stack/, site/; as calibrate fit --runs "
      "writes them) that stand before the shipped ones (may be repeated)",
      {.repeated = true, .each = tell_profiles});
  command.option("--catalog", folders.catalogs, "DIR",
                 "Folder with catalogs of your own, or the file of one device (foretrain device "
                 "new), searched first (may be repeated)",
                 {.repeated = true});
}

void add_override_options(CommandRow& command, ScenarioOptions& options) {
  command.option("--set", options.overrides, "KEY=VALUE",
                 "Override a key: --set parallel.tensor=4 (may be repeated)", {.repeated = true});
  add_folder_options(command, options.folders);
}

void add_root_option(CommandRow& command, ScenarioOptions& options, const std::string& name) {
  command.option(name, options.root, "DIR",
                 "Folder below which `extends` may lead; by default the scenario's repository");
}

void add_scenario_options(CommandRow& command, ScenarioOptions& options) {
  add_override_options(command, options);
  add_root_option(command, options);
}

void add_threads_option(CommandRow& command, int& threads) {
  command.option("--threads", threads, "N", "Threads; the result is the same with any number",
                 {.range = {{1, 256}}});
}

void add_scenario_argument(CommandRow& command, ScenarioOptions& options) {
  command.option("scenario", options.file, "SCENARIO",
                 "Scenario file, FILE#ID for a measured run, or - for standard input",
                 {.required = true});
}

LoadOptions load_options(const ScenarioOptions& options) {
  LoadOptions result;
  result.overrides = options.overrides;
  result.catalogs = own_roots(options.folders);
  if (!options.root.empty() && !std::filesystem::is_directory(options.root))
    throw UsageError("--root " + in_quotes(options.root) + " is not a folder");
  result.root = options.root;
  return result;
}

Scenario read_scenario(const ScenarioOptions& options, Purpose purpose) {
  LoadOptions wanted = load_options(options);
  wanted.purpose = purpose;
  return options.file == "-" ? read_scenario_text(read_standard_input(), wanted)
                             : told(load_scenario_or_record(options.file, wanted));
}

Scenario read_scenario_text(const std::string& text, const LoadOptions& options) {
  return told(load_text_or_record(text, "<stdin>", std::filesystem::current_path(), options));
}

int deliver(const std::string& text, const std::string& out, FileUse use) {
  if (!out.empty()) {
    write_file(out, text, use);
    return exit_ok;
  }
  return write_output(text) ? int{exit_ok} : exit_closed_pipe;
}

void require_own_engine(const Scenario& scenario, EngineKind engine) {
  if (scenario.work != Work::training && engine == EngineKind::event)
    throw UsageError(
        fmt::format("{}: --engine event plays training here; of {} only simulate plays what goes "
                    "over the fabric",
                    scenario.job.name, name_of(scenario.work)));
}

void require_fast_engine(EngineKind engine) {
  if (engine == EngineKind::event)
    throw UsageError(
        "--engine event is for simulate, compare, report, explain and sweep; here closed-form and "
        "path");
}

void refuse_value(const std::string& option, const std::string& text,
                  const std::vector<std::string>& legal) {
  throw UsageError(option + ": " + in_quotes(text) + " is not one of " + joined(legal) +
                   nearest_hint(text, legal));
}

}  // namespace foretrain
