// SPDX-License-Identifier: Apache-2.0
// Vision towers of configurations, by rows of families.yaml of their own; encoders of sound are
// left out. A tower that no row knows is told.

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "models/layers/vision_tower.hpp"
#include "scenarios/huggingface/internal/huggingface_reader.hpp"

namespace foretrain::huggingface {
namespace {

std::string type_in(const YamlNode& map) {
  const YamlNode* type = map.find("model_type");
  return type != nullptr && type->is_scalar() ? type->text : std::string();
}

/// The row of a tower's own type, or of the model that it is part of; null pointer: none.
const Family* tower_row(const YamlNode& root, const YamlNode& tower, const Families& known) {
  for (const YamlNode* named : {&tower, &root}) {
    const std::string type = type_in(*named);
    if (type.empty()) continue;
    const auto row = known.find(type + std::string(tower_suffix));
    return row == known.end() ? nullptr : &row->second;
  }
  return nullptr;
}

/// What is told of a tower that is read.
std::string read_tower_text(const HuggingFaceModel& model) {
  const VisionShape& vision = *model.shape.vision;
  const TowerParameters count = tower_parameters(vision, model.shape.hidden);
  return fmt::format(
      "a vision tower of {:.0f} M parameters and projectors of {:.0f} M are held and computed "
      "where training.images states images{}",
      static_cast<double>(count.tower) / 1e6, static_cast<double>(count.projectors) / 1e6,
      vision.tokens == 0 ? ", with their tokens" : "");
}

/// Why a tower is left out; empty: it is read.
std::string fault_of(const VisionShape& vision, const Diagnostics& faults) {
  if (!faults.empty()) return faults.items().front().path + " " + faults.items().front().message;
  const bool even = vision.head_dim > 0 || vision.hidden % vision.heads == 0;
  return even ? std::string() : "its heads do not divide its width";
}

/// Keys beside the tower that said something of it change sizes after all.
void keep_read_keys(const YamlNode& root, const YamlNode& tower, const Family& row,
                    HuggingFaceModel& model) {
  for (const auto& [name, keys] : row.keys)
    for (const std::string& key : keys)
      if (name.starts_with("vision.") && tower.find(key) == nullptr && root.find(key) != nullptr)
        std::erase(model.ignored, key);
}

/// The language model is read whatever the tower is.
void read_tower(const YamlNode& root, const YamlEntry& tower, const Family& row,
                HuggingFaceModel& model) {
  Diagnostics faults;
  HuggingFaceModel with = model;
  Reader reader{tower.value, &root, row, with, faults};
  with.shape.vision.emplace();
  reader.fill("vision", with.shape);
  const std::string fault = fault_of(*with.shape.vision, faults);
  if (fault.empty()) {
    model = std::move(with);
    keep_read_keys(root, tower.value, row, model);
    model.assumed.push_back(read_tower_text(model));
  } else {
    model.assumed.push_back(fmt::format("{} is left out: {}", tower.key, fault));
  }
}

}  // namespace

void read_towers(const YamlNode& root, const Family& family, const Families& known,
                 HuggingFaceModel& model) {
  const std::vector<std::string>& keys = family.keys.find("vision")->second;
  for (const YamlEntry& entry : root.entries) {
    const bool named = contains(keys, entry.key);
    if (!named || !entry.value.is_map()) continue;
    if (const Family* row = tower_row(root, entry.value, known))
      read_tower(root, entry, *row, model);
    else
      model.assumed.push_back(
          fmt::format("{} is left out: a vision tower of a kind that is not read", entry.key));
  }
}

}  // namespace foretrain::huggingface
