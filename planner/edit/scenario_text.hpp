// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/forecast/report.hpp"
#include "scenarios/fields/field_table.hpp"

namespace foretrain {

/// Every key of a scenario file; the table of the reader, the schema and the reference.
[[nodiscard]] const FieldTable& scenario_table();

/// What a key may hold, in words: "integer, 1 to 1000000", "none, selective, full",
/// "time in ns, us, ..., d, above 0 s".
[[nodiscard]] std::string legal_values(const Field& field);

/// The catalog that a key takes its names from: "models" for model, "hosts" for cluster.host, ...;
/// empty for all other keys.
[[nodiscard]] std::string catalog_of_key(std::string_view path);

/// A value that a text gives by itself.
struct GivenValue {
  std::string path;  ///< "parallel.tensor"; lists and their groups as a whole
  std::string text;  ///< of a scalar, as written without quotes; of a list, YAML on one line
  int line = 0;      ///< from 1
  int column = 0;
};

/// The values of one text, in its order; those of files that it extends are not in it. Unreadable
/// texts give none. A group in scalar form counts as the child that it stands for.
[[nodiscard]] std::vector<GivenValue> given_values(const std::string& text);

/// A scenario that comes with the program.
struct ExampleScenario {
  std::string name;   ///< of the file, without ".yaml"
  std::string title;  ///< the comment at its top, in one line
  std::filesystem::path file;
};

/// Those in scenarios/ of the data folders, sorted by name. @throws ScenarioError where a data
/// folder cannot be read
[[nodiscard]] std::vector<ExampleScenario> example_scenarios();

/// A Hugging Face config.json as a model file, and what was made of it.
struct ImportedModel {
  std::string name;
  std::string text;                ///< in the format of models/catalog
  std::vector<std::string> notes;  ///< what was ignored, unknown and assumed; sentences
};

/// @param name of the model; empty: the file's or its folder's
/// @param date year-month-day, for the source line
/// @throws ScenarioError with every error of the file
[[nodiscard]] ImportedModel import_model_config(const std::filesystem::path& file,
                                                const std::string& name, const std::string& date);

/// Training frameworks whose configurations become scenarios: {"megatron", "Megatron-LM"}, ...
[[nodiscard]] std::vector<std::pair<std::string, std::string>> importable_frameworks();

/// A framework's configuration as a scenario.
struct ImportedRun {
  std::string text;
  std::vector<std::string> notes;  ///< what was ignored, not modelled and assumed; sentences
};

/// @param framework first of a pair of importable_frameworks()
/// @param host from the host catalog; @param gpus absent: as the file says
/// @throws ScenarioError with every error of the file
[[nodiscard]] ImportedRun import_run_config(const std::string& framework,
                                            const std::filesystem::path& file,
                                            const std::string& host, std::optional<int> gpus);

/// GPUs that somebody has, and what is to be fine-tuned on them.
struct OwnGpus {
  std::string model;   ///< of the catalog
  std::string device;  ///< of the catalog
  int gpus = 1;
  int sequence = 4096;
  std::optional<int> rank{};  ///< of adapters; nothing: all weights are trained
  bool quantised = false;     ///< beside frozen weights in 4 bits
};

/// A first scenario of them, as tuning_of_model() has it. @throws ScenarioError
[[nodiscard]] ImportedRun run_on_own_gpus(const OwnGpus& own);

}  // namespace foretrain
