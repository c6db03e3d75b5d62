// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include <fmt/format.h>

#include "scenarios/huggingface/huggingface.hpp"
#include "scenarios/sections/model_text.hpp"
#include "scenarios/yaml/safe_text.hpp"

namespace foretrain {
namespace {

std::string comments(const HuggingFaceModel& model) {
  std::string text;
  for (const std::string& sentence : model.assumed) text += "# " + sentence + "\n";
  if (model.packed) text += "# " + model.packed->sentence() + "\n";
  for (const std::string& key : model.unknown) text += "# " + key + ": unknown key, ignored\n";
  return text;
}

/// The keys that a text has at its left edge.
std::string groups_of(const std::string& text) {
  std::string groups;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.front() != ' ')
      groups += (groups.empty() ? "" : ", ") + line.substr(0, line.find(':'));
  return groups;
}

}  // namespace

std::string model_catalog_text(const HuggingFaceModel& model, const std::string& source,
                               const std::string& date) {
  const LlmShape& shape = model.shape;
  const std::string text = model_shape_text(shape);
  return fmt::format("schema: 1\nname: {}\ntitle: {}\n{}{}", shape.name,
                     in_double_quotes(shape.title), comments(model), text) +
         fmt::format("sources:\n  - covers: [{}]\n    cite: {}\n    date: {}\n", groups_of(text),
                     in_double_quotes(source), date);
}

}  // namespace foretrain
