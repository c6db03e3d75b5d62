// SPDX-License-Identifier: Apache-2.0
#include "calibration/run_memory.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace foretrain {
namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// The stack profile that the record names, or that of its source family; families without one are
/// not covered.
std::string stack_of(const RunRecord& record) {
  if (!record.stack.empty()) return record.stack;
  struct Entry {
    std::string_view family, stack;
  };
  constexpr std::array<Entry, 9> table{{{"simumax", "megatron-core"},
                                        {"vocabpar", "megatron-2023"},
                                        {"zb", "megatron-2023"},
                                        {"zerobubble", "megatron-2023"},
                                        {"bs", "megatron-deepspeed"},
                                        {"aa", "aleph-alpha"},
                                        {"tt", "fsdp2"},
                                        {"ao", "fsdp2"},
                                        {"nanotron", "nanotron"}}};
  const std::string family = record.family();
  // FlagPerf is a collection of frameworks.
  if (family == "flagperf" && contains(record.id, "-paddle-")) return "paddle";
  if (family == "flagperf" && contains(record.id, "-llama3-")) return "megatron-core";
  if (family == "flagperf" && contains(record.id, "-aquila2-")) return "megatron-core";
  for (const Entry& entry : table)
    if (entry.family == family) {
      const bool compiled = entry.stack == "fsdp2" && record.compiled.value_or(false);
      return compiled ? "fsdp2-compile" : std::string(entry.stack);
    }
  return "";
}

class Builder {
 public:
  Builder(const RunRecord& record, const RunCatalog& catalog)
      : record_{record}, catalog_{catalog} {}

  RunJob run() {
    if (check_ranges() && set_stack() && set_shape() && set_parallel() && set_training()) {
      set_memory();
      out_.job = job_;
    }
    return std::move(out_);
  }

 private:
  bool refuse(std::string why) {
    out_.why = std::move(why);
    return false;
  }
  void assume(std::string what) { out_.assumptions.push_back(std::move(what)); }

  bool check_ranges();
  bool set_stack();
  bool set_shape();
  bool set_moe();
  bool set_parallel();
  bool set_schedule();
  void balance_by_cost();
  bool set_zero();
  bool set_training();
  void set_memory();

  const RunRecord& record_;
  const RunCatalog& catalog_;
  Job job_;
  RunJob out_;
};

