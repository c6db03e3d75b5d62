// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/inputs/fine_tuning.hpp"
#include "models/inputs/llm.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/load_options.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// How the matrices of a checkpoint rest, by the `quantization_config` beside its shape.
struct PackedCheckpoint {
  std::string words;                     ///< "4 bits of GPTQ"
  std::optional<FrozenFormat> frozen{};  ///< of it below adapters; nothing: none is modelled
  std::string serving{};  ///< value of serving.precision.weights; empty: none is modelled
  bool unpacks = false;   ///< loaded for training as 16 bits (fp8, MXFP4)
  Mark mark{};

  /// What a reader is told where the shape alone is taken.
  [[nodiscard]] std::string sentence() const;
};

/// Nothing for weights in 16 bits.
[[nodiscard]] std::optional<PackedCheckpoint> packed_checkpoint(const YamlNode& root);

/// A model read from a Hugging Face configuration, and what was made of its keys.
struct HuggingFaceModel {
  LlmShape shape;
  std::vector<ResolvedValue> values;  ///< by model catalog key, with the line each came from
  std::vector<std::string> ignored;   ///< keys that change neither sizes nor FLOPs
  std::vector<std::string> unknown;   ///< keys this reader does not know; nothing was made of them
  std::vector<std::string> assumed;   ///< sentences: what the file leaves out
  std::optional<PackedCheckpoint> packed{};
};

/// What is said beside a configuration.
struct HuggingFaceRequest {
  std::string name;     ///< of the model
  std::string as = {};  ///< the family to read it as; empty: the one that its model_type names
  std::vector<std::filesystem::path> catalogs = {};  ///< folders of one's own, with more families
};

/// Model types that are read, sorted.
[[nodiscard]] std::vector<std::string> huggingface_model_types(
    const std::vector<std::filesystem::path>& catalogs = {});

/// Reads a parsed config.json, or a params.json with Mistral's keys, by the row of its family
/// (families.yaml). Of a configuration with a `text_config`, that part is read. Missing,
/// contradicting and illegal values and families that are not read become diagnostics at their
/// lines.
[[nodiscard]] std::optional<HuggingFaceModel> import_huggingface(const YamlNode& root,
                                                                 const HuggingFaceRequest& request,
                                                                 Diagnostics& diagnostics);

/// What the model of a configuration is called, as a catalog names models: by its `_name_or_path`,
/// else by the file, or by the folder of a config.json or params.json.
[[nodiscard]] std::string huggingface_model_name(const YamlNode& root,
                                                 const std::filesystem::path& file);
/// The same of a file on disk, as far as it can be read.
[[nodiscard]] std::string huggingface_model_name(const std::filesystem::path& file);

/// The model as a file in the format of models/catalog, with the notes as comments.
/// @param source what `cite` says, e.g. "config.json of my-model"; `date` as year-month-day.
[[nodiscard]] std::string model_catalog_text(const HuggingFaceModel& model,
                                             const std::string& source, const std::string& date);

}  // namespace foretrain
