// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/internal/core_fields.hpp"

#include <algorithm>

namespace foretrain::core {

using Names = std::vector<std::string_view>;

const std::vector<Field>& renamed_fields() {
  static const std::vector<Field> fields{
      {"virtual_pipeline_model_parallel_size", "num-virtual-stages-per-pipeline-rank"},
      {"num_moe_experts", "num-experts"},
      {"num_layers_in_first_pipeline_stage", "decoder-first-pipeline-num-layers"},
      {"num_layers_in_last_pipeline_stage", "decoder-last-pipeline-num-layers"},
      {"microbatch_group_size_per_vp_stage", "microbatch-group-size-per-virtual-pipeline-stage"},
      {"layernorm_epsilon", "norm-epsilon"},
      {"rope_scaling", "use-rope-scaling"},
      {"rope_scaling_factor", "rope-scaling-factor"},
      {"rampup_batch_size", "rampup-batch-size"}};
  return fields;
}

const std::vector<Field>& inverse_fields() {
  static const std::vector<Field> fields{
      {"gradient_accumulation_fusion", "no-gradient-accumulation-fusion"},
      {"masked_softmax_fusion", "no-masked-softmax-fusion"},
      {"bias_activation_fusion", "no-bias-swiglu-fusion"},
      {"bias_swiglu_fusion", "no-bias-swiglu-fusion"},
      {"bias_dropout_fusion", "no-bias-dropout-fusion"},
      {"apply_rope_fusion", "no-rope-fusion"},
      {"persist_layer_norm", "no-persist-layer-norm"},
      {"scatter_gather_tensors_in_pipeline", "no-scatter-gather-tensors-in-pipeline"},
      {"share_embeddings_and_output_weights", "untie-embeddings-and-output-weights"},
      {"add_bias_linear", "disable-bias-linear"}};
  return fields;
}

const Names& conditional_arguments() {
  static const Names arguments{"activation-offload-fraction",
                               "data-parallel-sharding-strategy",
                               "fsdp-double-buffer",
                               "megatron-fsdp-grad-comm-dtype",
                               "megatron-fsdp-main-grads-dtype",
                               "megatron-fsdp-main-params-dtype",
                               "moe-pad-expert-input-to-capacity",
                               "optimizer-offload-fraction",
                               "outer-dp-sharding-strategy",
                               "overlap-moe-expert-parallel-comm"};
  return arguments;
}

const Names& shape_fields() {
  static const Names fields{"num_layers",
                            "hidden_size",
                            "ffn_hidden_size",
                            "num_attention_heads",
                            "num_query_groups",
                            "kv_channels",
                            "vocab_size",
                            "num_moe_experts",
                            "moe_ffn_hidden_size",
                            "moe_router_topk",
                            "moe_shared_expert_intermediate_size",
                            "moe_shared_expert_gate",
                            "moe_layer_freq",
                            "mtp_num_layers",
                            "qk_layernorm",
                            "qk_l2_norm",
                            "normalization",
                            "gated_linear_unit",
                            "activation_func",
                            "activation_func_clamp_value",
                            "position_embedding_type",
                            "share_embeddings_and_output_weights",
                            "add_bias_linear",
                            "add_qkv_bias",
                            "multi_latent_attention",
                            "q_lora_rank",
                            "kv_lora_rank",
                            "qk_head_dim",
                            "qk_pos_emb_head_dim",
                            "v_head_dim",
                            "window_size",
                            "window_attn_skip_freq",
                            "softmax_type",
                            "hybrid_override_pattern",
                            "hybrid_layer_pattern",
                            "experimental_attention_variant",
                            "linear_attention_freq",
                            "attention_output_gate"};
  return fields;
}

const Names& harmless_model_fields() {
  static const Names fields{
      "_target_", "autocast_dtype", "enable_autocast", "params_dtype", "pipeline_dtype",
      "apply_residual_connection_post_layernorm", "batch_invariant_mode", "batch_p2p_sync",
      "clone_scatter_output_in_embedding", "config_logger_dir", "embedding_init_method",
      "embedding_init_method_std", "init_method", "init_method_std", "output_layer_init_method",
      "init_model_with_meta_device", "finalize_model_grads_func", "flash_decode",
      "fp4_quantizer_factory", "fp8_quantizer_factory", "fp8_wgrad", "generation_config",
      "grad_scale_func", "grad_sync_func", "no_sync_func", "param_sync_func",
      "hetereogenous_dist_checkpoint", "hf_model_id", "is_hybrid_model",
      "kitchen_attention_backend", "layernorm_zero_centered_gamma", "mlp_chunks_for_prefill",
      "nccl_all_reduce_for_prefill", "min_offloaded_tensor_size", "moe_token_dropping",
      "moe_pad_experts_for_cuda_graph_inference", "moe_enable_routing_replay", "mtp_enabled",
      "mtp_standalone", "mup_attn_scale_power", "mup_base_head_dim", "mup_base_hidden_size",
      "mup_embedding_mult", "mup_output_mult", "mup_width_mult", "parallel_output",
      "restore_modelopt_state", "scale_factor", "low_freq_factor", "high_freq_factor",
      "old_context_len", "scatter_embedding_sequence_parallel", "seq_len_interpolation_factor",
      "should_pad_vocab", "softmax_scale", "test_mode", "timers", "tp_only_amax_red",
      "transformer_layer_spec", "mamba_stack_spec", "use_arbitrary_attention_mask",
      "use_mamba_mem_eff_path", "use_te_rng_tracker", "variable_seq_lengths", "yarn_beta_fast",
      "yarn_beta_slow", "yarn_correction_range_round_to_int", "yarn_mscale", "yarn_mscale_all_dim",
      "yarn_original_max_position_embeddings", "yarn_rotary_scaling_factor",
      // of NeMo's MegatronStrategy
      "gradient_as_bucket_view", "ckpt_async_save", "ckpt_parallel_load", "ckpt_parallel_save",
      "ckpt_include_optimizer", "ckpt_assume_constant_structure", "ckpt_load_strictness",
      "save_ckpt_format", "find_unused_parameters", "lazy_init", "replace_progress_bar",
      "progress_interval", "forward_step_fn", "data_step_fn"};
  return fields;
}

const Names& approximate_model_fields() {
  static const Names fields{"batch_p2p_comm",
                            "deallocate_pipeline_outputs",
                            "cuda_graph_retain_backward_graph",
                            "cuda_graph_use_single_mempool",
                            "cpu_offloading_double_buffering",
                            "cpu_offloading_retain_pinned_cpu_buffers",
                            "disable_parameter_transpose_cache",
                            "ep_overlap_early_attn_memory_release",
                            "fused_single_qkv_rope",
                            "fused_residual_rmsnorm",
                            "num_microbatches_with_partial_activation_checkpoints",
                            "symmetric_ar_type",
                            "tp_comm_atomic_ag",
                            "tp_comm_atomic_rs",
                            "tp_comm_bootstrap_backend",
                            "tp_comm_bulk_dgrad",
                            "tp_comm_bulk_wgrad",
                            "tp_comm_overlap_ag",
                            "tp_comm_overlap_cfg",
                            "tp_comm_overlap_disable_fc1",
                            "tp_comm_overlap_disable_qkv",
                            "tp_comm_overlap_rs",
                            "tp_comm_overlap_rs_dgrad",
                            "tp_comm_split_ag",
                            "tp_comm_split_rs",
                            "use_ring_exchange_p2p",
                            "use_te_activation_func",
                            "use_transformer_engine_full_layer_spec"};
  return fields;
}

const Names& harmless_optimizer_fields() {
  static const Names fields{"_target_",
                            "bf16",
                            "fp16",
                            "lr",
                            "config_logger_dir",
                            "decoupled_lr",
                            "decoupled_min_lr",
                            "lion_beta1",
                            "lion_beta2",
                            "log_num_zeros_in_grad",
                            "params_dtype",
                            "sgd_momentum",
                            "store_param_remainders",
                            "timers",
                            "barrier_with_L1_time",
                            "fp8_recipe",
                            "overlap_param_gather",
                            "hysteresis"};
  return fields;
}

const Names& harmless_ddp_fields() {
  static const Names fields{"_target_",
                            "average_in_collective",
                            "check_for_large_grads",
                            "check_for_nan_in_grad",
                            "delay_wgrad_compute",
                            "disable_symmetric_registration",
                            "fp8_param_gather",
                            "fsdp_manual_registration",
                            "gradient_reduce_div_fusion",

                            "param_name_patterns_for_fp32_local_accumulation",
                            "reuse_grad_buf_for_mxfp8_param_ag"};
  return fields;
}

const Names& approximate_ddp_fields() {
  static const Names fields{"align_param_gather",
                            "keep_fp8_transpose_cache",
                            "bucket_size",
                            "fsdp_all_gather_in_start_param_sync",
                            "fsdp_db_use_persist_buf_on_alloc_fail",
                            "nccl_ub",
                            "pad_buckets_for_high_nccl_busbw",
                            "reduce_scatter_with_fp32_accumulation",
                            "suggested_communication_unit_size"};
  return fields;
}

const Names& harmless_overlap_fields() {
  static const Names fields{"_target_",
                            "tp_comm_overlap_cfg",
                            "tp_comm_bootstrap_backend",
                            "batch_p2p_comm",
                            "align_param_gather",
                            "bucket_size",
                            "overlap_param_gather_with_optimizer_step",
                            "data_parallel_size",
                            "user_comm_overlap_cfg"};
  return fields;
}

const Names& harmless_precision_fields() {
  static const Names fields{"_target_",
                            "autocast_dtype",
                            "autocast_enabled",
                            "fp32",
                            "fp8_amax_compute_algo",
                            "fp8_amax_history_len",
                            "fp8_interval",
                            "fp8_margin",
                            "fp8_wgrad",
                            "hysteresis",
                            "initial_loss_scale",
                            "loss_scale",
                            "loss_scale_window",
                            "min_loss_scale",
                            "params_dtype",
                            "pipeline_dtype",
                            "precision",
                            "reuse_grad_buf_for_mxfp8_param_ag"};
  return fields;
}

const std::vector<NamedPrecision>& named_precisions() {
  static const std::vector<NamedPrecision> named{
      {.name = "mixed"},
      {.name = "with_fp8_delayed_scaling_mixed", .fp8_recipe = "delayed", .parameters = true},
      {.name = "with_fp8_mixed", .fp8_recipe = "delayed", .parameters = true},
      {.name = "with_fp8_current_scaling_mixed",
       .fp8_recipe = "tensorwise",
       .bf16_ends = 1,
       .parameters = true},
      {.name = "with_fp8_subchannel_scaling_mixed", .fp8_recipe = "blockwise"},
      {.name = "with_mxfp8_mixed", .fp8_recipe = "mxfp8", .parameters = true},
      {.name = "with_nvfp4_mixed", .fp4_recipe = "nvfp4"},
      {.name = "nemotron_h_bf16_with_fp8_current_scaling_mixed",
       .fp8_recipe = "tensorwise",
       .bf16_ends = 2,
       .parameters = true},
      {.name = "nanov2_bf16_with_fp8_current_scaling_mixed",
       .fp8_recipe = "blockwise",
       .bf16_ends = 2,
       .parameters = true}};
  return named;
}

std::string_view argument_in(const std::vector<Field>& fields, std::string_view name) {
  const auto found =
      std::ranges::find_if(fields, [&](const Field& field) { return field.name == name; });
  return found == fields.end() ? std::string_view() : found->argument;
}

}  // namespace foretrain::core
