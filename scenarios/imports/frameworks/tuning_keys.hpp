// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "scenarios/imports/frameworks/importers.hpp"

namespace foretrain::tuning {

using Keys = std::vector<std::string_view>;

/// What a framework calls the things that all of them have, and what it takes where they are left
/// out; empty: it has no such key. Documented in docs/how-to/fine-tuning.md.
struct TuningKeys {
  const char* title;
  Keys model{};
  Keys sequence{};
  int usual_sequence = 2048;
  Keys micro_batch{};
  int usual_micro_batch = 8;
  Keys accumulation{};
  Keys packing{};
  Keys steps{};
  Keys optimizer{};
  Keys checkpointing{};
  bool checkpoints = false;    ///< where the key is left out
  bool usual_half = false;     ///< 16 bits where nothing is said: the device's bf16, else fp16
  Keys adapter{};              ///< lora, qlora, full
  bool usual_adapter = false;  ///< LoRA where the key is left out
  Keys rank{};
  int usual_rank = 8;
  Keys dropout{};
  double usual_dropout = 0.0;
  Keys targets{};
  bool usual_all_linear = false;  ///< adapters beside all linear layers where nothing is said
  std::string_view all_linear{};  ///< a switch of its own for all linear layers
  Keys trained_too{};             ///< modules that are trained beside adapters
  Keys bits{};                    ///< of frozen weights
  Keys four_bits{};               ///< a switch for 4 of them
  Keys double_scales{};
  bool usual_double_scales = true;
  Keys objective{};
  Keys epochs{};
  double usual_epochs = 3.0;
};

[[nodiscard]] const TuningKeys& keys_of(TuningFramework framework);

/// What transformers and Axolotl call an update rule with its moments and kernels; empty: they have
/// no name for it.
[[nodiscard]] std::string_view optimizer_name(const Training& training, OffloadKind offload);

}  // namespace foretrain::tuning
