// SPDX-License-Identifier: Apache-2.0
#include "calibration/megatron_arguments.hpp"

#include <algorithm>
#include <cctype>

#include "calibration/argument_reader.hpp"

namespace foretrain {
namespace {

/// Builds one mapping; every member function reads one group of arguments. Meanings and defaults:
/// Megatron-LM, megatron/training/arguments.py and core/transformer/transformer_config.py.
class Mapper {
 public:
  Mapper(const MegatronArguments& arguments, const MegatronEnvironment& environment)
      : in_{arguments}, environment_{environment} {}

  MegatronMapping run() {
    map_shape();
    map_attention_shape();
    map_moe();
    map_training();
    map_parallel();
    map_layout();
    map_optimizer();
    map_recompute();
    map_kernels();
    map_offload();
    report_rest();
    out_.errors = in_.errors();
    return std::move(out_);
  }

 private:
  void unmodelled(const std::string& what) { out_.unmodelled.push_back(what); }

  int required(const std::string& name) {
    const auto value = in_.integer(name);
    if (value && *value > 0) return *value;
    in_.error("--" + name + ": a positive number is missing");
    return 1;
  }

  void map_shape();
  void map_attention_shape();
  void map_moe();
  void map_training();
  void map_precision();
  void map_parallel();
  void map_layout();
  void map_optimizer();
  void map_recompute();
  void map_kernels();
  void map_offload();
  void report_rest();
  LayerModules recompute_modules();
  [[nodiscard]] int tokenizer_vocabulary();