/// Files come from users: whatever later divides, multiplies or sizes something is bounded here.
bool Builder::check_ranges() {
  struct Range {
    const char* name;
    std::optional<int> value;
    int most;
  };
  const RunMoe moe = record_.moe.value_or(RunMoe{});
  const auto ranges = std::to_array<Range>({{"layers", record_.layers, 10'000},
                                            {"hidden", record_.hidden, 1'000'000},
                                            {"heads", record_.heads, 100'000},
                                            {"kv_heads", record_.kv_heads, 100'000},
                                            {"head_dim", record_.head_dim, 100'000},
                                            {"ffn_hidden", record_.ffn_hidden, 10'000'000},
                                            {"vocab", record_.vocabulary, 100'000'000},
                                            {"seq", record_.sequence, 100'000'000},
                                            {"gpus", record_.gpus, 10'000'000},
                                            {"gpus_per_node", record_.gpus_per_node, 10'000},
                                            {"tp", record_.tensor, 10'000},
                                            {"pp", record_.pipeline, 10'000},
                                            {"vpp", record_.virtual_stages, 10'000},
                                            {"dp", record_.data, 1'000'000},
                                            {"cp", record_.context, 10'000},
                                            {"ep", record_.expert, 10'000},
                                            {"etp", record_.expert_tensor, 10'000},
                                            {"micro_batch", record_.micro_batch, 1'000'000},
                                            {"global_batch", record_.global_batch, 1'000'000'000},
                                            {"moe.experts", moe.experts, 1'000'000},
                                            {"moe.topk", moe.top_k, 1'000'000},
                                            {"moe.moe_ffn", moe.expert_ffn, 10'000'000}});
  for (const Range& range : ranges)
    if (range.value && (*range.value < 1 || *range.value > range.most))
      return refuse(std::string(range.name) + " " + std::to_string(*range.value) +
                    " is not between 1 and " + std::to_string(range.most));
  const int last = record_.layers_last_stage.value_or(0);
  if (last < 0 || last > record_.layers.value_or(last))
    return refuse("layers_last_stage " + std::to_string(last) + " is not a share of the layers");
  const double gpus = 1.0 * record_.tensor.value_or(1) * record_.pipeline.value_or(1) *
                      record_.data.value_or(1) * record_.context.value_or(1);
  if (gpus > 1e7) return refuse("the layout asks for more than 10 million GPUs");
  if (1.0 * record_.micro_batch.value_or(1) * record_.data.value_or(1) > 1e9)
    return refuse("a step has more than 1e9 sequences");
  const double chunks = 1.0 * record_.pipeline.value_or(1) * record_.virtual_stages.value_or(1);
  if (record_.layers && chunks > *record_.layers + 2.0)
    return refuse("there are more pipeline stages than layers");
  return true;
}

bool Builder::set_stack() {
  const std::string stack = stack_of(record_);
  if (stack.empty()) return refuse("no memory rules for the framework of this source");
  const auto profile = catalog_.stacks.find(stack);
  if (profile == catalog_.stacks.end()) return refuse("no stack profile " + stack);
  job_.stack = profile->second;
  const auto device = catalog_.devices.find(lower(record_.gpu));
  if (device == catalog_.devices.end()) return refuse("no device " + record_.gpu);
  job_.cluster.host.device = device->second;
  job_.cluster.host.gpus = record_.gpus_per_node.value_or(8);
  return true;
}

bool Builder::set_shape() {
  LlmShape& model = job_.model;
  if (!record_.layers || !record_.hidden || !record_.ffn_hidden)
    return refuse("the model's shape is not stated");
  int heads = record_.heads.value_or(0);
  if (heads == 0 && record_.family() == "bs" && record_.head_dim == std::nullopt) {
    heads = 64;  // the chronicle says of its neighbouring tables that all have 64
    assume("64 attention heads");
  }
  if (heads == 0) return refuse("the number of attention heads is not stated");
  const bool llama = record_.gated_mlp.value_or(false);
  model.name = record_.model_name;
  model.layers = *record_.layers;
  model.hidden = *record_.hidden;
  model.heads = heads;
  model.kv_heads = record_.kv_heads.value_or(heads);
  if (!record_.kv_heads && contains(lower(record_.model_name), "llama3-405b")) {
    // The source's launcher sets 16; its model file says 8 (calibration/measured, notes on 405B).
    model.kv_heads = 16;
    assume("16 key/value heads, as the source's launcher sets");
  }
  model.head_dim = record_.head_dim.value_or(*record_.hidden / heads);
  model.ffn_hidden = *record_.ffn_hidden;
  model.gated_mlp = llama;
  model.norm = llama ? NormKind::rmsnorm : NormKind::layernorm;
  model.norm_bias = model.qkv_bias = model.attention_output_bias = model.mlp_bias = !llama;
  model.position = llama ? PositionKind::rotary : PositionKind::learned;
  model.tied_embeddings = record_.tied_embeddings.value_or(!llama);
  if (record_.vocabulary) {
    model.vocabulary = *record_.vocabulary;
  } else {
    model.vocabulary = 50257;
    assume("vocabulary 50257 (GPT-2)");
  }
  if (!record_.sequence) return refuse("the sequence length is not stated");
  model.positions = llama ? 0 : *record_.sequence;
  return !record_.moe || set_moe();
}

bool Builder::set_moe() {
  const RunMoe& source = *record_.moe;
  if (!source.experts || !source.top_k || !source.expert_ffn)
    return refuse("the mixture of experts is not fully stated");
  MoeShape moe;
  moe.experts = *source.experts;
  moe.top_k = *source.top_k;
  moe.expert_ffn_hidden = *source.expert_ffn;
  moe.shared_ffn_hidden = source.shared.value_or(0) * *source.expert_ffn;
  moe.first_dense_layers = source.first_dense_layers.value_or(0);
  job_.model.moe = moe;
  if (!source.mla) return true;
  // DeepSeek-V2 (arXiv 2405.04434) and V3 (2412.19437) share these; V2-Lite projects queries
  // directly.
  const int query_rank = job_.model.hidden <= 2048 ? 0 : 1536;
  job_.model.mla = MlaShape{query_rank, 512, 128, 64, 128};
  job_.model.head_dim = 128;
  assume("latent attention dimensions of DeepSeek-V2/V3");
  return true;
}

bool Builder::set_zero() {
  Parallel& parallel = job_.parallel;
  const std::string& zero = record_.zero;
  if (contains(zero, "fsdp")) {
    parallel.zero = contains(record_.notes, "reshard_after_forward never") ? 2 : 3;
  } else if (zero.empty()) {
    parallel.zero = record_.distributed_optimizer.value_or(false) ? 1 : 0;
    assume("ZeRO stage " + std::to_string(parallel.zero));
  } else {
    const auto digit = zero.find_first_of("0123");
    if (digit == std::string::npos) return refuse("ZeRO stage '" + zero + "' is not understood");
    parallel.zero = zero[digit] - '0';
  }
  return true;
}

bool Builder::set_schedule() {
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
  if (parallel.virtual_stages > 1 && parallel.schedule == ScheduleKind::one_f_one_b)
    parallel.schedule = ScheduleKind::interleaved;
  return true;
}

/// nanotron deals its blocks by their matrix multiplications, the vocabulary projection included:
/// a stage is full once its share of the running sum is exceeded.
void Builder::balance_by_cost() {
  const LlmShape& model = job_.model;
  const double heads = static_cast<double>(model.heads + model.kv_heads) * model.head_dim;
  const double layer = model.hidden * (2.0 * heads + 3.0 * model.ffn_hidden);
  const double head = static_cast<double>(model.hidden) * model.vocabulary;
  const double total = model.layers * layer + head;
  std::vector<int> counts(static_cast<std::size_t>(job_.parallel.pipeline), 0);
  std::size_t stage = 0;
  for (int index = 0; index < model.layers; ++index) {
    ++counts[stage];
    const double limit =
        total * static_cast<double>(stage + 1) / static_cast<double>(counts.size());
    if ((index + 1) * layer > limit && stage + 1 < counts.size()) ++stage;
  }
  job_.parallel.stage_layers = std::move(counts);
}

bool Builder::set_parallel() {
  Parallel& parallel = job_.parallel;
  if (!record_.tensor || !record_.pipeline || !record_.data)
    return refuse("the layout over GPUs is not stated");
  parallel.tensor = *record_.tensor;
  parallel.pipeline = *record_.pipeline;
  parallel.virtual_stages = record_.virtual_stages.value_or(1);
  parallel.context = record_.context.value_or(1);
  parallel.data = *record_.data;
  parallel.expert = record_.expert.value_or(1);
  parallel.expert_tensor = record_.expert_tensor.value_or(parallel.expert > 1 ? 1 : 0);
  parallel.sequence = record_.sequence_parallel.value_or(false) && parallel.tensor > 1;
  if (!record_.sequence_parallel && record_.family() == "nanotron" && parallel.tensor > 1) {
    parallel.sequence = true;  // its default tensor mode scatters activations between layers
    assume("sequence parallelism");
  }
  const int ranks = parallel.tensor * parallel.context * parallel.data;
  if (ranks % (parallel.expert * parallel.expert_tensor_size()) != 0)
    return refuse("expert parallelism does not divide the ranks");
  if (record_.family() == "nanotron" && parallel.pipeline > 1) balance_by_cost();
  if (record_.layers_last_stage && parallel.pipeline > 1) {
    const int rest = job_.model.layers - *record_.layers_last_stage;
    const int others = parallel.pipeline - 1;
    parallel.stage_layers.assign(static_cast<std::size_t>(parallel.pipeline), rest / others);
    // The first stage has the embedding; a rest goes to the stages that hold fewest micro-batches.
    for (int extra = 0; extra < rest % others; ++extra)
      ++parallel.stage_layers[static_cast<std::size_t>(others - 1 - extra)];
    parallel.stage_layers.back() = *record_.layers_last_stage;
  }
  job_.cluster.hosts = std::max(1, parallel.gpus() / std::max(1, job_.cluster.host.gpus));
  return set_schedule() && set_zero();
}

bool Builder::set_training() {
  if (contains(lower(record_.precision), "fp8") && record_.family() == "tt" &&
      !record_.compiled.value_or(true))
    return refuse("FP8 without compilation keeps copies that are not modelled");
  if (record_.family() == "tt" && record_.recompute.empty() && job_.model.moe)
    return refuse("recomputation is not stated");
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
    return refuse("the global batch is no multiple of micro-batch and replicas");
  const std::string precision = lower(record_.precision);
  training.precision = contains(precision, "fp8")    ? Precision::fp8
                       : contains(precision, "bf16") ? Precision::bf16
                       : contains(precision, "fp16") ? Precision::fp16
                       : contains(precision, "fp32") ? Precision::fp32
                                                     : Precision::bf16;
  if (record_.precision.empty()) assume("bf16");
  if (contains(precision, "not stated")) training.precision = Precision::fp16;
  training.moe_imbalance = contains(record_.notes, "forced load balance") ? 1.0 : 0.0;
  return true;
}

void Builder::set_memory() {
  MemoryOptions& memory = job_.memory;
  const std::string kernel = lower(record_.attention_kernel);
  const std::string family = record_.family();
  const bool unfused_family = family == "zb" || family == "zerobubble" || family == "bs";
  const bool named_unfused = kernel == "torch" || kernel == "fused";
  memory.attention =
      unfused_family || named_unfused ? AttentionKind::unfused : AttentionKind::flash;
  memory.fused_norm = contains(kernel, "rms kernel");
  // Zero Bubble splits off weight gradients with its own code, without Transformer Engine's caches.
  if (family == "zb" || family == "zerobubble") memory.fused_gradient_accumulation = false;
  if (unfused_family) job_.training.attention_dropout = job_.training.hidden_dropout = 0.1;
  const std::string recompute = lower(record_.recompute);
  if (contains(recompute, "full")) memory.recompute.kind = RecomputeKind::full;
  if (contains(recompute, "selective")) memory.recompute.kind = RecomputeKind::selective;
  if (contains(recompute, "(op)")) memory.recompute.every_second_matmul = true;
  memory.fused_loss = contains(record_.notes, "chunked cross entropy");
  if (!recompute.empty()) return;
  if (family == "tt" && !record_.compiled.value_or(false)) {
    memory.recompute.kind = RecomputeKind::selective;
    memory.recompute.every_second_matmul = true;
    assume("torchtitan's default recomputation, selective by operator");
  } else {
    assume("no recomputation");
  }
}

}  // namespace

RunJob run_memory_job(const RunRecord& record, const RunCatalog& catalog) {
  return Builder(record, catalog).run();
}

}  // namespace foretrain
