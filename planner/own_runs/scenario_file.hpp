// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// A scenario that a measured run was written as.
struct ImportedRecord {
  std::string text;
  std::vector<std::string> assumed;  ///< sentences
};

/// A run of a file of measured runs (calibration/measured/README.md), or of the JSON of a log;
/// nothing where the text is neither.
/// @param name of the file, in messages
/// @param id of the run; empty: the only one
/// @throws ScenarioError where there is no such run, or it cannot be a scenario
[[nodiscard]] std::optional<ImportedRecord> import_record(
    const std::string& text, const std::string& name, const std::string& id,
    const std::vector<std::filesystem::path>& catalogs);

/// The same of "FILE" or "FILE#ID". @throws ScenarioError where it holds no measured runs, too
[[nodiscard]] ImportedRecord import_record_file(const std::string& file,
                                                const std::vector<std::filesystem::path>& catalogs);

/// A scenario, and what was assumed where a measured run stood in its place.
struct LoadedScenario {
  Scenario scenario;
  std::vector<std::string> assumed{};
};

/// load_scenario(), or a measured run: "FILE" where it is the only one of its file, "FILE#ID".
[[nodiscard]] LoadedScenario load_scenario_or_record(const std::string& file,
                                                     const LoadOptions& options);
/// load_scenario_text(), or a measured run in the text.
[[nodiscard]] LoadedScenario load_text_or_record(const std::string& text, const std::string& name,
                                                 const std::filesystem::path& folder,
                                                 const LoadOptions& options);

}  // namespace foretrain
