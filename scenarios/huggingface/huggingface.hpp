// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/inputs/llm.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/load_options.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// A model read from a Hugging Face configuration, and what was made of its keys.
struct HuggingFaceModel {
  LlmShape shape;
  std::vector<ResolvedValue> values;  ///< by model catalog key, with the line each came from
  std::vector<std::string> ignored;   ///< keys that change neither sizes nor FLOPs
  std::vector<std::string> unknown;   ///< keys this reader does not know; nothing was made of them
  std::vector<std::string> assumed;   ///< sentences: what the file leaves out
};

/// Model types that are understood, sorted.
[[nodiscard]] std::vector<std::string> huggingface_model_types();

/// Reads a parsed config.json. Old and new key names are known; of a configuration with a
/// `text_config`, that part is read. Missing, contradicting and illegal values and model types that
/// are not understood become diagnostics at their lines.
[[nodiscard]] std::optional<HuggingFaceModel> import_huggingface(const YamlNode& root,
                                                                 const std::string& name,
                                                                 Diagnostics& diagnostics);

/// The model as a file in the format of models/catalog, with the notes as comments.
/// @param source what `cite` says, e.g. "config.json of my-model"; `date` as year-month-day.
[[nodiscard]] std::string model_catalog_text(const HuggingFaceModel& model,
                                             const std::string& source, const std::string& date);

}  // namespace foretrain
