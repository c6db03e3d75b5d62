// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "scenarios/imports/frameworks/importers.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain::tuning {

/// How many examples an epoch has, and what says so.
struct StatedExamples {
  double count = 0.0;
  std::string words;
};

/// As the keys of a framework's data say it: LLaMA-Factory's max_samples of one set, ms-swift's
/// `name#N` of every set, the Trainer's max_train_samples, slices `train[:N]` of every set; less
/// what they hold back for evaluation. Nothing where a set has no number.
[[nodiscard]] std::optional<StatedExamples> stated_examples(Framework framework,
                                                            const YamlNode& root);

}  // namespace foretrain::tuning
