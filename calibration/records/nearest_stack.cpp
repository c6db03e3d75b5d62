// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/nearest_stack.hpp"

#include <array>
#include <string_view>

#include "calibration/records/internal/words.hpp"

namespace foretrain {
namespace {

struct FrameworkWord {
  std::string_view word;
  std::string_view stack;
};

// The first word that is there counts: names of frameworks before those of what they are made of.
constexpr auto framework_words = std::to_array<FrameworkWord>({
    {"torchtitan", "fsdp2"},
    {"torchtune", "fsdp2"},
    {"automodel", "automodel"},
    {"nanotron", "nanotron"},
    {"internevo", "internevo"},
    {"internlm", "internevo"},
    {"llm-foundry", "composer"},
    {"llm foundry", "composer"},
    {"composer", "composer"},
    {"mosaic", "composer"},
    {"paddle", "paddle"},
    {"maxtext", "jax"},
    {"levanter", "jax"},
    {"paxml", "jax"},
    {"jax", "jax"},
    {"nemo", "nemo"},
    {"megatron-deepspeed", "megatron-deepspeed"},
    {"gpt-neox", "megatron-deepspeed"},
    {"colossal", "megatron-deepspeed"},
    {"megatron", "megatron-core"},
    {"deepspeed", "fsdp2"},
    {"olmo", "fsdp2-compile"},
    {"prime-rl", "fsdp2-compile"},
    {"fsdp", "fsdp2"},
    {"litgpt", "fsdp2"},
    {"hugging", "hf-trainer"},
    {"hf-trainer", "hf-trainer"},
    {"transformers", "hf-trainer"},
    {"llama-factory", "hf-trainer"},
    {"llamafactory", "hf-trainer"},
    {"axolotl", "hf-trainer"},
    {"unsloth", "hf-trainer"},
    {"peft", "hf-trainer"},
    {"nanogpt", "fsdp2-compile"},
    {"torch", "fsdp2"},
});
constexpr std::string_view usual_stack = "megatron-core";
/// Who fine-tunes and says no more does it as most people do.
constexpr std::string_view usual_tuning = "hf-trainer";

}  // namespace

std::string nearest_stack(const RunRecord& record) {
  const std::string words = lower(record.id + " " + record.source + " " + record.notes);
  for (const FrameworkWord& line : framework_words)
    if (words.find(line.word) != std::string::npos) return std::string(line.stack);
  const bool tunes = record.fine_tuning || record.task == "finetune" || record.task == "lora";
  return std::string(tunes ? usual_tuning : usual_stack);
}

}  // namespace foretrain
