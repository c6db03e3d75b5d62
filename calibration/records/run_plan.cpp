// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "calibration/records/internal/record_terms.hpp"
#include "calibration/records/internal/run_job_builder.hpp"
#include "calibration/records/internal/words.hpp"
#include "models/grid/process_grid.hpp"
#include "models/inputs/recipe.hpp"
#include "models/layers/eight_bit_weights.hpp"
#include "models/schedules/registry.hpp"
#include "scenarios/imports/frameworks/importers.hpp"

namespace foretrain {
bool RunJobBuilder::set_zero() {
  Parallel& parallel = job_.parallel;
  const std::string& zero = record_.zero;
  parallel.zero_group = record_.zero_group.value_or(0);
  for (const char* beyond : {"offload", "DiLoCo"})
    if (has_part(zero, beyond)) return refuse("sharding " + in_quotes(zero) + " is not modelled");
  if (has_part(zero, "fsdp")) {
    const bool keeps_weights = !options_.reshards.value_or(true) || has_part(zero, "no_reshard") ||
                               has_part(zero, "SHARD_GRAD_OP");
    parallel.zero = keeps_weights ? 2 : 3;
  } else if (zero == "hsdp") {
    parallel.zero = 3;
    // Over the GPUs of a host, which hold all context ranks of their replicas.
    parallel.zero_group = std::max(1, record_.gpus_per_node.value_or(8) / parallel.context);
  } else if (zero == "ddp") {
    parallel.zero = 0;
  } else if (zero.empty()) {
    parallel.zero = record_.distributed_optimizer.value_or(false) ? 1 : 0;
    zero_stated_ = record_.distributed_optimizer.has_value();
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
  if (has_part(schedule, "sync twice"))
    parallel.vocabulary = VocabularyKind::split_two_syncs;
  else if (has_part(schedule, "vocabulary parallel"))
    parallel.vocabulary = VocabularyKind::split;
  else if (has_part(schedule, "interlaced"))
    parallel.vocabulary = VocabularyKind::interlaced;
  if (has_part(schedule, "dualpipev") || has_part(schedule, "multi"))
    return refuse("schedule " + record_.schedule + " is not modelled");
  const auto called = schedule_called(schedule);
  if (!called && !schedule.empty())
    return refuse("schedule " + record_.schedule + " is not modelled");
  parallel.schedule = called.value_or(default_schedule);
  const ScheduleTraits& traits = traits_of(parallel.schedule);
  if (traits.placement == Placement::folded) parallel.virtual_stages = traits.chunks;
  if (traits.chunks == chunks_chosen && !record_.virtual_stages) {
    parallel.virtual_stages = std::max(1, slots / parallel.pipeline);
    assume("one layer per virtual chunk");
  }
  if (parallel.pipeline == 1) {
    parallel.virtual_stages = 1;
    parallel.schedule = default_schedule;
  }
  if (parallel.virtual_stages > 1)
    parallel.schedule = traits_of(parallel.schedule).in_chunks.value_or(parallel.schedule);
  return true;
}

void RunJobBuilder::set_stage_layers() {
  Parallel& parallel = job_.parallel;
  if (source_.layers_by_work && parallel.pipeline > 1)
    parallel.stage_layers = nanotron_stage_layers(job_.model, parallel.pipeline);
  const auto chunks = static_cast<std::size_t>(parallel.pipeline) *
                      static_cast<std::size_t>(parallel.virtual_stages);
  if (parallel.pipeline > 1 && options_.chunk_layers.size() == chunks)
    parallel.stage_layers = options_.chunk_layers;
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
    return refuse("the layout over GPUs is not stated: parallel.tp, pp and dp");
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
  const bool like_layers = parallel.expert <= 1 || options_.expert_tensor_follows;
  parallel.expert_tensor = record_.expert_tensor.value_or(like_layers ? 0 : 1);
  parallel.sequence = record_.sequence_parallel.value_or(source_.sequence) && parallel.tensor > 1;
  if (!record_.sequence_parallel && parallel.sequence) assume("sequence parallelism");
  const int ranks = ProcessGrid{parallel}.stage_ranks();
  if (ranks % (parallel.expert * parallel.expert_tensor_size()) != 0)
    return refuse("expert parallelism does not divide the ranks");
  set_stage_layers();
  return set_schedule() && set_zero();
}

bool RunJobBuilder::set_precision() {
  const auto device = catalog_.devices.find(device_of_record(record_.gpu, catalog_));
  const bool eight_bits =
      device != catalog_.devices.end() && device->second.peak_of(Precision::fp8) > FlopPerSecond{};
  RecordPrecision told = record_precision(record_.precision, eight_bits);
  if (!told.why.empty()) return refuse(std::move(told.why));
  if (!add_scaling(options_.fp8_scaling, told))
    return refuse("fp8 scaling " + in_quotes(options_.fp8_scaling) + " is not modelled");
  job_.training.precision = told.precision;
  job_.training.fp8_scaling = told.scaling;
  if (told.pure) job_.training.master_weights = MasterWeights::none;
  for (std::string& assumption : told.assumptions) assume(std::move(assumption));
  return true;
}

bool RunJobBuilder::set_training() {
  Training& training = job_.training;
  if (!record_.micro_batch && !source_.micro_batch)
    return refuse("the micro-batch is not stated: micro_batch");
  if (!record_.micro_batch) assume("the micro-batch of the source's other runs");
  training.sequence = *record_.sequence;
  training.micro_batch = record_.micro_batch ? *record_.micro_batch : *source_.micro_batch;
  const int replica = training.micro_batch * job_.parallel.data;
  training.global_batch = record_.global_batch.value_or(replica);
  if (!record_.global_batch) assume("one micro-batch per step");
  if (training.global_batch < replica || training.global_batch % replica != 0)
    return refuse("the global batch is not a multiple of micro-batch and replicas");
  if (!set_precision()) return false;
  training.cuda_graphs = options_.graphs;
  if (!record_.cuda_graphs && !options_.graphs.any() && source_.cuda_graphs)
    training.cuda_graphs = *source_.cuda_graphs;
  training.fp8_attention =
      options_.eight_bit_attention.value_or(false) && quantised(training.precision);
  set_experts();
  set_optimizer_state();
  set_fine_tuning();
  return true;
}

void RunJobBuilder::set_experts() {
  Training& training = job_.training;
  if (options_.balanced_experts.value_or(false)) training.moe_imbalance = 1.0;
  training.moe_capacity = options_.expert_capacity.value_or(0.0);
  const bool silent = !options_.balanced_experts && !has_part(record_.notes, "dropless");
  const std::string& balanced =
      source_.routing.empty() ? source_.balanced_experts : source_.routing;
  if (!balanced.empty() && job_.model.moe && silent) {
    training.moe_imbalance = 1.0;
    assume(balanced);
  }
  if (job_.model.moe && training.moe_imbalance == 0.0 && options_.balanced_experts != false)
    assume("routing as unbalanced as the stack's rule says");
  if (job_.model.moe && options_.balanced_experts == false && training.moe_imbalance == 0.0)
    training.moe_routing.spread = ExpertSpread::natural;
  training.router_fp32 = source_.router_fp32 && job_.model.moe;
  training.grouped_experts = options_.grouped_experts.value_or(true);
  training.fused_kernels = options_.fused_kernels;
  if (!record_.fused_kernels && !options_.fused_kernels.any() && source_.fused_kernels) {
    training.fused_kernels = *source_.fused_kernels;
    assume("the fused kernels of the framework's default");
  }
}

void RunJobBuilder::set_fine_tuning() {
  if (record_.samples && record_.samples->vary()) job_.training.samples = *record_.samples;
  job_.fine_tuning = record_.fine_tuning.value_or(source_.fine_tuning.value_or(FineTuning{}));
  job_.fine_tuning.objective = source_.objective;
  if (source_.wide_base && job_.fine_tuning.freezes())
    job_.fine_tuning.frozen_format = FrozenFormat::fp32;
  if (options_.gptq) job_.fine_tuning.frozen_format = FrozenFormat::gptq;
  if (!record_.fine_tuning && job_.fine_tuning.adapts())
    assume("the adapters of the source's configuration");
  const bool tunes = !record_.task.empty() && record_.task != "pretrain";
  if (tunes && !record_.samples) assume("one sample per row");
}

void RunJobBuilder::set_memory() {
  MemoryOptions& memory = job_.memory;
  const std::string kernel = lower(record_.attention_kernel);
  memory.attention_library = source_.attention_library;
  if (has_part(kernel, "attention2")) memory.attention_library = AttentionLibrary::flash2;
  if (has_part(kernel, "cudnn")) memory.attention_library = AttentionLibrary::vendor;
  if (has_part(kernel, "attention3")) memory.attention_library = AttentionLibrary::flash3;
  const bool named_unfused = kernel == "torch" || kernel == "fused" || kernel == "unfused";
  memory.attention =
      source_.unfused || named_unfused ? AttentionKind::unfused : AttentionKind::flash;
  memory.fused_norm = has_part(kernel, "rms kernel");
  if (!source_.fused_gradients) memory.fused_gradient_accumulation = false;
  if (source_.unfused) job_.training.attention_dropout = job_.training.hidden_dropout = 0.1;
  FusedKernels& kernels = job_.training.fused_kernels;
  if (source_.chunked_loss && options_.fused_loss.value_or(false))
    kernels.add(FusedKernel::linear_loss);
  const bool in_chunks = kernels.has(FusedKernel::linear_loss);
  memory.fused_loss = options_.fused_loss.value_or(source_.engine_loss) && !in_chunks;
  memory.fused_permutation =
      job_.model.moe && options_.fused_permutation.value_or(source_.fused_permutation);
  memory.fused_loss_engine = source_.engine_loss;
  memory.offloaded_layers = options_.offloaded_layers;
  set_eight_bit_weights();
}

/// A precision-aware optimizer with 16-bit moments that reads 16-bit gradients: of fp32 masters the
/// bits that bf16 weights lack, or all of them where weights rest in 8 bits (Transformer Engine's
/// FusedAdam, store_param_remainders).
void RunJobBuilder::set_optimizer_state() {
  if (!source_.narrow_optimizer) return;
  Training& training = job_.training;
  const bool eight = options_.eight_bit_weights.value_or(source_.eight_bit_weights) &&
                     quantised(training.precision);
  training.master_bytes = eight ? 4.0 : 2.0;
  training.first_moment_bytes = training.second_moment_bytes = 2.0;
  training.decoupled_gradients = true;
  assume("a precision-aware optimizer with 16-bit moments, as the recipe sets it");
}

/// Where the record says so, or by default where that is modelled.
void RunJobBuilder::set_eight_bit_weights() {
  bool& eight = job_.memory.fp8_parameters;
  eight = options_.eight_bit_weights.value_or(source_.eight_bit_weights);
  if (!options_.eight_bit_weights && refuse_eight_bit_weights(job_)) eight = false;
}

bool RunJobBuilder::set_recompute() {
  const RecordRecompute told = record_recompute(record_.recompute);
  if (!told.why.empty()) return refuse(told.why);
  Recompute& plan = job_.memory.recompute;
  plan.kind = told.kind;
  plan.every_second_matmul = told.every_second_matmul;
  plan.modules = told.modules;
  if (!told.stated) assume_recompute();
  return true;
}

/// Where the record does not say: what its framework does by default, else none; then the band
/// reaches from there to full recomputation.
void RunJobBuilder::assume_recompute() {
  const AssumedRecompute& assumed = source_.recompute;
  recompute_stated_ = !assumed.text.empty();
  if (!recompute_stated_) return assume(std::string(no_recomputation));
  const RecordRecompute usual = record_recompute(assumed.text);
  Recompute& plan = job_.memory.recompute;
  plan.kind = usual.kind;
  plan.every_second_matmul = usual.every_second_matmul;
  plan.modules = usual.modules;
  assume(assumed.assumed);
}

/// How tokens reach their experts, where the records or their sources' scripts say so.
void RunJobBuilder::set_experts(Communication& communication) {
  if (!job_.model.moe) return;
  bool& overlap = communication.overlap.experts;
  overlap = options_.overlap_experts.value_or(overlap);
  if (source_.expert_dispatch) communication.expert_dispatch = *source_.expert_dispatch;
  if (options_.dispatch) communication.expert_dispatch = *options_.dispatch;
}

void RunJobBuilder::set_communication() {
  Communication& communication = job_.communication;
  Overlap& overlap = communication.overlap;
  overlap = source_.overlap;
  if (record_.overlap_gradients) {
    overlap.gradients = *record_.overlap_gradients;
    overlap.parameters = overlap.parameters && overlap.gradients;
  } else if (job_.parallel.zero >= 3) {  // full shards are prefetched by every release of either
    overlap.gradients = overlap.parameters = true;
  }
  overlap.tensor = options_.overlap_tensor.value_or(overlap.tensor) && job_.parallel.sequence;
  overlap.pipeline = record_.overlap_pipeline.value_or(
      overlap.pipeline || traits_of(job_.parallel.schedule).sends_beside_passes);
  set_experts(communication);
  communication.scatter_gather = options_.scatter_gather;
  communication.context_exchange = record_.context_exchange().value_or(ContextExchange::ring);
  const bool half = job_.training.precision == Precision::fp16;
  communication.gradient_dtype = half                     ? Precision::fp16
                                 : source_.half_gradients ? Precision::bf16
                                                          : Precision::fp32;
}

}  // namespace foretrain
