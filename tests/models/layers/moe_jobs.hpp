// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/models/example_job.hpp"

namespace foretrain::test {

/// Mixtral 8x22B (arXiv 2401.04088) on 128 H100, TP2 PP8, experts over 8 ranks.
inline Job mixtral_job() {
  Job job = llama2_70b_job();
  LlmShape& model = job.model;
  model.name = "mixtral-8x22b";
  model.layers = 56;
  model.hidden = 6144;
  model.heads = 48;
  model.kv_heads = 8;
  model.ffn_hidden = 16384;
  model.vocabulary = 32768;
  model.moe = MoeShape{8, 2, 16384};
  job.cluster.hosts = 16;
  job.training.global_batch = 256;
  job.training.moe_imbalance = 1.0;
  job.parallel.tensor = 2;
  job.parallel.pipeline = 8;
  job.parallel.data = 8;
  job.parallel.expert = 8;
  job.parallel.expert_tensor = 1;
  return job;
}

/// DeepSeek-V3 (arXiv 2412.19437 section 4.2) on 2048 H100, PP16 EP64, no tensor parallelism.
inline Job deepseek_v3_job() {
  Job job = llama2_70b_job();
  LlmShape& model = job.model;
  model.name = "deepseek-v3";
  model.layers = 61;
  model.hidden = 7168;
  model.heads = model.kv_heads = 128;
  model.head_dim = 128;
  model.ffn_hidden = 18432;
  model.vocabulary = 129280;
  model.mla = MlaShape{1536, 512, 128, 64, 128};
  model.moe = MoeShape{256, 8, 2048, 2048};
  model.moe->first_dense_layers = 3;
  job.cluster.hosts = 256;
  job.training.global_batch = 15360;
  job.training.moe_imbalance = 1.0;
  job.parallel.tensor = 1;
  job.parallel.sequence = false;
  job.parallel.pipeline = 16;
  job.parallel.data = 128;
  job.parallel.expert = 64;
  return job;
}

}  // namespace foretrain::test
