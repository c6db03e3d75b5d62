// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "scenarios/imports/frameworks/dialect.hpp"
#include "scenarios/imports/frameworks/importers.hpp"

namespace foretrain::tuning {

using Keys = std::vector<std::string_view>;

/// What a framework calls the things that all of them have, and what it takes where they are left
/// out; empty: it has no such key. The terms of its dialect (scenarios/dialects), which
/// docs/how-to/fine-tuning.md documents.
struct TuningKeys {
  std::shared_ptr<const Dialect> dialect;  ///< holds the texts
  std::string_view title;
  Keys model, sequence, micro_batch, accumulation, packing, steps, optimizer;
  int usual_sequence = 2048;
  int usual_micro_batch = 8;
  Keys checkpointing;          ///< empty where a key switches it off
  bool checkpoints = false;    ///< where the key is left out
  bool usual_half = false;     ///< 16 bits where nothing is said: the device's bf16, else fp16
  Keys adapter;                ///< lora, qlora, full
  bool usual_adapter = false;  ///< LoRA where the key is left out
  Keys rank, dropout, targets;
  int usual_rank = 8;
  double usual_dropout = 0.0;
  bool usual_all_linear = false;  ///< adapters beside all linear layers where nothing is said
  std::string_view all_linear;    ///< a switch of its own for all linear layers
  Keys trained_too;               ///< modules that are trained beside adapters
  Keys bits;                      ///< of frozen weights
  Keys four_bits;                 ///< a switch for 4 of them
  Keys double_scales;
  bool usual_double_scales = true;
  Keys objective;
  Keys epochs;
  double usual_epochs = 3.0;
};

/// @throws ScenarioError where a dialect in one of the folders is broken
[[nodiscard]] TuningKeys keys_of(Framework framework,
                                 const std::vector<std::filesystem::path>& catalogs);

/// What transformers and Axolotl call an update rule with its moments and kernels; empty: they have
/// no name for it.
[[nodiscard]] std::string_view optimizer_name(const Training& training, OffloadKind offload);

}  // namespace foretrain::tuning
