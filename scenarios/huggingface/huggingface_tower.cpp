// SPDX-License-Identifier: Apache-2.0
// Encoders of images and sound: no forecast has them, and notes say what is left out.
#include <fmt/format.h>

#include "scenarios/huggingface/internal/huggingface_reader.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain::huggingface {
namespace {

/// A number by one of a concept's keys; 0 where none is there.
double tower_size(const YamlNode& tower, const Family& family, std::string_view name) {
  for (const std::string& key : family.keys.find(name)->second)
    if (const YamlNode* node = node_of(tower, key))
      return parse_number(node->text).value.value_or(0.0);
  return 0.0;
}

/// Matrices of a vision transformer (arXiv 2010.11929): four of attention and those of the MLP in
/// each layer, and the embedding of patches. Biases, norms, positions and the connector are not
/// counted. 0 where a size is missing.
double tower_parameters(const YamlNode& tower, const Family& family) {
  const auto size = [&](std::string_view name, double otherwise = 0.0) {
    const double value = tower_size(tower, family, name);
    return value > 0.0 ? value : otherwise;
  };
  const double width = size("vision.hidden");
  const double mlp = size("vision.mlp", size("vision.mlp_ratio") * width);
  const double layers = size("vision.layers");
  const double pixels = size("vision.patch") * size("vision.patch") * size("vision.channels", 3.0) *
                        size("vision.frames", 1.0);
  if (width * mlp * layers == 0.0) return 0.0;
  const YamlNode* activation = tower.find("hidden_act");
  const double matrices = activation != nullptr && activation->text == "silu" ? 3.0 : 2.0;
  return layers * (4.0 * width * width + matrices * width * mlp) + pixels * width;
}

}  // namespace

void tell_towers(const YamlNode& root, const Family& family, HuggingFaceModel& model) {
  for (const std::string& key : family.keys.find("vision")->second) {
    const YamlNode* tower = node_of(root, key);
    if (tower == nullptr || !tower->is_map()) continue;
    const double count = tower_parameters(*tower, family);
    model.assumed.push_back(
        count > 0.0 ? fmt::format("a vision tower of about {:.2f} B parameters is not part of this "
                                  "forecast, nor is its connector",
                                  count / 1e9)
                    : key + " is left out: a vision tower whose sizes it does not say");
  }
}

}  // namespace foretrain::huggingface
