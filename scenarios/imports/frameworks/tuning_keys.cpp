// SPDX-License-Identifier: Apache-2.0
// Keys of fine-tuning frameworks: transformers' TrainingArguments, TRL's SFTConfig and DPOConfig,
// accelerate's configuration, PEFT's LoraConfig; Axolotl's config schema; LLaMA-Factory's hparams;
// ms-swift's arguments; each as of their documentation of 2026.
#include "scenarios/imports/frameworks/internal/tuning_keys.hpp"

namespace foretrain::tuning {
namespace {

/// Names, places, logs, evaluation, learning rates: neither memory nor time of a step.
const Keys& usual_harmless() {
  static const Keys keys{"output_dir", "logging_steps", "logging_dir", "logging_strategy",
                         "logging_first_step", "report_to", "run_name", "seed", "data_seed",
                         "learning_rate", "weight_decay", "warmup_ratio", "warmup_steps",
                         "lr_scheduler_type", "lr_scheduler_kwargs", "max_grad_norm", "adam_beta1",
                         "adam_beta2", "adam_epsilon", "save_steps", "save_strategy",
                         "save_total_limit", "save_only_model", "save_safetensors", "eval_steps",
                         "eval_strategy", "evaluation_strategy", "per_device_eval_batch_size",
                         "do_train", "do_eval", "overwrite_output_dir", "resume_from_checkpoint",
                         "load_best_model_at_end", "metric_for_best_model", "push_to_hub",
                         "hub_model_id", "num_train_epochs", "dataset", "dataset_name",
                         "dataset_text_field", "dataset_num_proc", "remove_unused_columns",
                         "ddp_timeout", "ddp_find_unused_parameters", "include_num_input_tokens_seen",
                         "plot_loss", "trust_remote_code", "lora_alpha", "alpha", "loraplus_lr_ratio",
                         "use_rslora", "eval_dataset", "val_size", "template", "disable_tqdm"};
  return keys;
}

const Keys& usual_approximate() {
  static const Keys keys{"use_liger_kernel", "liger_kernel", "enable_liger_kernel",
                         "dataloader_num_workers", "dataloader_pin_memory", "group_by_length",
                         "torch_compile", "neftune_noise_alpha", "gradient_checkpointing_kwargs",
                         "completion_only_loss", "assistant_only_loss"};
  return keys;
}

Keys with(const Keys& usual, const Keys& own) {
  Keys all = usual;
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

TuningKeys transformers_keys() {
  return {.title = "Hugging Face Trainer",
          .model = {"base_model_name_or_path", "model_name_or_path"},
          .sequence = {"max_length", "max_seq_length"},
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
          .trained_too = {"modules_to_save"},
          .bits = {},
          .four_bits = {"load_in_4bit"},
          .double_scales = {"bnb_4bit_use_double_quant", "use_bnb_nested_quant"},
          .objective = {"trainer"},
          .harmless = with(usual_harmless(),
                           {"task_type", "inference_mode", "revision", "auto_mapping", "bias",
                            "fan_in_fan_out", "init_lora_weights", "peft_version", "lora_bias",
                            "compute_environment", "machine_rank", "main_training_function",
                            "main_process_ip", "main_process_port", "rdzv_backend", "same_network",
                            "debug", "downcast_bf16", "tpu_env", "tpu_use_cluster", "tpu_use_sudo",
                            "enable_cpu_affinity", "beta", "loss_type", "label_smoothing",
                            "bnb_4bit_quant_type", "bnb_4bit_compute_dtype", "eval_packing"}),
          .approximate = usual_approximate()};
}

TuningKeys axolotl_keys() {
  return {.title = "Axolotl",
          .model = {"base_model"},
          .sequence = {"sequence_len"},
          .micro_batch = {"micro_batch_size"},
          .accumulation = {"gradient_accumulation_steps"},
          .packing = {"sample_packing"},
          .steps = {"max_steps"},
          .optimizer = {"optimizer"},
          .checkpointing = {"gradient_checkpointing"},
          .adapter = {"adapter"},
          .rank = {"lora_r"},
          .dropout = {"lora_dropout"},
          .targets = {"lora_target_modules"},
          .all_linear = "lora_target_linear",
          .trained_too = {"lora_modules_to_save"},
          .four_bits = {"load_in_4bit"},
          .objective = {"rl"},
          .harmless =
              with(usual_harmless(),
                   {"model_type", "tokenizer_type", "tokenizer_config", "is_llama_derived_model",
                    "datasets", "test_datasets", "dataset_prepared_path", "val_set_size",
                    "num_epochs", "lr_scheduler", "cosine_min_lr_ratio", "wandb_project",
                    "wandb_entity", "wandb_watch", "wandb_name", "wandb_log_model",
                    "saves_per_epoch", "evals_per_epoch", "eval_table_size", "special_tokens",
                    "chat_template", "train_on_inputs", "early_stopping_patience", "strict",
                    "eval_sample_packing", "shuffle_merged_datasets", "tokens", "plugins",
                    "local_rank", "logging_steps", "eval_max_new_tokens", "hub_strategy",
                    "lora_model_dir", "rl_beta", "dpo_beta"}),
          .approximate = with(usual_approximate(),
                              {"liger_rope", "liger_rms_norm", "liger_glu_activation",
                               "liger_layer_norm", "liger_fused_linear_cross_entropy",
                               "lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel",
                               "eval_causal_lm_metrics"})};
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
          .rank = {"lora_rank"},
          .dropout = {"lora_dropout"},
          .targets = {"lora_target"},
          .trained_too = {"additional_target"},
          .bits = {"quantization_bit"},
          .double_scales = {"double_quantization"},
          .objective = {"stage"},
          .harmless = with(usual_harmless(),
                           {"max_samples", "overwrite_cache", "preprocessing_num_workers",
                            "dataset_dir", "tokenized_path", "streaming", "mix_strategy",
                            "interleave_probs", "pref_beta", "pref_loss", "quantization_method",
                            "quantization_type", "compute_accuracy", "cache_dir",
                            "predict_with_generate", "enable_thinking"}),
          .approximate = usual_approximate()};
}

TuningKeys swift_keys() {
  return {.title = "ms-swift",
          .model = {"model", "model_id_or_path"},
          .sequence = {"max_length"},
          .micro_batch = {"per_device_train_batch_size"},
          .accumulation = {"gradient_accumulation_steps"},
          .packing = {"packing"},
          .steps = {"max_steps"},
          .optimizer = {"optim"},
          .checkpointing = {"gradient_checkpointing"},
          .checkpoints = true,
          .adapter = {"train_type", "tuner_type"},
          .rank = {"lora_rank"},
          .dropout = {"lora_dropout"},
          .targets = {"target_modules"},
          .trained_too = {"modules_to_save"},
          .bits = {"quant_bits"},
          .double_scales = {"bnb_4bit_use_double_quant"},
          .objective = {"rlhf_type"},
          .harmless = with(usual_harmless(),
                           {"system", "val_dataset", "split_dataset_ratio", "model_author",
                            "model_name", "model_type", "use_hf", "quant_method",
                            "bnb_4bit_quant_type", "bnb_4bit_compute_dtype", "load_from_cache_file",
                            "check_model", "create_checkpoint_symlink", "beta", "streaming",
                            "add_version", "lazy_tokenize"}),
          .approximate = usual_approximate()};
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
