// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "calibration/internal/run_job_builder.hpp"
#include "calibration/internal/words.hpp"
#include "scenarios/imports/nanotron_import.hpp"

namespace foretrain {
bool RunJobBuilder::set_zero() {
  Parallel& parallel = job_.parallel;
  const std::string& zero = record_.zero;
  parallel.zero_group = record_.zero_group.value_or(0);
  if (contains(zero, "fsdp")) {
    const bool keeps_weights = contains(record_.notes, "reshard_after_forward never") ||
                               contains(zero, "no_reshard") || contains(zero, "SHARD_GRAD_OP");
    parallel.zero = keeps_weights ? 2 : 3;
  } else if (zero == "hsdp") {
    parallel.zero = 3;
    parallel.zero_group = record_.gpus_per_node.value_or(8);
  } else if (zero == "ddp") {
    parallel.zero = 0;
  } else if (zero.empty()) {
    parallel.zero = record_.distributed_optimizer.value_or(false) ? 1 : 0;
    assume(parallel.zero == 0 ? std::string(unsharded_optimizer) : "ZeRO stage 1");
  } else {
    const auto digit = zero.find_first_of("0123");
    if (digit == std::string::npos) return refuse("ZeRO stage '" + zero + "' is not understood");
    parallel.zero = zero[digit] - '0';
  }
  if (parallel.zero == 0 || parallel.zero_group >= parallel.data) parallel.zero_group = 0;
  return true;
}

bool RunJobBuilder::set_schedule() {
  Parallel& parallel = job_.parallel;
  const std::string schedule = lower(record_.schedule);
  const int slots = job_.model.layers + 2;
  if (contains(schedule, "sync twice"))
    parallel.vocabulary = VocabularyKind::split_two_syncs;
  else if (contains(schedule, "vocabulary parallel"))
    parallel.vocabulary = VocabularyKind::split;
  else if (contains(schedule, "interlaced"))
    parallel.vocabulary = VocabularyKind::interlaced;
  if (contains(schedule, "dualpipev") || contains(schedule, "multi"))
    return refuse("schedule " + record_.schedule + " is not modelled");
  parallel.schedule = ScheduleKind::one_f_one_b;
  if (contains(schedule, "zb-v")) {
    parallel.schedule = ScheduleKind::zb_v;
    parallel.virtual_stages = 2;
  } else if (contains(schedule, "dualpipe")) {
    parallel.schedule = ScheduleKind::dualpipe;
  } else if (contains(schedule, "zb-2p")) {
    parallel.schedule = ScheduleKind::zb_2p;
  } else if (contains(schedule, "zb-1p")) {
    parallel.schedule = ScheduleKind::zb_h1;
  } else if (contains(schedule, "1f1b-i") || contains(schedule, "interleaved")) {
    parallel.schedule = ScheduleKind::interleaved;
    if (!record_.virtual_stages) {
      parallel.virtual_stages = std::max(1, slots / parallel.pipeline);
      assume("one layer per virtual chunk");
    }
  }
  if (parallel.pipeline == 1) {
    parallel.virtual_stages = 1;
    parallel.schedule = ScheduleKind::one_f_one_b;
  }
  if (parallel.virtual_stages > 1 && parallel.schedule == ScheduleKind::one_f_one_b)
    parallel.schedule = ScheduleKind::interleaved;
  return true;
}

void RunJobBuilder::set_stage_layers() {
  Parallel& parallel = job_.parallel;
  if (record_.family() == "nanotron" && parallel.pipeline > 1)
    parallel.stage_layers = nanotron_stage_layers(job_.model, parallel.pipeline);
  if (!record_.layers_last_stage || parallel.pipeline == 1) return;
  const int rest = job_.model.layers - *record_.layers_last_stage;
  const int others = parallel.pipeline - 1;
  parallel.stage_layers.assign(static_cast<std::size_t>(parallel.pipeline), rest / others);
  // The first stage has the embedding; a rest goes to the stages that hold fewest micro-batches.
  for (int extra = 0; extra < rest % others; ++extra)
    ++parallel.stage_layers[static_cast<std::size_t>(others - 1 - extra)];
  parallel.stage_layers.back() = *record_.layers_last_stage;
}

bool RunJobBuilder::set_parallel() {
  Parallel& parallel = job_.parallel;
  if (!record_.tensor || !record_.pipeline || !record_.data)
    return refuse("the layout over GPUs is not stated");
  parallel.tensor = *record_.tensor;
  parallel.pipeline = *record_.pipeline;
  parallel.virtual_stages = record_.virtual_stages.value_or(1);
  if (!record_.virtual_stages && source_.layer_chunks && parallel.pipeline > 1 &&
      job_.model.layers % parallel.pipeline == 0) {
    parallel.virtual_stages = job_.model.layers / parallel.pipeline;
    assume("one layer per virtual chunk");
  }
  parallel.context = record_.context.value_or(1);
  parallel.data = *record_.data;
  parallel.expert = record_.expert.value_or(1);
  const bool like_layers = parallel.expert <= 1 || contains(record_.notes, "etp follows tp");
  parallel.expert_tensor = record_.expert_tensor.value_or(like_layers ? 0 : 1);
  parallel.sequence = record_.sequence_parallel.value_or(source_.sequence) && parallel.tensor > 1;
  if (!record_.sequence_parallel && parallel.sequence) assume("sequence parallelism");
  const int ranks = parallel.tensor * parallel.context * parallel.data;
  if (ranks % (parallel.expert * parallel.expert_tensor_size()) != 0)
    return refuse("expert parallelism does not divide the ranks");
  set_stage_layers();
  return set_schedule() && set_zero();
}

void RunJobBuilder::set_precision() {
  Training& training = job_.training;
  const std::string precision = lower(record_.precision);
  training.precision = contains(precision, "fp8")    ? Precision::fp8
                       : contains(precision, "bf16") ? Precision::bf16
                       : contains(precision, "fp16") ? Precision::fp16
                       : contains(precision, "fp32") ? Precision::fp32
                                                     : Precision::bf16;
  if (contains(precision, "rowwise")) training.fp8_scaling = Fp8Scaling::row;
  if (record_.precision.empty()) assume("bf16");
  if (contains(precision, "not stated")) training.precision = Precision::fp16;
}

bool RunJobBuilder::set_training() {
  if (contains(record_.recompute, "compiler") || contains(record_.recompute, "every other"))
    return refuse("recomputation '" + record_.recompute + "' is not modelled");
  Training& training = job_.training;
  if (!record_.micro_batch) return refuse("the micro-batch is not stated");
  training.sequence = *record_.sequence;
  training.micro_batch = *record_.micro_batch;
  const int replica = training.micro_batch * job_.parallel.data;
  training.global_batch = record_.global_batch.value_or(replica);
  if (!record_.global_batch) assume("one micro-batch per step");
  if (training.global_batch < replica || training.global_batch % replica != 0)
    return refuse("the global batch is not a multiple of micro-batch and replicas");
  set_precision();
  for (const char* balanced :
       {"forced load balance", "forced balanced", "fake balanced", "capacity factor 1"})
    if (contains(record_.notes, balanced)) training.moe_imbalance = 1.0;
  // Benchmark scripts of the model zoo (best_practice/Qwen3/run_235b.sh) pass
  // --moe-router-force-load-balancing.
  const std::string family = record_.family();
  const bool zoo = family == "mcorezoo" || family == "mcore";
  if (zoo && record_.moe && !contains(record_.notes, "dropless")) {
    training.moe_imbalance = 1.0;
    assume("forced balanced routing, as the model zoo's scripts set it");
  }
  training.grouped_experts = !contains(record_.notes, "no grouped GEMM");
  return true;
}

void RunJobBuilder::set_memory() {
  MemoryOptions& memory = job_.memory;
  const std::string kernel = lower(record_.attention_kernel);
  const std::string family = record_.family();
  const bool named_unfused = kernel == "torch" || kernel == "fused";
  memory.attention =
      source_.unfused || named_unfused ? AttentionKind::unfused : AttentionKind::flash;
  memory.fused_norm = contains(kernel, "rms kernel");
  // Zero Bubble splits off weight gradients with its own code, without Transformer Engine's caches.
  if (family == "zb" || family == "zerobubble") memory.fused_gradient_accumulation = false;
  if (source_.unfused) job_.training.attention_dropout = job_.training.hidden_dropout = 0.1;
  memory.fused_loss = contains(record_.notes, "chunked cross entropy");
}

/// Parts that a source recomputes one by one. JAX names what is kept instead: the outputs of all
/// matrix multiplications ("dot"), or those of the projections around attention only.
void RunJobBuilder::set_partial_recompute(const std::string& words) {
  LayerModules modules;
  const bool keeps_products = contains(words, "save_dot_only");
  const bool keeps_projections = contains(words, "save_qkv_out_proj");
  modules.core_attention = keeps_products || keeps_projections;
  modules.mlp = keeps_projections || contains(words, "(mlp");
  modules.attention_norm = modules.mlp_norm = modules.core_attention || contains(words, "norm");
  modules.activation = keeps_products || contains(words, " act");
  modules.moe = contains(words, "moe");
  modules.shared_experts = contains(words, "shared_expert");
  job_.memory.recompute.kind = RecomputeKind::selective;
  job_.memory.recompute.modules = modules;
}

void RunJobBuilder::set_recompute() {
  Recompute& plan = job_.memory.recompute;
  const std::string words = lower(record_.recompute);
  if (contains(words, "full")) plan.kind = RecomputeKind::full;
  if (contains(words, "selective")) plan.kind = RecomputeKind::selective;
  if (contains(words, "(op)")) plan.every_second_matmul = true;
  if (contains(words, "partial (")) set_partial_recompute(words);
  if (!words.empty()) return;
  if (record_.family() == "tt" && !record_.compiled.value_or(false)) {
    plan.kind = RecomputeKind::selective;
    plan.every_second_matmul = true;
    assume("torchtitan's default recomputation, selective by operator");
  } else if (contains(record_.id, "-maxtext-")) {
    // Nothing kept does not explain the times, all products kept do not fit in memory.
    set_partial_recompute("save_qkv_out_proj");
    assume("MaxText keeps the outputs of the projections around attention");
  } else {
    assume(std::string(no_recomputation));
  }
}

/// Zero-bubble schedules do, in the code of their authors; Megatron-LM's 1F1B and interleaving wait
/// for every exchange with a neighbour.
bool sends_beside_passes(ScheduleKind schedule) {
  return schedule == ScheduleKind::zb_h1 || schedule == ScheduleKind::zb_2p ||
         schedule == ScheduleKind::zb_v;
}

/// How tokens reach their experts, where the records or their sources' scripts say so: Megatron's
/// own all-to-all for Grok (records) and for Qwen3-235B of Megatron-Bridge on H100, beside other
/// kernels (scripts/performance, qwen3 workload base configs, moe_a2a_overlap).
void RunJobBuilder::set_experts(Communication& communication) {
  if (!job_.model.moe) return;
  const std::string words = lower(record_.notes);
  const std::string family = record_.family();
  const bool large_bridge = family == "mbridge" && job_.model.hidden >= 4096;
  communication.overlap.experts =
      contains(words, "ep overlap") || contains(words, "deepep-1f1b") || large_bridge;
  if (large_bridge || contains(words, "alltoall dispatcher") || contains(words, "dispatcher a2a"))
    communication.expert_dispatch = ExpertDispatch::every_copy;
}

void RunJobBuilder::set_communication() {
  Communication& communication = job_.communication;
  Overlap& overlap = communication.overlap;
  overlap = source_.overlap;
  if (record_.overlap_gradients) {
    overlap.gradients = *record_.overlap_gradients;
    overlap.parameters = overlap.parameters && overlap.gradients;
  }
  overlap.tensor = record_.overlap_tensor.value_or(overlap.tensor) && job_.parallel.sequence;
  overlap.pipeline = record_.overlap_pipeline.value_or(overlap.pipeline ||
                                                       sends_beside_passes(job_.parallel.schedule));
  set_experts(communication);
  const bool half = job_.training.precision == Precision::fp16;
  communication.gradient_dtype = half                     ? Precision::fp16
                                 : source_.half_gradients ? Precision::bf16
                                                          : Precision::fp32;
}

}  // namespace foretrain
