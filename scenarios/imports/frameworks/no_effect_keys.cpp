// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/internal/no_effect_keys.hpp"

namespace foretrain {
namespace {

using enum NoEffect;
using Table = std::vector<NoEffectKeys>;

/// TrainingArguments of transformers, and what TRL, Axolotl, LLaMA-Factory and ms-swift share with
/// it.
Table trainer_keys() {
  return {{naming,
           {"output_dir", "overwrite_output_dir", "run_name", "hub_model_id", "hub_token",
            "hub_private_repo", "hub_always_push", "hub_revision", "push_to_hub",
            "push_to_hub_token", "model_revision", "revision", "trust_remote_code", "cache_dir",
            "trackio_space_id", "project", "tokenizer_name_or_path", "model_code_revision"}},
          {reporting,
           {"logging_steps", "logging_dir", "logging_strategy", "logging_first_step",
            "logging_nan_inf_filter", "report_to", "disable_tqdm", "log_level", "log_level_replica",
            "log_on_each_node", "include_num_input_tokens_seen", "include_tokens_per_second",
            "plot_loss", "skip_memory_metrics", "debug", "project_name"}},
          {saving,
           {"save_steps", "save_strategy", "save_total_limit", "save_only_model",
            "save_safetensors", "save_on_each_node", "load_best_model_at_end",
            "metric_for_best_model", "greater_is_better", "resume_from_checkpoint", "hub_strategy",
            "ignore_data_skip", "restore_callback_states_from_checkpoint"}},
          {evaluation,
           {"eval_steps",
            "eval_strategy",
            "evaluation_strategy",
            "per_device_eval_batch_size",
            "eval_accumulation_steps",
            "eval_delay",
            "eval_on_start",
            "eval_dataset",
            "do_eval",
            "do_predict",
            "val_size",
            "bf16_full_eval",
            "fp16_full_eval",
            "prediction_loss_only",
            "batch_eval_metrics",
            "include_for_metrics",
            "include_inputs_for_metrics",
            "eval_do_concat_batches",
            "eval_use_gather_object",
            "jit_mode_eval",
            "eval_packing",
            "label_names"}},
          {contents,
           {"dataset", "dataset_name", "dataset_text_field", "dataset_num_proc", "dataset_config",
            "dataset_train_split", "dataset_test_split", "dataset_splits", "dataset_mixer",
            "dataset_kwargs.*", "dataset_batch_size", "remove_unused_columns", "template",
            "chat_template", "preprocessing_num_workers", "data_seed", "length_column_name",
            "truncation_side", "packing_strategy"}},
          {amounts,
           {"seed",
            "learning_rate",
            "weight_decay",
            "warmup_ratio",
            "warmup_steps",
            "lr_scheduler_type",
            "lr_scheduler_kwargs.*",
            "max_grad_norm",
            "adam_beta1",
            "adam_beta2",
            "adam_epsilon",
            "num_train_epochs",
            "lora_alpha",
            "alpha",
            "loraplus_lr_ratio",
            "loraplus_lr_embedding",
            "use_rslora",
            "lora_task_type",
            "gradient_clipping",
            "beta",
            "label_smoothing",
            "average_tokens_across_devices"}},
          {starting,
           {"do_train", "ddp_timeout", "local_rank", "low_cpu_mem_usage", "full_determinism",
            "ddp_broadcast_buffers", "dataloader_drop_last"}},
          {elsewhere, {"pad_to_sequence_len", "past_index", "tpu_num_cores", "use_mps_device"}}};
}

/// Configuration of `accelerate launch`, and PEFT's adapter_config.json.
Table accelerate_keys() {
  return {
      {starting,
       {"compute_environment", "machine_rank", "main_training_function", "main_process_ip",
        "main_process_port", "rdzv_backend", "same_network", "enable_cpu_affinity", "gpu_ids",
        "deepspeed_config.deepspeed_multinode_launcher", "deepspeed_config.deepspeed_hostfile",
        "deepspeed_config.deepspeed_exclusion_filter",
        "deepspeed_config.deepspeed_inclusion_filter", "deepspeed_config.zero3_init_flag",
        "fsdp_config.fsdp_cpu_ram_efficient_loading", "fsdp_config.cpu_ram_efficient_loading",
        "fsdp_config.fsdp_sync_module_states", "fsdp_config.sync_module_states",
        "mpirun_config.*"}},
      {saving,
       {"deepspeed_config.zero3_save_16bit_model", "fsdp_config.fsdp_state_dict_type",
        "fsdp_config.state_dict_type", "fsdp_config.final_state_dict_type",
        "fsdp_config.fsdp_final_state_dict_type", "fsdp_final_state_dict_type",
        "fsdp_state_dict_type"}},
      {amounts, {"deepspeed_config.gradient_clipping"}},
      {elsewhere,
       {"downcast_bf16", "tpu_env", "tpu_name", "tpu_zone", "tpu_use_cluster", "tpu_use_sudo",
        "commands", "command_file", "ipex_config.*", "deepspeed_config.offload_optimizer_nvme_path",
        "deepspeed_config.offload_param_nvme_path"}}};
}

Table peft_keys() {
  return {{naming, {"auto_mapping", "peft_version"}},
          {amounts,
           {"alpha_pattern", "alpha_pattern.*", "bnb_4bit_quant_type", "bnb_4bit_compute_dtype",
            "bnb_4bit_quant_storage"}},
          {starting,
           {"task_type", "inference_mode", "fan_in_fan_out", "init_lora_weights", "loftq_config.*",
            "eva_config.*", "corda_config.*", "ensure_weight_tying"}},
          {elsewhere, {"megatron_config", "megatron_core", "layers_pattern"}}};
}

Table axolotl_keys() {
  return {{naming,
           {"model_type", "tokenizer_type", "tokenizer_config", "processor_type",
            "is_llama_derived_model", "is_falcon_derived_model", "is_mistral_derived_model",
            "base_model_config", "base_model_ignore_patterns", "dataset_prepared_path",
            "lora_model_dir", "wandb_project", "wandb_entity", "wandb_name", "wandb_run_id",
            "mlflow_experiment_name", "mlflow_tracking_uri", "comet_project_name"}},
          {reporting,
           {"wandb_watch", "wandb_log_model", "wandb_mode", "use_wandb", "use_mlflow", "use_comet",
            "use_tensorboard", "hf_mlflow_log_artifacts", "profiler_steps", "strict"}},
          {saving, {"saves_per_epoch", "save_first_step", "auto_resume_from_checkpoints"}},
          {evaluation,
           {"evals_per_epoch", "eval_table_size", "eval_max_new_tokens", "eval_sample_packing",
            "eval_batch_size", "val_set_size", "do_bench_eval", "do_causal_lm_eval",
            "early_stopping_patience", "loss_watchdog_threshold", "loss_watchdog_patience",
            "test_datasets"}},
          {contents,
           {"datasets", "pretraining_dataset", "special_tokens.*", "tokens", "train_on_inputs",
            "shuffle_merged_datasets", "dataset_processes", "chat_template_jinja",
            "default_system_message", "dataset_exact_deduplication", "skip_prepare_dataset",
            "added_tokens_overrides.*", "excess_length_strategy"}},
          {amounts,
           {"num_epochs", "lr_scheduler", "cosine_min_lr_ratio", "cosine_constant_lr_ratio",
            "eta_min", "lr_quadratic_warmup", "rl_beta", "dpo_beta", "orpo_alpha", "simpo_gamma",
            "cpo_alpha", "rpo_alpha", "peft_use_rslora", "lora_fan_in_fan_out", "embedding_lr",
            "embedding_lr_scale", "lr_groups"}},
          {elsewhere,
           {"gptq", "sample_packing_group_size", "sample_packing_bin_size",
            "sample_packing_eff_est", "total_num_tokens", "total_supervised_tokens"}}};
}

Table llamafactory_keys() {
  return {
      {naming, {"dataset_dir", "tokenized_path", "media_dir", "image_dir"}},
      {evaluation, {"compute_accuracy", "predict_with_generate", "eval_num_beams"}},
      {contents,
       {"max_samples", "overwrite_cache", "streaming", "mix_strategy", "interleave_probs",
        "enable_thinking", "data_shared_file_system", "mask_history", "train_on_prompt",
        "default_system", "tool_format", "buffer_size", "messages", "formatting", "role_tag",
        "content_tag", "user_tag", "assistant_tag", "system_tag"}},
      {amounts, {"pref_beta", "pref_ftx", "simpo_gamma", "dpo_label_smoothing", "rope_scaling"}},
      {starting, {"use_fast_tokenizer", "resize_vocab", "split_special_tokens"}},
      {elsewhere,
       {"quantization_method", "quantization_type", "quantization_device_map",
        "freeze_vision_tower", "freeze_multi_modal_projector", "image_max_pixels",
        "video_max_pixels", "image_min_pixels", "video_min_pixels", "infer_backend", "ray_run_name",
        "ray_storage_path"}}};
}

Table swift_keys() {
  return {{naming,
           {"model_author", "model_name", "model_type", "use_hf", "add_version", "task_type",
            "hub_token"}},
          {saving, {"create_checkpoint_symlink"}},
          {evaluation, {"val_dataset", "split_dataset_ratio"}},
          {contents,
           {"system", "load_from_cache_file", "streaming", "lazy_tokenize", "loss_scale",
            "truncation_strategy", "custom_dataset_info", "custom_register_path",
            "shuffle_buffer_size", "max_new_tokens", "temperature"}},
          {amounts, {"lora_lr_ratio", "rpo_alpha", "simpo_gamma", "cpo_alpha"}},
          {starting, {"check_model"}},
          {elsewhere, {"quant_method", "freeze_vit", "freeze_aligner"}}};
}

Table deepspeed_keys() {
  return {{amounts,
           {"gradient_clipping", "scheduler.*", "prescale_gradients", "gradient_predivide_factor",
            "seed", "optimizer.params.*", "fp16.*", "bf16.*", "bfloat16.*", "amp.*"}},
          {reporting,
           {"steps_per_print", "wall_clock_breakdown", "tensorboard.*", "wandb.*", "csv_monitor.*",
            "comet.*", "flops_profiler.*", "comms_logger.*", "comms_config.*", "dump_state",
            "monitor_config.*", "memory_breakdown", "zero_optimization.log_trace_cache_warnings"}},
          {saving,
           {"checkpoint.*", "nebula.*", "zero_optimization.elastic_checkpoint",
            "zero_optimization.stage3_gather_16bit_weights_on_model_save",
            "zero_optimization.gather_16bit_weights_on_model_save",
            "zero_optimization.stage3_gather_fp16_weights_on_model_save"}},
          {starting, {"zero_allow_untested_optimizer", "zero_force_ds_cpu_optimizer"}},
          {elsewhere,
           {"activation_checkpointing.profile", "elasticity.*", "autotuning.*", "data_efficiency.*",
            "curriculum_learning.*", "hybrid_engine.*", "compression_training.*",
            "progressive_layer_drop.*", "eigenvalue.*"}}};
}

Table torchtitan_keys() {
  return {{naming,
           {"job.*", "model.tokenizer_path", "model.hf_assets_path", "experimental.custom_import",
            "experimental.custom_args_module"}},
          {reporting,
           {"profiling.*", "metrics.*", "memory_estimation.*", "debug.*",
            "model.print_after_conversion", "training.gc_debug", "comm.*"}},
          {saving, {"checkpoint.*"}},
          {evaluation, {"validation.*"}},
          {contents, {"training.dataset", "training.dataset_path"}},
          {amounts,
           {"lr_scheduler.*", "training.max_norm", "training.seed", "training.warmup_steps",
            "training.gc_freq", "optimizer.lr", "optimizer.eps", "optimizer.beta1",
            "optimizer.beta2", "optimizer.weight_decay"}},
          {elsewhere, {"fault_tolerance.*"}}};
}

Table torchtune_keys() {
  return {{naming, {"output_dir", "device", "tokenizer.*"}},
          {reporting,
           {"log_every_n_steps", "log_level", "log_peak_memory_stats", "metric_logger.*",
            "profiler.*"}},
          {saving,
           {"checkpointer.*", "resume_from_checkpoint", "save_adapter_weights_only",
            "save_every_n_steps", "keep_last_n_checkpoints", "enable_async_checkpointing"}},
          {evaluation, {"dataset_val.*", "batch_size_val", "run_val_every_n_steps"}},
          {contents, {"dataset.*", "dataset", "shuffle", "epochs", "max_steps_per_epoch"}},
          {amounts,
           {"clip_grad_norm", "loss.*", "lr_scheduler.*", "model.lora_alpha", "optimizer.*", "seed",
            "optimizer_cfg.*"}},
          {elsewhere, {"tensor_parallel_plan.*"}}};
}

Table lightning_keys() {
  return {
      {naming, {"ckpt_path", "trainer.default_root_dir"}},
      {reporting,
       {"trainer.callbacks", "trainer.callbacks.*", "trainer.logger", "trainer.logger.*",
        "trainer.log_every_n_steps", "trainer.enable_progress_bar", "trainer.enable_model_summary",
        "trainer.profiler", "trainer.barebones"}},
      {saving, {"trainer.enable_checkpointing"}},
      {evaluation,
       {"trainer.limit_val_batches", "trainer.limit_test_batches", "trainer.limit_predict_batches",
        "trainer.val_check_interval", "trainer.check_val_every_n_epoch",
        "trainer.num_sanity_val_steps", "trainer.inference_mode"}},
      {contents,
       {"data.*", "trainer.limit_train_batches", "trainer.overfit_batches", "trainer.fast_dev_run",
        "trainer.max_epochs", "trainer.min_epochs", "trainer.max_time", "trainer.max_steps",
        "trainer.min_steps", "trainer.reload_dataloaders_every_n_epochs"}},
      {amounts,
       {"seed_everything", "optimizer.init_args.*", "lr_scheduler.*", "trainer.gradient_clip_val",
        "trainer.gradient_clip_algorithm"}},
      {starting, {"trainer.use_distributed_sampler"}},
      {elsewhere, {"model.*", "fit.*"}}};
}

Table maxtext_keys() {
  return {{naming,
           {"base_config", "run_name", "base_output_directory", "hf_path", "tokenizer_path",
            "tokenizer_type", "jax_cache_dir"}},
          {reporting,
           {"log_period", "profiler", "skip_first_n_steps_for_profiler", "profiler_steps",
            "enable_goodput_recording", "monitor_goodput", "gcs_metrics", "save_config_to_gcs",
            "use_vertex_tensorboard"}},
          {saving,
           {"enable_checkpointing", "async_checkpointing", "checkpoint_period",
            "load_parameters_path", "load_full_state_path"}},
          {evaluation, {"eval_dataset_name", "eval_interval", "eval_steps", "steps_per_eval"}},
          {contents,
           {"dataset_type", "dataset_path", "dataset_name", "hf_train_files", "reuse_example_batch",
            "enable_data_shuffling", "max_segments_per_seq", "packing"}},
          {amounts,
           {"learning_rate", "data_shuffle_seed", "init_weights_seed", "warmup_steps_fraction",
            "cosine_learning_rate_final_fraction", "gradient_clipping_threshold", "adam_b1",
            "adam_b2", "adam_eps", "adam_weight_decay"}},
          {starting, {"num_slices"}}};
}

Table nanotron_keys() {
  return {{naming, {"general.*", "tokenizer.*", "s3_upload.*"}},
          {reporting, {"logging.*", "profiler.*", "metrics_logging.*"}},
          {saving, {"checkpoints.*"}},
          {evaluation,
           {"lighteval.*", "tokens.limit_test_batches", "tokens.limit_val_batches",
            "tokens.val_check_interval"}},
          {contents, {"data_stages", "data.*"}},
          {amounts,
           {"optimizer.clip_grad", "optimizer.learning_rate_scheduler.*", "optimizer.weight_decay",
            "optimizer.weight_decay_exclude_named_params", "optimizer.optimizer_factory.*"}},
          {starting, {"model.init_method.*"}}};
}

Table nemo_keys() {
  return {{naming, {"name", "defaults", "hydra.*", "run.*", "model.target"}},
          {reporting,
           {"exp_manager.*", "model.nsys_profile.*", "trainer.logger", "trainer.log_every_n_steps",
            "trainer.enable_progress_bar", "trainer.enable_model_summary",
            "model.apex_transformer_log_level"}},
          {saving,
           {"restore_from_path", "model.resume_from_checkpoint", "trainer.enable_checkpointing"}},
          {evaluation,
           {"trainer.limit_val_batches", "trainer.limit_test_batches", "trainer.val_check_interval",
            "trainer.check_val_every_n_epoch", "trainer.num_sanity_val_steps"}},
          {contents,
           {"model.data.*", "model.tokenizer.*", "trainer.max_epochs", "trainer.max_time",
            "trainer.limit_train_batches"}},
          {amounts,
           {"model.optim.*", "model.seed", "model.native_amp_init_scale",
            "model.native_amp_growth_interval", "model.hysteresis",
            "model.do_layer_norm_weight_decay", "model.fp8_margin", "model.fp8_interval",
            "model.fp8_amax_history_len", "model.fp8_amax_compute_algo", "model.fp8_e4m3",
            "model.normalize_attention_scores", "model.gc_interval", "model.moe_aux_loss_coeff",
            "model.scale_positional_embedding", "trainer.gradient_clip_val"}},
          {starting,
           {"model.init_method_std", "model.use_scaled_init_method", "model.use_cpu_initialization",
            "model.onnx_safe", "trainer.accelerator", "trainer.use_distributed_sampler",
            "trainer.replace_sampler_ddp", "trainer.benchmark"}},
          {elsewhere,
           {"model.mcore_gpt", "model.pre_process", "model.post_process",
            "model.get_attention_mask_from_fusion"}}};
}

Table joined_tables(std::vector<Table> parts) {
  Table all;
  for (Table& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Table table_of(Framework framework) {
  switch (framework) {
    case Framework::transformers:
      return joined_tables({trainer_keys(), accelerate_keys(), peft_keys()});
    case Framework::axolotl:
      return joined_tables({trainer_keys(), accelerate_keys(), peft_keys(), axolotl_keys()});
    case Framework::llamafactory:
      return joined_tables({trainer_keys(), accelerate_keys(), peft_keys(), llamafactory_keys()});
    case Framework::swift:
      return joined_tables({trainer_keys(), accelerate_keys(), peft_keys(), swift_keys()});
    case Framework::deepspeed:
      return deepspeed_keys();
    case Framework::torchtitan:
      return torchtitan_keys();
    case Framework::torchtune:
      return torchtune_keys();
    case Framework::lightning:
      return lightning_keys();
    case Framework::maxtext:
      return maxtext_keys();
    case Framework::nanotron:
      return nanotron_keys();
    case Framework::nemo:
      return nemo_keys();
    case Framework::megatron:
    case Framework::bridge:
    case Framework::nemo2:
    case Framework::horovod:
      break;  // Megatron's arguments have classes of their own (megatron_arguments.hpp)
  }
  return {};
}

}  // namespace

const std::vector<NoEffectKeys>& no_effect_keys(Framework framework) {
  static const std::vector<Table> tables = [] {
    std::vector<Table> all;
    for (const auto& entry : EnumNames<Framework>::names) all.push_back(table_of(entry.first));
    return all;
  }();
  return tables[static_cast<std::size_t>(framework)];
}

}  // namespace foretrain
