// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "scenarios/imports/frameworks/tuning_import.hpp"

namespace foretrain::tuning {

using Keys = std::vector<std::string_view>;

/// What a framework calls the things that all of them have; empty: it has no such key. Documented
/// in docs/how-to/fine-tuning.md.
struct TuningKeys {
  const char* title;
  Keys model{};
  Keys sequence{};
  Keys micro_batch{};
  Keys accumulation{};
  Keys packing{};
  Keys steps{};
  Keys optimizer{};
  Keys checkpointing{};
  bool checkpoints = false;  ///< where the key is left out
  Keys adapter{};              ///< lora, qlora, full; where it is "true" or absent, see has_adapter
  Keys rank{};
  int usual_rank = 8;
  Keys dropout{};
  Keys targets{};
  std::string_view all_linear{};  ///< a switch of its own for all linear layers
  Keys trained_too{};             ///< modules that are trained beside adapters
  Keys bits{};                    ///< of frozen weights
  Keys four_bits{};               ///< a switch for 4 of them
  Keys double_scales{};
  Keys objective{};
  Keys harmless{};
  Keys approximate{};
};

[[nodiscard]] const TuningKeys& keys_of(TuningFramework framework);

}  // namespace foretrain::tuning
