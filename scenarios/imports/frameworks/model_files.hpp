// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "scenarios/huggingface/huggingface.hpp"
#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

/// A model of a file that is not of the catalog.
struct ModelFile {
  LlmShape shape;
  std::optional<PackedCheckpoint> packed{};
};

/// The file that `path` names, or the config.json of a folder; nothing where neither is there.
[[nodiscard]] std::optional<std::filesystem::path> model_file_at(const std::filesystem::path& path);

/// A config.json, or a file as those of models/catalog; nothing after reporting why.
[[nodiscard]] std::optional<ModelFile> read_model_file(
    const std::filesystem::path& file, const std::vector<std::filesystem::path>& catalogs,
    Diagnostics& diagnostics);

/// The options with the shape of the file that options.model names, wherever it lies: a person
/// named it, and the scenario has the shape in it. @throws ScenarioError
[[nodiscard]] PlanImportOptions with_model_file(PlanImportOptions options);

}  // namespace foretrain
