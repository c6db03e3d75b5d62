// SPDX-License-Identifier: Apache-2.0
// Numbers that no forecast reads: what is exported for a launch must train the same model.
#include <fmt/format.h>

#include "scenarios/huggingface/internal/huggingface_reader.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain::huggingface {
namespace {

double number_in(const YamlNode& group, std::string_view key) {
  const YamlNode* const node = group.find(key);
  return node == nullptr ? 0.0 : parse_number(node->text).value.value_or(0.0);
}

std::string text_in(const YamlNode& group, std::string_view key, std::string_view older) {
  const YamlNode* node = group.find(key);
  if (node == nullptr) node = group.find(older);
  return node == nullptr ? std::string() : node->text;
}

/// `rope_scaling` of version 4, `rope_parameters` of version 5, which holds the base as well, or a
/// group that is called like its form (yarn). Forms that are not known here leave everything
/// unknown.
void read_scaling(Reader& reader, const YamlNode& group, const std::string& key,
                  ModelNumbers& numbers) {
  std::string type = text_in(group, "rope_type", "type");
  if (type.empty() && from_name<RopeScaling>(key)) type = key;
  const double theta = number_in(group, "rope_theta");
  if (theta > 0.0) {
    numbers.rope_theta = theta;
    reader.record("embedding.rope_theta", fmt::format("{}", theta), group.mark.origin());
  }
  if (type.empty() || type == "default") return;
  const auto scaling = from_name<RopeScaling>(type);
  if (!scaling) {
    numbers.rope_theta = 0.0;
    reader.assume(
        fmt::format("rotary angles of rope_type {} are not carried to exports", in_quotes(type)));
    return;
  }
  numbers.rope_scaling = *scaling;
  numbers.rope_factor = number_in(group, "factor");
  numbers.rope_positions =
      static_cast<int>(std::min(1e9, number_in(group, "original_max_position_embeddings")));
  reader.record("embedding.rope_scaling", type, group.mark.origin());
}

}  // namespace

void read_numbers(Reader& reader, LlmShape& shape) {
  ModelNumbers& numbers = shape.numbers;
  numbers.norm_epsilon = reader.amount("norm.epsilon");
  const double theta = reader.amount("embedding.rope_theta");
  const double share = reader.amount("embedding.rope_share");
  const YamlNode* const older = reader.take("embedding.rope_scaling");
  const YamlNode* const newer = reader.take("embedding.rope_parameters");
  if (shape.position != PositionKind::rotary) return;
  numbers.rope_theta = theta;
  if (share > 0.0) numbers.rope_share = share;
  for (const auto& [group, name] :
       {std::pair{older, "embedding.rope_scaling"}, {newer, "embedding.rope_parameters"}})
    if (group != nullptr && group->is_map())
      read_scaling(reader, *group, reader.key_of(name), numbers);
}

}  // namespace foretrain::huggingface
