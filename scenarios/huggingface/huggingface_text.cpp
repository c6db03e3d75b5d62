// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>

#include "scenarios/huggingface/huggingface.hpp"
#include "scenarios/sections/model_text.hpp"
#include "scenarios/yaml/safe_text.hpp"

namespace foretrain {
namespace {

std::string comments(const HuggingFaceModel& model) {
  std::string text;
  for (const std::string& sentence : model.assumed) text += "# " + sentence + "\n";
  for (const std::string& key : model.unknown) text += "# " + key + ": unknown key, ignored\n";
  return text;
}

}  // namespace

std::string model_catalog_text(const HuggingFaceModel& model, const std::string& source,
                               const std::string& date) {
  const LlmShape& shape = model.shape;
  std::string covers = "layers, hidden, attention, mlp, embedding, norm";
  if (shape.moe) covers += ", moe";
  for (const auto& [part, there] : {std::pair{"layer_pattern", !shape.layer_pattern.empty()},
                                    {"mixer_pattern", !shape.mixer_pattern.empty()},
                                    {"mamba", shape.mamba.has_value()},
                                    {"delta", shape.delta.has_value()}})
    if (there) covers += fmt::format(", {}", part);
  if (shape.mtp_layers > 0) covers += ", mtp_layers";
  return fmt::format("schema: 1\nname: {}\ntitle: {}\n{}{}", shape.name,
                     in_double_quotes(shape.title), comments(model), model_shape_text(shape)) +
         fmt::format("sources:\n  - covers: [{}]\n    cite: {}\n    date: {}\n", covers,
                     in_double_quotes(source), date);
}

}  // namespace foretrain
