// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/job.hpp"
#include "models/memory/memory.hpp"

namespace foretrain::testing {

inline StageAccount account(const Job& job, int stage = 0) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  return account_stage(job, layout, activation_model(job), stage);
}

inline double row(const StageAccount& stage, MemoryPhase phase, MemoryItem item) {
  return stage.at(phase)[item];
}

/// Rules of Megatron-Core with Transformer Engine (calibration/profiles/stack/megatron-core.yaml).
inline MemoryRules megatron_core_rules() {
  MemoryRules rules;
  rules.dummy_gradients = true;
  rules.flash_output_copy = true;
  rules.boundary_tensors = 2.0;
  rules.boundary_tensors_per_chunk = 1.8;
  rules.te_workspace_ampere = 4.0 * MiB;
  rules.te_workspace_hopper = 32.0 * MiB;
  rules.grouped_gemm_streams = 4;
  rules.expert_imbalance = 0.3;
  rules.gather_buffer = true;
  rules.context_buffers = 3.0;
  rules.fp8_copy_bytes = 2.0;
  rules.fp8_saves_inputs = true;
  return rules;
}

/// Rules of Megatron-Core without Transformer Engine.
inline MemoryRules megatron_local_rules() {
  MemoryRules rules;
  rules.score_buffer = true;
  rules.boundary_tensors = 2.0;
  rules.boundary_tensors_per_chunk = 1.8;
  return rules;
}

/// GPT of Megatron-Core's functional tests: 12 layers, hidden 512, biases, tied embeddings.
inline Job megatron_ci_job() {
  Job job;
  LlmShape& model = job.model;
  model.layers = 12;
  model.hidden = 512;
  model.heads = 8;
  model.kv_heads = 8;
  model.head_dim = 64;
  model.ffn_hidden = 2048;
  model.vocabulary = 50257;
  model.positions = 1024;
  model.position = PositionKind::learned;
  model.norm = NormKind::layernorm;
  model.norm_bias = model.qkv_bias = model.attention_output_bias = model.mlp_bias = true;
  model.tied_embeddings = true;
  job.training.sequence = 1024;
  job.training.micro_batch = 4;
  job.training.global_batch = 32;
  job.training.hidden_dropout = job.training.attention_dropout = 0.1;
  job.cluster.host.device.architecture = Architecture::ampere;
  job.cluster.host.device.memory = 80.0 * GiB;
  job.cluster.host.device.usable_memory = 79.15 * GiB;
  job.cluster.host.gpus = 8;
  job.cluster.hosts = 1;
  job.parallel.data = 8;
  job.memory.attention = AttentionKind::unfused;
  job.memory.deterministic = true;
  job.memory.attention_mask = true;
  job.memory.fused_gradient_accumulation = false;
  job.stack.memory = megatron_core_rules();
  return job;
}

/// Llama-3 70B cut to 12 layers (SimuMax, B200): tensor 1, pipeline 2, data 4.
inline Job llama3_70b_cut() {
  Job job;
  LlmShape& model = job.model;
  model.layers = 12;
  model.hidden = 8192;
  model.heads = 64;
  model.kv_heads = 8;
  model.head_dim = 128;
  model.ffn_hidden = 28672;
  model.vocabulary = 128256;
  model.gated_mlp = true;
  job.training.sequence = 4096;
  job.training.micro_batch = 1;
  job.training.global_batch = 32;
  job.cluster.host.device.architecture = Architecture::blackwell;
  job.cluster.host.device.memory = 192.0 * GB;
  job.cluster.host.device.usable_memory = 178.0 * GiB;
  job.parallel.pipeline = 2;
  job.parallel.data = 4;
  job.parallel.zero = 1;
  job.stack.memory = megatron_core_rules();
  return job;
}

}  // namespace foretrain::testing
