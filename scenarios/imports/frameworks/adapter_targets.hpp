// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/inputs/job.hpp"

namespace foretrain {

/// A linear layer as Megatron-Core and its adapters call it; nothing where none is called so.
[[nodiscard]] std::optional<AdapterTarget> megatron_target(std::string_view module);

/// What Megatron-Core calls it; empty where it has no such layer.
[[nodiscard]] std::string_view megatron_module(AdapterTarget target);

/// Leaves out targets that a model has no layer for, as libraries pass over names that match
/// nothing. @returns their names; empty: all are there
[[nodiscard]] std::string drop_missing_targets(const LlmShape& model,
                                               EnumSet<AdapterTarget>& targets);

/// The part of a layer that a module belongs to, of which a name may match some alone.
enum class ModulePart { other, dense, shared_expert, expert };

/// A linear layer of a model in transformers.
struct LinearModule {
  std::string path;  ///< inside a layer: "self_attn.q_proj"
  AdapterTarget target;
  ModulePart part = ModulePart::other;
  bool linear = true;  ///< a torch.nn.Linear, which `all-linear` names
};

/// Experts are parameters of three dimensions in every version of transformers (GPT-OSS).
[[nodiscard]] bool has_fused_experts(const LlmShape& model);

/// Beside which layers adapters stand.
struct FoundTargets {
  EnumSet<AdapterTarget> targets;
  ExpertAdapters experts = ExpertAdapters::none;
  std::string refused;  ///< why they are not modelled; empty: they are
};

/// @param matches whether a name takes a path inside a layer
[[nodiscard]] FoundTargets found_targets(const LlmShape& model,
                                         const std::function<bool(const LinearModule&)>& matches);

}  // namespace foretrain
