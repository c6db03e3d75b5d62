// SPDX-License-Identifier: Apache-2.0
// Keys of fine-tuning frameworks: transformers' TrainingArguments, TRL's SFTConfig and DPOConfig,
// accelerate's configuration, PEFT's LoraConfig; Axolotl's config schema; LLaMA-Factory's hparams;
// ms-swift's arguments; each as of their documentation of 2026.
#include "scenarios/imports/frameworks/tuning_keys.hpp"

namespace foretrain::tuning {
namespace {

TuningKeys transformers_keys() {
  return {.title = "Hugging Face Trainer",
          .model = {"base_model_name_or_path", "model_name_or_path", "model_name"},
          .sequence = {"max_length", "max_seq_length", "block_size"},
          .micro_batch = {"per_device_train_batch_size"},
          .accumulation = {"gradient_accumulation_steps"},
          .packing = {"packing"},
          .steps = {"max_steps"},
          .optimizer = {"optim"},
          .checkpointing = {"gradient_checkpointing"},
          .adapter = {"peft_type"},
          .rank = {"r", "lora_r"},
          .dropout = {"lora_dropout"},
          .targets = {"target_modules", "lora_target_modules"},
          .trained_too = {"modules_to_save", "lora_modules_to_save"},
          .bits = {},
          .four_bits = {"load_in_4bit"},
          .double_scales = {"bnb_4bit_use_double_quant", "use_bnb_nested_quant"},
          .usual_double_scales = false,
          .objective = {"trainer"},
          .epochs = {"num_train_epochs"}};
}

TuningKeys axolotl_keys() {
  return {.title = "Axolotl",
          .model = {"base_model"},
          .sequence = {"sequence_len"},
          .usual_sequence = 512,
          .micro_batch = {"micro_batch_size"},
          .usual_micro_batch = 1,
          .accumulation = {"gradient_accumulation_steps"},
          .packing = {"sample_packing"},
          .steps = {"max_steps"},
          .optimizer = {"optimizer"},
          .checkpointing = {"gradient_checkpointing"},
          .usual_half = true,  // bf16: auto
          .adapter = {"adapter"},
          .rank = {"lora_r"},
          .dropout = {"lora_dropout"},
          .targets = {"lora_target_modules"},
          .all_linear = "lora_target_linear",
          .trained_too = {"lora_modules_to_save"},
          .four_bits = {"load_in_4bit"},
          .double_scales = {"bnb_config_kwargs.bnb_4bit_use_double_quant"},
          .objective = {"rl"},
          .epochs = {"num_epochs"},
          .usual_epochs = 1.0};
}

TuningKeys llamafactory_keys() {
  return {.title = "LLaMA-Factory",
          .model = {"model_name_or_path"},
          .sequence = {"cutoff_len"},
          .micro_batch = {"per_device_train_batch_size"},
          .accumulation = {"gradient_accumulation_steps"},
          .packing = {"packing", "neat_packing"},
          .steps = {"max_steps"},
          .optimizer = {"optim"},
          .checkpointing = {},
          .checkpoints = true,
          .adapter = {"finetuning_type"},
          .usual_adapter = true,
          .rank = {"lora_rank"},
          .dropout = {"lora_dropout"},
          .targets = {"lora_target"},
          .usual_all_linear = true,
          .trained_too = {"additional_target"},
          .bits = {"quantization_bit"},
          .double_scales = {"double_quantization"},
          .objective = {"stage"},
          .epochs = {"num_train_epochs"}};
}

TuningKeys swift_keys() {
  return {.title = "ms-swift",
          .model = {"model", "model_id_or_path"},
          .sequence = {"max_length"},
          .micro_batch = {"per_device_train_batch_size", "batch_size"},
          .usual_micro_batch = 1,
          .accumulation = {"gradient_accumulation_steps"},
          .packing = {"packing"},
          .steps = {"max_steps"},
          .optimizer = {"optim"},
          .checkpointing = {"gradient_checkpointing"},
          .checkpoints = true,
          .usual_half = true,  // torch_dtype of the model's config.json
          .adapter = {"train_type", "tuner_type", "sft_type"},
          .usual_adapter = true,
          .rank = {"lora_rank"},
          .dropout = {"lora_dropout", "lora_dropout_p"},
          .usual_dropout = 0.05,
          .targets = {"target_modules", "target_regex", "lora_target_modules"},
          .usual_all_linear = true,
          .trained_too = {"modules_to_save"},
          .bits = {"quant_bits", "quantization_bit"},
          .double_scales = {"bnb_4bit_use_double_quant"},
          .objective = {"rlhf_type"},
          .epochs = {"num_train_epochs"}};
}

}  // namespace

const TuningKeys& keys_of(TuningFramework framework) {
  static const TuningKeys transformers = transformers_keys();
  static const TuningKeys axolotl = axolotl_keys();
  static const TuningKeys llamafactory = llamafactory_keys();
  static const TuningKeys swift = swift_keys();
  switch (framework) {
    case TuningFramework::axolotl:
      return axolotl;
    case TuningFramework::llamafactory:
      return llamafactory;
    case TuningFramework::swift:
      return swift;
    case TuningFramework::transformers:
      break;
  }
  return transformers;
}

}  // namespace foretrain::tuning