  ArgumentReader in_;
  const MegatronEnvironment& environment_;
  MegatronMapping out_;
};

int Mapper::tokenizer_vocabulary() {
  const auto given = in_.integer("vocab-size");
  const std::string type = in_.text("tokenizer-type", "GPT2BPETokenizer");
  const std::string model = in_.text("tokenizer-model");
  if (given) return *given;
  if (model.find("256k") != std::string::npos) return 256000;
  if (type == "GPT2BPETokenizer") return environment_.vocabulary;
  in_.error("--tokenizer-type " + type + ": its vocabulary is not known; give --vocab-size");
  return environment_.vocabulary;
}

void Mapper::map_shape() {
  LlmShape& model = out_.job.model;
  model.layers = required("num-layers");
  model.hidden = required("hidden-size");
  model.heads = required("num-attention-heads");
  model.kv_heads =
      in_.flag("group-query-attention") ? in_.integer("num-query-groups", 1) : model.heads;
  model.head_dim = in_.integer("kv-channels", model.hidden / model.heads);
  model.gated_mlp = in_.flag("swiglu");
  // With --swiglu the default width keeps the parameter count of a plain 4h MLP.
  const int plain = 4 * model.hidden;
  const int gated = static_cast<int>(4.0 * model.hidden * 2.0 / 3.0) / 64 * 64;
  model.ffn_hidden = in_.integer("ffn-hidden-size", model.gated_mlp ? gated : plain);
  in_.accept("squared-relu");  // keeps the same tensors as GELU
  const std::string position = in_.text("position-embedding-type", "learned_absolute");
  model.position = position == "learned_absolute" ? PositionKind::learned
                   : position == "none"           ? PositionKind::none
                                                  : PositionKind::rotary;
  const int longest = in_.integer("max-position-embeddings", 0);
  model.positions = model.position == PositionKind::learned ? longest : 0;
  const bool rms = in_.text("normalization", "LayerNorm") == "RMSNorm";
  model.norm = rms ? NormKind::rmsnorm : NormKind::layernorm;
  model.norm_bias = !rms;
  in_.accept("apply-layernorm-1p");  // another starting value, the same tensors
  const bool biases = !in_.flag("disable-bias-linear");
  model.qkv_bias = biases || in_.flag("add-qkv-bias");
  model.attention_output_bias = biases;
  model.mlp_bias = biases;
  model.tied_embeddings = !in_.flag("untie-embeddings-and-output-weights");
  model.mtp_layers = in_.integer("mtp-num-layers", 0);
  model.vocabulary = tokenizer_vocabulary();
  out_.job.training.vocabulary_multiple = in_.integer("make-vocab-size-divisible-by", 128);
  const std::string title = in_.text("model-name", "megatron");
  model.name = title;
}

void Mapper::map_attention_shape() {
  LlmShape& model = out_.job.model;
  model.qk_norm = in_.flag("qk-layernorm");
  if (!in_.flag("multi-latent-attention")) return;
  MlaShape mla;
  mla.q_lora_rank = in_.text("q-lora-rank") == "None" ? 0 : in_.integer("q-lora-rank", 0);
  mla.kv_lora_rank = in_.integer("kv-lora-rank", 32);
  mla.qk_nope_head_dim = in_.integer("qk-head-dim", 128);
  mla.qk_rope_head_dim = in_.integer("qk-pos-emb-head-dim", 64);
  mla.v_head_dim = in_.integer("v-head-dim", 128);
  model.mla = mla;
  model.position = PositionKind::rotary;
  model.positions = 0;
}

void Mapper::map_moe() {
  LlmShape& model = out_.job.model;
  const int experts = in_.integer("num-experts", 0);
  const int width = in_.integer("moe-ffn-hidden-size", model.ffn_hidden);
  const int top_k = in_.integer("moe-router-topk", 2);
  const int shared = in_.integer("moe-shared-expert-intermediate-size", 0);
  const bool gate = in_.flag("moe-shared-expert-gate");
  const std::string frequency = in_.text("moe-layer-freq", "1");
  out_.job.training.router_fp32 = in_.text("moe-router-dtype") == "fp32";
  out_.job.training.grouped_experts = in_.flag("moe-grouped-gemm");
  in_.accept("moe-shared-expert-overlap");
  if (in_.flag("moe-router-force-load-balancing")) out_.job.training.moe_imbalance = 1.0;
  if (in_.has("moe-expert-capacity-factor")) {
    const double capacity = in_.number("moe-expert-capacity-factor", 1.0);
    if (in_.flag("moe-pad-expert-input-to-capacity") && capacity > 0.0)
      out_.job.training.moe_imbalance = capacity;
  }
  if (experts <= 0) return;
  MoeShape moe;
  moe.experts = experts;
  moe.top_k = top_k;
  moe.expert_ffn_hidden = width;
  moe.shared_ffn_hidden = shared;
  moe.shared_gate = gate;
  const std::vector<int> pattern = megatron_layer_pattern(frequency, model.layers);
  if (pattern.empty()) {
    in_.error("--moe-layer-freq: '" + frequency + "' does not describe " +
              std::to_string(model.layers) + " layers");
    return;
  }
  const auto first = std::find(pattern.begin(), pattern.end(), 1);
  moe.first_dense_layers = static_cast<int>(first - pattern.begin());
  if (first != pattern.end()) {
    const auto second = std::find(first + 1, pattern.end(), 1);
    if (second != pattern.end()) moe.every = static_cast<int>(second - first);
  }
  model.moe = moe;
  for (int layer = 0; layer < model.layers; ++layer)
    if (model.is_moe_layer(layer) != (pattern[static_cast<std::size_t>(layer)] == 1)) {
      in_.error("--moe-layer-freq: '" + frequency + "' is not a regular pattern");
      return;
    }
}

void Mapper::map_precision() {
  Training& training = out_.job.training;
  training.precision = in_.flag("bf16")   ? Precision::bf16
                       : in_.flag("fp16") ? Precision::fp16
                                          : Precision::fp32;
  if (in_.has("fp8-format") || in_.has("fp8-hybrid") || in_.has("fp8-e4m3"))
    training.precision = Precision::fp8;
  out_.job.memory.fp8_parameters = in_.flag("fp8-param-gather") || in_.flag("fp8-param");
  if (in_.has("fp4-format")) unmodelled("fp4-format");
  if (in_.flag("first-last-layers-bf16") && training.precision == Precision::fp8)
    out_.job.training.bf16_end_layers = in_.integer("num-layers-at-start-in-bf16", 1) +
                                        in_.integer("num-layers-at-end-in-bf16", 1);
}

void Mapper::map_training() {
  Training& training = out_.job.training;
  training.sequence = required("seq-length");
  training.micro_batch = required("micro-batch-size");
  training.hidden_dropout = in_.number("hidden-dropout", 0.1);
  training.attention_dropout = in_.number("attention-dropout", 0.1);
  map_precision();
  const std::string schedule = in_.text("step-batch-size-schedule");
  std::optional<int> batch = in_.integer("global-batch-size");
  if (!schedule.empty()) {
    // "0:384 200B:768": the run starts with the first size.
    const auto colon = schedule.find(':');
    if (colon != std::string::npos) batch = std::atoi(schedule.c_str() + colon + 1);
  }
  training.global_batch = batch.value_or(0);  // resolved against the data-parallel size later
}

void Mapper::map_parallel() {
  Parallel& parallel = out_.job.parallel;
  parallel.tensor = in_.integer("tensor-model-parallel-size", 1);
  parallel.pipeline = in_.integer("pipeline-model-parallel-size", 1);
  parallel.context = in_.integer("context-parallel-size", 1);
  parallel.expert = in_.integer("expert-model-parallel-size", 1);
  parallel.expert_tensor = in_.integer("expert-tensor-parallel-size", parallel.tensor);
  parallel.sequence = in_.flag("sequence-parallel") && parallel.tensor > 1;
  const int model_ranks = parallel.tensor * parallel.pipeline * parallel.context;
  if (environment_.gpus % model_ranks != 0 || environment_.gpus < model_ranks) {
    in_.error(std::to_string(environment_.gpus) + " GPUs are not a multiple of tensor * pipeline * "
              "context = " + std::to_string(model_ranks));
    return;
  }
  parallel.data = environment_.gpus / model_ranks;
  Training& training = out_.job.training;
  if (training.global_batch == 0) training.global_batch = training.micro_batch * parallel.data;
  if (training.global_batch % (training.micro_batch * parallel.data) != 0)
    in_.error("--global-batch-size " + std::to_string(training.global_batch) +
              " is not a multiple of micro-batch * data");
  const int expert_ranks = parallel.expert * parallel.expert_tensor;
  if (out_.job.model.moe &&
      parallel.tensor * parallel.context * parallel.data % expert_ranks != 0)
    in_.error("expert * expert-tensor = " + std::to_string(expert_ranks) +
              " does not divide the ranks of a stage");
}

void Mapper::map_layout() {
  Parallel& parallel = out_.job.parallel;
  const int stages = parallel.pipeline;
  const int layers = out_.job.model.layers;
  const auto per_chunk = in_.integer("num-layers-per-virtual-pipeline-stage");
  const auto chunks = in_.integer("num-virtual-stages-per-pipeline-rank");
  const bool embedding = in_.flag("account-for-embedding-in-pipeline-split");
  const bool loss = in_.flag("account-for-loss-in-pipeline-split");
  const auto first = in_.integer("decoder-first-pipeline-num-layers");
  const auto last = in_.integer("decoder-last-pipeline-num-layers");
  parallel.microbatch_group = in_.integer("microbatch-group-size-per-virtual-pipeline-stage", 0);
  const std::string layout = in_.text("pipeline-model-parallel-layout");
  if (stages <= 1) return;
  if (!layout.empty()) {
    parallel.stage_layers = megatron_pipeline_layout(layout);
    if (parallel.stage_layers.size() % static_cast<std::size_t>(stages) != 0) {
      in_.error("--pipeline-model-parallel-layout: '" + layout + "' is not a layout of " +
                std::to_string(stages) + " stages");
      return;
    }
    parallel.virtual_stages = static_cast<int>(parallel.stage_layers.size()) / stages;
    parallel.schedule =
        parallel.virtual_stages > 1 ? ScheduleKind::interleaved : ScheduleKind::one_f_one_b;
    return;
  }
  const int counted = layers + (embedding ? 1 : 0) + (loss ? 1 : 0);
  if (chunks) parallel.virtual_stages = *chunks;
  if (per_chunk && *per_chunk > 0) parallel.virtual_stages = counted / stages / *per_chunk;
  if (parallel.virtual_stages > 1) parallel.schedule = ScheduleKind::interleaved;
  const int all = stages * parallel.virtual_stages;
  std::vector<int>& counts = parallel.stage_layers;
  if (embedding || loss) {
    counts.assign(static_cast<std::size_t>(all), counted / all);
    if (embedding) --counts.front();
    if (loss) --counts.back();
  } else if (first || last) {
    // Every chunk of the first and the last stage gets the same share of its layers.
    const int middle_stages = stages - (first ? 1 : 0) - (last ? 1 : 0);
    const int rest = layers - first.value_or(0) - last.value_or(0);
    if (middle_stages < 1 && rest != 0) {
      in_.error("--decoder-first/last-pipeline-num-layers leave layers over");
      return;
    }
    const int middle = middle_stages > 0 ? rest / middle_stages : 0;
    counts.assign(static_cast<std::size_t>(stages), middle);
    if (first) counts.front() = *first;
    if (last) counts.back() = *last;
  } else if (layers % all != 0) {
    in_.error(std::to_string(layers) + " layers do not divide into " + std::to_string(all) +
              " chunks");
    return;
  }
  int sum = 0;
  for (const int count : counts) sum += count;
  if (!counts.empty() && sum != layers)
    in_.error("the pipeline split holds " + std::to_string(sum) + " of " + std::to_string(layers) +
              " layers");
}

void Mapper::map_optimizer() {
  Training& training = out_.job.training;
  Parallel& parallel = out_.job.parallel;
  const bool distributed = in_.flag("use-distributed-optimizer");
  const int instances = in_.integer("num-distributed-optimizer-instances", 1);
  const std::string kind = in_.text("optimizer", "adam");
  if (kind == "sgd")
    training.optimizer = OptimizerKind::sgd;
  else if (kind.find("muon") != std::string::npos)
    training.optimizer = OptimizerKind::muon;
  else if (kind != "adam")
    unmodelled("optimizer " + kind);
  parallel.zero = distributed || kind.rfind("dist_", 0) == 0 ? 1 : 0;
  training.whole_tensor_shards = in_.flag("no-use-layer-wise-param-layout") && parallel.zero == 1 &&
                                 training.optimizer == OptimizerKind::muon;
  if (instances > 1) parallel.zero_group = parallel.data * parallel.context / instances;
  const auto width = [&](const std::string& name) {
    const std::string type = in_.text(name, "fp32");
    if (type == "bf16" || type == "fp16") return 2.0;
    if (type == "fp8") return 1.0;
    return 4.0;
  };
  const double gradients = width("main-grads-dtype");
  const double parameters = width("main-params-dtype");
  const double first = width("exp-avg-dtype");
  const double second = width("exp-avg-sq-dtype");
  if (in_.flag("use-precision-aware-optimizer")) {
    // 16-bit masters are stored as the 16 bits that the weights lack.
    training.master_bytes = parameters;
    training.first_moment_bytes = first;
    training.second_moment_bytes = second;
    if (gradients == 2.0) out_.job.communication.gradient_dtype = Precision::bf16;
  }
  if (in_.flag("grad-reduce-in-bf16")) out_.job.communication.gradient_dtype = Precision::bf16;
  in_.accept("accumulate-allreduce-grads-in-fp32");  // bf16 implies it
  const bool fsdp = in_.flag("use-megatron-fsdp") || in_.flag("use-custom-fsdp");
  const std::string sharding = in_.text("data-parallel-sharding-strategy", "no_shard");
  if (fsdp) {
    if (sharding == "optim") parallel.zero = 1;
    if (sharding == "optim_grads") parallel.zero = 2;
    if (sharding == "optim_grads_params") parallel.zero = 3;
    out_.fsdp = MegatronFsdp::megatron;
    for (const char* name : {"megatron-fsdp-main-params-dtype", "megatron-fsdp-main-grads-dtype",
                             "megatron-fsdp-grad-comm-dtype"})
      if (width(name) != 4.0) unmodelled(std::string(name) + " " + in_.text(name));
    if (in_.text("outer-dp-sharding-strategy", "no_shard") != "no_shard")
      unmodelled("outer-dp-sharding-strategy");
  }
  if (in_.flag("use-torch-fsdp2")) {
    parallel.zero = 3;
    out_.fsdp = MegatronFsdp::torch;
  }
}

LayerModules Mapper::recompute_modules() {
  LayerModules modules;
  std::vector<std::string> names = in_.words("recompute-modules");
  if (names.empty()) names = {"core_attn"};
  for (const std::string& name : names) {
    if (name == "core_attn")
      modules.core_attention = true;
    else if (name == "layernorm")
      modules.attention_norm = modules.mlp_norm = true;
    else if (name == "mla_up_proj")
      modules.mla_up_projection = true;
    else if (name == "moe_act")
      modules.activation = true;
    else if (name == "mlp")
      modules.mlp = true;
    else if (name == "moe")
      modules.moe = true;
    else if (name == "shared_experts")
      modules.shared_experts = true;
    else
      unmodelled("recompute-modules " + name);
  }
  return modules;
}

void Mapper::map_recompute() {
  Recompute& recompute = out_.job.memory.recompute;
  const std::string granularity = in_.text("recompute-granularity");
  const bool old_flag = in_.flag("recompute-activations");
  const std::string method = in_.text("recompute-method");
  recompute.layers = in_.integer("recompute-num-layers", 1);
  recompute.distribute_saved = in_.flag("distribute-saved-activations");
  const LayerModules modules = recompute_modules();
  if (granularity == "full") {
    recompute.kind = RecomputeKind::full;
    recompute.method = method == "block" ? RecomputeMethod::block : RecomputeMethod::uniform;
  } else if (granularity == "selective" || old_flag) {
    recompute.kind = RecomputeKind::selective;
    recompute.modules = modules;
  } else if (!granularity.empty()) {
    in_.error("--recompute-granularity: '" + granularity + "' is neither full nor selective");
  }
}

void Mapper::map_kernels() {
  MemoryOptions& memory = out_.job.memory;
  const auto variable = [&](const std::string& name) {
    const auto found = environment_.variables.find(name);
    return found == environment_.variables.end() ? std::string() : found->second;
  };
  out_.transformer_engine = in_.text("transformer-impl", "transformer_engine") != "local";
  const std::string backend = in_.text("attention-backend", "auto");
  const bool flash_flag = in_.flag("use-flash-attn");
  const bool switched_off = variable("NVTE_FLASH_ATTN") == "0" && variable("NVTE_FUSED_ATTN") == "0";
  const bool flash = out_.transformer_engine
                         ? backend != "unfused" && backend != "local" && !switched_off
                         : flash_flag || backend == "flash";
  memory.attention = flash ? AttentionKind::flash : AttentionKind::unfused;
  // Scaling by the layer number makes the softmax fp32.
  const bool scaled = in_.flag("apply-query-key-layer-scaling");
  const bool fp32_softmax = in_.flag("attention-softmax-in-fp32") || scaled;
  memory.fused_softmax = !(in_.flag("no-masked-softmax-fusion") && fp32_softmax);
  memory.fused_loss = in_.flag("cross-entropy-loss-fusion");
  // Combined 1F1B runs one micro-batch's forward while another goes backward: same live passes.
  in_.accept("overlap-moe-expert-parallel-comm");
  memory.fused_loss_engine = in_.text("cross-entropy-fusion-impl", "native") == "te";
  memory.fused_gradient_accumulation = !in_.flag("no-gradient-accumulation-fusion");
  memory.deterministic =
      in_.flag("deterministic-mode") || variable("CUBLAS_WORKSPACE_CONFIG") == ":4096:8";
  memory.attention_mask = !in_.flag("no-create-attention-mask-in-dataloader");
  for (const char* graph : {"cuda-graph-impl", "enable-cuda-graph", "external-cuda-graph"})
    if (in_.has(graph) && in_.text(graph) != "none") unmodelled(graph);
  in_.accept("cuda-graph-modules");
  in_.accept("cuda-graph-scope");
  in_.accept("cuda-graph-warmup-steps");
}

void Mapper::map_offload() {
  if (in_.flag("optimizer-cpu-offload")) {
    if (in_.number("optimizer-offload-fraction", 1.0) < 1.0)
      unmodelled("optimizer-offload-fraction");
    else
      out_.job.memory.offload = OffloadKind::optimizer;
  }
  const std::vector<std::string> names = in_.words("offload-modules");
  if (!in_.flag("fine-grained-activation-offloading")) return;
  LayerModules& modules = out_.job.memory.activation_offload;
  for (const std::string& name : names) {
    if (name == "attn_norm")
      modules.attention_norm = true;
    else if (name == "mlp_norm")
      modules.mlp_norm = true;
    else if (name == "qkv_linear")
      modules.qkv_linear = true;
    else if (name == "core_attn")
      modules.core_attention = true;
    else if (name == "attn_proj")
      modules.attention_projection = true;
    else if (name == "expert_fc1")
      modules.expert_fc1 = true;
    else if (name == "moe_act")
      modules.activation = true;
    else
      unmodelled("offload-modules " + name);
  }
}

void Mapper::report_rest() {
  for (const std::string& name : in_.unread())
    if (!leaves_memory_alone(name)) out_.unknown.push_back(name);
}

}  // namespace

MegatronMapping map_megatron_arguments(const MegatronArguments& arguments,
                                       const MegatronEnvironment& environment) {
  return Mapper(arguments, environment).run();
}

}  // namespace foretrain
