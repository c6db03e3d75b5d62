// SPDX-License-Identifier: Apache-2.0
#include "calibration/training_logs/run_stack.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace foretrain {
namespace {

struct FormatStack {
  std::string_view format;
  std::string_view stack;
};

/// Frameworks of which one profile tells. Megatron-LM's kernels depend on its transformer_impl,
/// torchtitan's on its compiler, and what DeepSpeed, Hugging Face's Trainer and small programs run
/// depends on their model's code.
constexpr std::array format_stacks{
    FormatStack{"megatron-deepspeed", "megatron-deepspeed"},
    FormatStack{"gpt-neox", "megatron-deepspeed"},
    FormatStack{"megatron-bridge", "megatron-core"},
    FormatStack{"nemo", "nemo"},
    FormatStack{"nanotron", "nanotron"},
    FormatStack{"composer", "composer"},
    FormatStack{"internevo", "internevo"},
    FormatStack{"maxtext", "jax"},
};

}  // namespace

std::string stack_of_log(const TrainingLog& log) {
  if (log.format == "megatron-lm") {
    if (log.plan.transformer == "transformer_engine") return "megatron-core";
    return log.plan.transformer == "local" ? "megatron-core-local" : "";
  }
  if (log.format == "torchtitan") {
    if (!log.plan.compiled) return "";
    return *log.plan.compiled ? "fsdp2-compile" : "fsdp2";
  }
  const auto* const known =
      std::find_if(format_stacks.begin(), format_stacks.end(),
                   [&](const FormatStack& one) { return one.format == log.format; });
  return known == format_stacks.end() ? "" : std::string(known->stack);
}

}  // namespace foretrain
