// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "models/base/names.hpp"
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

/// Training frameworks whose configurations are read.
enum class Framework {
  megatron,
  deepspeed,
  nanotron,
  torchtitan,
  nemo,
  transformers,
  axolotl,
  llamafactory,
  swift,
  bridge,
  nemo2,
  torchtune,
  horovod,
  lightning,
  maxtext,
  verl,
  nemo_rl,
  openrlhf,
  slime
};
FORETRAIN_ENUM_NAMES(Framework, {Framework::megatron, "megatron"},
                     {Framework::deepspeed, "deepspeed"}, {Framework::nanotron, "nanotron"},
                     {Framework::torchtitan, "torchtitan"}, {Framework::nemo, "nemo"},
                     {Framework::transformers, "transformers"}, {Framework::axolotl, "axolotl"},
                     {Framework::llamafactory, "llamafactory"}, {Framework::swift, "swift"},
                     {Framework::bridge, "megatron-bridge"}, {Framework::nemo2, "nemo2"},
                     {Framework::torchtune, "torchtune"}, {Framework::horovod, "horovod"},
                     {Framework::lightning, "lightning"}, {Framework::maxtext, "maxtext"},
                     {Framework::verl, "verl"}, {Framework::nemo_rl, "nemo-rl"},
                     {Framework::openrlhf, "openrlhf"}, {Framework::slime, "slime"});
/// Whose configuration may lie in several files.
[[nodiscard]] bool reads_several_files(Framework framework);

/// What its users call it.
[[nodiscard]] const char* title_of(Framework framework);

/// The scenario of a framework's configuration. @throws ScenarioError
[[nodiscard]] ImportedScenario import_framework(Framework framework, const std::string& text,
                                                const std::string& name,
                                                const PlanImportOptions& options);

}  // namespace foretrain
