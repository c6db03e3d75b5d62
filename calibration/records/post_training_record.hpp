// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {

/// What a record of post-training says beside its model, machine and engine. Absent: the source
/// does not say.
struct PostTrainingRecord {
  struct Layout {
    std::optional<int> tensor, context, pipeline, expert, expert_tensor;
  };

  std::string algorithm;  ///< in the source's words
  std::string trainer;
  std::string placement;  ///< "colocated", "separate", with words behind it
  std::optional<double> longest_sequence;  ///< prompt and answer together
  std::optional<double> answers, prompt, answer, longest_answer, batch, prompts, update;
  std::optional<int> generation_gpus, train_gpus;
  std::optional<double> staleness;
  Layout train, generation;
  std::optional<double> tokens_per_s_per_gpu, tokens_per_s, response_tokens_per_s_per_gpu;
};

/// @param node of a record of kind rl
[[nodiscard]] PostTrainingRecord post_training_record_of(const YamlNode& node);

}  // namespace foretrain
