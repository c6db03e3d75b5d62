// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/names.hpp"
#include "scenarios/imports/frameworks/imported_plan.hpp"

namespace foretrain {

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
