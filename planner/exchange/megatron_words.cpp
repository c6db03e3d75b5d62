// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <fmt/format.h>

#include "models/grid/stage_layout.hpp"
#include "models/inputs/recipe.hpp"
#include "models/layers/layer_ends.hpp"
#include "planner/exchange/exports.hpp"
#include "planner/exchange/megatron_export.hpp"
#include "planner/text/quoting.hpp"
#include "scenarios/imports/megatron/megatron_graph_parts.hpp"
#include "scenarios/imports/megatron/megatron_shape.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

/// Collects arguments; every function writes one group of them. Names and meanings: Megatron-LM,
/// megatron/training/arguments.py.
class MegatronWriter {
 public:
  MegatronWriter(const Job& job, ExportBook& book) : job_{job}, book_{book} {}

  std::vector<std::string> run() {
    shape();
    attention();
    hybrids();
    experts();
    training();
    precision();
    parallel();
    layout();
    sharding();
    memory();
    recompute();
    graphs();
    communication();
    return std::move(words_);
  }

 private:
  void add(const std::string& name, const std::string& value) {
    // Values of several words are several words; others may hold what a shell would expand.
    const bool several = value.find(' ') != std::string::npos;
    words_.push_back("--" + name + " " + (several ? value : shell_word(value)));
  }
  void add(const std::string& name, int value) { add(name, std::to_string(value)); }
  void add_if(bool holds, const std::string& name) {
    if (holds) words_.push_back("--" + name);
  }

  void shape() {
    const LlmShape& model = job_.model;
    add("num-layers", model.layers);
    add("hidden-size", model.hidden);
    add("ffn-hidden-size", model.ffn_hidden);
    add("num-attention-heads", model.heads);
    add_if(model.gated_mlp && model.mlp_clamp == 0.0, "swiglu");
    add_if(model.gated_mlp && model.mlp_clamp > 0.0, "quick-geglu");  // GPT-OSS
    if (model.mlp_clamp > 0.0) {
      add("glu-linear-offset", "1.0");
      add("activation-func-clamp-value", fmt::format("{}", model.mlp_clamp));
    }
    add_if(model.rotary_scaled, "enable-gpt-oss");  // its YaRN
    const bool learned = model.position == PositionKind::learned;
    book_.refuse_if(model.position == PositionKind::alibi, "ALiBi positions");
    add("position-embedding-type", learned                                  ? "learned_absolute"
                                   : model.position == PositionKind::rotary ? "rope"
                                                                            : "none");
    add("max-position-embeddings", learned ? model.positions : job_.training.sequence);
    const bool rms = model.norm == NormKind::rmsnorm;
    add("normalization", rms ? "RMSNorm" : "LayerNorm");
    std::vector<std::string> lost;
    for (const auto& [name, value] : megatron_number_arguments(model, lost))
      if (value == "true")
        add_if(true, name);
      else
        add(name, value);
    for (std::string& sentence : lost) book_.leave_out(std::move(sentence));
    book_.refuse_if(model.norm_bias == rms, "norms with another bias than usual");
    book_.refuse_if(model.norms_per_layer != 2, "layers with other than two norms");
    book_.refuse_if(model.embedding_norm, "a norm behind the embedding");
    const bool inner = model.attention_output_bias;
    book_.refuse_if(inner != model.mlp_bias || (inner && !model.qkv_bias),
                    "biases on some projections only");
    add_if(!inner, "disable-bias-linear");
    add_if(!inner && model.qkv_bias, "add-qkv-bias");
    add_if(!model.tied_embeddings, "untie-embeddings-and-output-weights");
    if (model.mtp_layers > 0) add("mtp-num-layers", model.mtp_layers);
    // The null tokenizer adds an end of document to its vocabulary.
    add("tokenizer-type", "NullTokenizer");
    add("vocab-size", model.vocabulary - 1);
    add("make-vocab-size-divisible-by", job_.training.vocabulary_multiple);
    book_.leave_out("data and tokenizer; a NullTokenizer of the same vocabulary stands for them");
  }

  void attention() {
    const LlmShape& model = job_.model;
    if (model.mla) {
      add_if(true, "multi-latent-attention");
      if (model.mla->q_lora_rank > 0) add("q-lora-rank", model.mla->q_lora_rank);
      add("kv-lora-rank", model.mla->kv_lora_rank);
      add("qk-head-dim", model.mla->qk_nope_head_dim);
      add("qk-pos-emb-head-dim", model.mla->qk_rope_head_dim);
      add("v-head-dim", model.mla->v_head_dim);
    } else {
      add("kv-channels", model.head_dim);
      add_if(model.kv_heads != model.heads, "group-query-attention");
      if (model.kv_heads != model.heads) add("num-query-groups", model.kv_heads);
    }
    add_if(model.qk_norm || model.mla, "qk-layernorm");  // of latents, with latent attention
    if (model.attention_sinks) add("softmax-type", "learnable");
    if (model.window == 0) return;
    add("window-size", fmt::format("{},0", model.window - 1));  // tokens before a token
    if (model.full_attention_every > 0) add("window-attn-skip-freq", model.full_attention_every);
  }

  void hybrids() {
    for (std::string& word : hybrid_words(job_.model, book_)) words_.push_back(std::move(word));
  }

  void experts() {
    if (!job_.model.moe) return;
    const MoeShape& moe = *job_.model.moe;
    add("num-experts", moe.experts);
    add("moe-ffn-hidden-size", moe.expert_ffn_hidden);
    add("moe-router-topk", moe.top_k);
    if (moe.shared_ffn_hidden > 0)
      add("moe-shared-expert-intermediate-size", moe.shared_ffn_hidden);
    add_if(moe.shared_gate, "moe-shared-expert-gate");
    add_if(moe.router_bias, "moe-router-enable-expert-bias");
    if (job_.model.layer_pattern.empty() && (moe.first_dense_layers > 0 || moe.every > 1)) {
      std::string pattern;
      for (int layer = 0; layer < job_.model.layers; ++layer)
        pattern +=
            fmt::format("{}{}", layer > 0 ? "," : "", job_.model.is_moe_layer(layer) ? 1 : 0);
      add("moe-layer-freq", "[" + pattern + "]");
    }
    add_if(job_.training.grouped_experts, "moe-grouped-gemm");
    if (job_.training.router_fp32) add("moe-router-dtype", "fp32");
    const Training& training = job_.training;
    const bool forced = training.moe_routing.spread == ExpertSpread::forced;
    add_if(training.moe_imbalance == 1.0 || forced, "moe-router-force-load-balancing");
    if (training.moe_capacity > 0.0)
      add("moe-expert-capacity-factor", format_number(training.moe_capacity));
    dispatch();
    if (training.moe_imbalance > 1.0 ||
        (training.moe_routing.spread != ExpertSpread::stack && !forced))
      book_.leave_out("the imbalance of experts, which is data's");
  }

  void dispatch() {
    const ExpertDispatch dispatch = job_.communication.expert_dispatch;
    const bool fused = dispatch == ExpertDispatch::fused;
    if (dispatch == ExpertDispatch::all_gather || dispatch == ExpertDispatch::every_copy) {
      const bool gathers = dispatch == ExpertDispatch::all_gather;
      add("moe-token-dispatcher-type", gathers ? "allgather" : "alltoall");
      return;
    }
    add("moe-token-dispatcher-type", "flex");
    add("moe-flex-dispatcher-backend", fused ? "hybridep" : "deepep");
    if (const auto taken = job_.communication.expert_multiprocessors)
      add(fused ? "moe-hybridep-num-sms" : "moe-deepep-num-sms", *taken);
  }

  void training() {
    const Training& training = job_.training;
    add("seq-length", training.sequence);
    add("micro-batch-size", training.micro_batch);
    add("global-batch-size", training.global_batch);
    if (training.tokens)
      add("train-samples", fmt::format("{:.0f}", std::ceil(*training.tokens / training.sequence)));
    add("hidden-dropout", format_number(training.hidden_dropout));
    add("attention-dropout", format_number(training.attention_dropout));
    const bool muon = training.optimizer == OptimizerKind::muon;
    const bool sgd = training.optimizer == OptimizerKind::sgd;
    if (!muon && !sgd && training.optimizer != OptimizerKind::adamw)
      book_.refuse(fmt::format("training.optimizer: {}", name_of(training.optimizer)));
    book_.refuse_if(training.optimizer_in_backward, "training.optimizer_in_backward");
    book_.refuse_if(training.projection.projects(), "training.gradient_projection");
    if (muon) add("muon-num-ns-steps", training.newton_schulz_steps);
    add("optimizer", muon ? "muon" : sgd ? "sgd" : "adam");
    optimizer_state();
    book_.refuse_if(training.whole_tensor_shards && !muon, "training.whole_tensor_shards");
    add_if(training.whole_tensor_shards, "no-use-layer-wise-param-layout");
  }

  /// Of fp32 masters beside bf16 weights a precision-aware optimizer stores 16 bits.
  void optimizer_state() {
    const Training& training = job_.training;
    const bool usual = training.master_bytes == 4.0 && training.first_moment() == 4.0 &&
                       training.second_moment() == 4.0;
    if (!training.decoupled_gradients) return book_.refuse_if(!usual, "training.optimizer_state");
    const auto type = [&](const std::string& name, double bytes) {
      if (bytes != 4.0) add(name, bytes == 2.0 ? "bf16" : "fp8");
      book_.refuse_if(bytes != 4.0 && bytes != 2.0 && bytes != 1.0,
                      "training.optimizer_state of other than 1, 2 and 4 bytes");
    };
    const bool narrow = quantised(training.precision);
    const bool remainders =
        training.precision == Precision::bf16 || (narrow && !job_.memory.fp8_parameters);
    book_.refuse_if(remainders ? training.master_bytes != 2.0
                               : training.master_bytes != 4.0 && training.master_bytes != 2.0,
                    "training.optimizer_state.master; its precision-aware optimizer keeps 2 B "
                    "beside bf16 weights");
    add_if(true, "use-precision-aware-optimizer");
    if (!remainders && training.master_bytes == 2.0) add("main-params-dtype", "fp16");
    type("exp-avg-dtype", training.first_moment());
    type("exp-avg-sq-dtype", training.second_moment());
    if (job_.communication.gradient_dtype == Precision::bf16) add("main-grads-dtype", "bf16");
  }

  void precision() {
    const Training& training = job_.training;
    book_.refuse_if(training.precision == Precision::tf32, "precision tf32");
    const bool narrow = quantised(training.precision);
    book_.refuse_if(job_.memory.fp8_parameters && !narrow,
                    "memory.fp8_parameters without quantised training");
    add_if(training.precision == Precision::bf16 || narrow, "bf16");
    add_if(training.precision == Precision::fp16, "fp16");
    recipe();
    add_if(narrow && training.fp8_attention, "fp8-dot-product-attention");
    add_if(narrow && job_.memory.fp8_parameters, "fp8-param-gather");
    // Weights of mxfp8 are gathered in bf16, in the gradients' buffer, and cast by who receives.
    add_if(training.precision == Precision::mxfp8 && job_.memory.fp8_parameters,
           "reuse-grad-buf-for-mxfp8-param-ag");
    if (bf16_end_layers(training) == 0) return;
    add_if(true, "first-last-layers-bf16");
    add("num-layers-at-start-in-bf16", (training.bf16_end_layers + 1) / 2);
    add("num-layers-at-end-in-bf16", training.bf16_end_layers / 2);
  }

  /// Number format and scales of quantised training; fp8 with delayed scales is the default.
  void recipe() {
    const Training& training = job_.training;
    switch (training.precision) {
      case Precision::fp8:
        add("fp8-format", "hybrid");
        book_.refuse_if(training.fp8_scaling == Fp8Scaling::row, "training.fp8_scaling: row");
        if (training.fp8_scaling == Fp8Scaling::current) add("fp8-recipe", "tensorwise");
        break;
      case Precision::fp8_block:
      case Precision::mxfp8:
        add("fp8-format", "e4m3");
        add("fp8-recipe", training.precision == Precision::mxfp8 ? "mxfp8" : "blockwise");
        break;
      case Precision::nvfp4:
        add("fp4-format", "e2m1");
        add("fp4-recipe", "nvfp4");
        break;
      default:
        break;
    }
  }

  void parallel() {
    const Parallel& parallel = job_.parallel;
    add("tensor-model-parallel-size", parallel.tensor);
    add_if(parallel.sequence, "sequence-parallel");
    add("pipeline-model-parallel-size", parallel.pipeline);
    add("context-parallel-size", parallel.context);
    const ContextExchange exchange = job_.communication.context_exchange;
    if (exchange != ContextExchange::ring)
      add("cp-comm-type", exchange == ContextExchange::all_gather ? "allgather" : "a2a");
    if (job_.model.moe) {
      add("expert-model-parallel-size", parallel.expert);
      add("expert-tensor-parallel-size", parallel.expert_tensor_size());
    }
    add_if(parallel.order == stages_in_replica, "use-tp-pp-dp-mapping");
    book_.refuse_if(parallel.order != stages_in_replica && parallel.order != data_in_stage,
                    "parallel.order");
    const bool interleaved = parallel.schedule == ScheduleKind::interleaved;
    if (!interleaved && parallel.schedule != ScheduleKind::one_f_one_b)
      book_.refuse(fmt::format("schedule {}", name_of(parallel.schedule)));
    if (parallel.microbatch_group > 0)
      add("microbatch-group-size-per-virtual-pipeline-stage", parallel.microbatch_group);
    book_.refuse_if(parallel.vocabulary != VocabularyKind::ends, "a vocabulary that is split");
  }

  /// Even chunks need no more than their number; others are written out, chunk by chunk.
  void layout() {
    const Parallel& parallel = job_.parallel;
    if (parallel.pipeline == 1) return;
    const StageLayout layout = stage_layout(job_.model, parallel);
    const int predicting = parallel.prediction_stage.value_or(parallel.pipeline - 1);
    const std::string modules(static_cast<std::size_t>(job_.model.mtp_layers), 'm');
    std::string text = "E";
    bool even = true;
    for (int chunk = 0; chunk < parallel.virtual_stages; ++chunk)
      for (int stage = 0; stage < parallel.pipeline; ++stage) {
        const int layers =
            layout.chunks[static_cast<std::size_t>(stage)][static_cast<std::size_t>(chunk)].layers;
        even = even && layers * parallel.pipeline * parallel.virtual_stages == job_.model.layers;
        if (chunk + stage > 0) text += "|";
        if (layers > 0) text += fmt::format("t*{}", layers);
        if (chunk + 1 == parallel.virtual_stages && stage == predicting) text += modules;
      }
    even = even && !predicts_apart(job_);
    if (!even)
      add("pipeline-model-parallel-layout", text + "L");
    else if (parallel.virtual_stages > 1)
      add("num-virtual-stages-per-pipeline-rank", parallel.virtual_stages);
  }

  void sharding() {
    const Parallel& parallel = job_.parallel;
    add_if(parallel.zero == 1, "use-distributed-optimizer");
    book_.refuse_if(parallel.zero >= 2 && parallel.pipeline > 1,
                    "sharded gradients (parallel.zero 2 or 3) under a pipeline");
    if (parallel.zero >= 2) {
      add_if(true, "use-distributed-optimizer");
      add_if(true, "use-megatron-fsdp");
      add("data-parallel-sharding-strategy",
          parallel.zero == 2 ? "optim_grads" : "optim_grads_params");
    }
    if (parallel.zero_group == 0) return;
    book_.refuse_if(parallel.zero > 1, "hybrid sharding of more than the optimizer");
    if (parallel.data % parallel.zero_group != 0)
      book_.refuse("a zero_group that does not divide the data-parallel ranks");
    else
      add("num-distributed-optimizer-instances", parallel.data / parallel.zero_group);
  }

  void memory() {
    const MemoryOptions& memory = job_.memory;
    const bool local = job_.stack.name == "megatron-core-local";
    add("transformer-impl", local ? "local" : "transformer_engine");
    if (!local && job_.stack.name != "megatron-core")
      book_.leave_out("the software, " + job_.stack.name + "; this is Megatron-Core of today");
    const bool flash = memory.attention == AttentionKind::flash;
    add("attention-backend", flash ? "flash" : "unfused");
    add_if(!memory.fused_activation, "no-bias-swiglu-fusion");
    add_if(!memory.fused_softmax, "no-masked-softmax-fusion");
    add_if(!memory.fused_softmax, "attention-softmax-in-fp32");
    add_if(memory.fused_loss, "cross-entropy-loss-fusion");
    if (memory.fused_loss_engine) add("cross-entropy-fusion-impl", "te");
    add_if(memory.fused_permutation && job_.model.moe.has_value(), "moe-permute-fusion");
    add_if(!memory.fused_gradient_accumulation, "no-gradient-accumulation-fusion");
    add_if(memory.deterministic, "deterministic-mode");
    add_if(!memory.attention_mask, "no-create-attention-mask-in-dataloader");
    book_.refuse_if(memory.attention_library != AttentionLibrary::stack,
                    "memory.attention_library");
    book_.refuse_if(memory.fused_norm, "memory.fused_norm");
    book_.refuse_if(job_.training.fused_kernels.any(), "training.fused_kernels");
    book_.refuse_if(memory.offload == OffloadKind::optimizer_and_parameters,
                    "offloaded parameters");
    book_.refuse_if(memory.offload == OffloadKind::paged, "memory.offload: paged");
    add_if(memory.offload == OffloadKind::optimizer, "optimizer-cpu-offload");
    offload_modules(memory.activation_offload);
    if (memory.offloaded_layers > 0) {
      add_if(true, "cpu-offloading");
      add("cpu-offloading-num-layers", memory.offloaded_layers);
    }
    add_if(job_.communication.scatter_gather == false, "no-scatter-gather-tensors-in-pipeline");
  }

  void offload_modules(const LayerModules& modules) {
    std::string names;
    const auto name = [&](bool holds, const char* text) {
      if (holds) names += std::string(names.empty() ? "" : " ") + text;
    };
    name(modules.attention_norm, "attn_norm");
    name(modules.mlp_norm, "mlp_norm");
    name(modules.qkv_linear, "qkv_linear");
    name(modules.core_attention, "core_attn");
    name(modules.attention_projection, "attn_proj");
    name(modules.expert_fc1, "expert_fc1");
    name(modules.activation, "moe_act");
    book_.refuse_if(
        modules.mlp || modules.moe || modules.shared_experts || modules.mla_up_projection,
        "some modules of memory.activation_offload");
    if (names.empty()) return;
    add_if(true, "fine-grained-activation-offloading");
    add("offload-modules", names);
  }

  void recompute() {
    const Recompute& recompute = job_.memory.recompute;
    if (recompute.kind == RecomputeKind::none) return;
    add("recompute-granularity", std::string(name_of(recompute.kind)));
    if (recompute.kind == RecomputeKind::full) {
      add("recompute-method", std::string(name_of(recompute.method)));
      add("recompute-num-layers", recompute.layers);
      add_if(recompute.distribute_saved, "distribute-saved-activations");
      return;
    }
    book_.refuse_if(recompute.every_second_matmul, "recompute.every_second_matmul");
    const LayerModules& modules = recompute.modules;
    std::string names;
    const auto name = [&](bool holds, const char* text) {
      if (holds) names += std::string(names.empty() ? "" : " ") + text;
    };
    name(modules.core_attention, "core_attn");
    name(modules.attention_norm && modules.mlp_norm, "layernorm");
    name(modules.mla_up_projection, "mla_up_proj");
    name(modules.activation, "moe_act");
    name(modules.mlp, "mlp");
    name(modules.moe, "moe");
    name(modules.shared_experts, "shared_experts");
    book_.refuse_if(modules.attention_norm != modules.mlp_norm || modules.qkv_linear ||
                        modules.attention_projection || modules.expert_fc1,
                    "some modules of memory.recompute");
    if (!names.empty()) add("recompute-modules", names);
  }

  void graphs() {
    const CudaGraphs& graphs = job_.training.cuda_graphs;
    if (!graphs.any()) return;
    const bool whole = graphs.has(GraphPart::full_iteration);
    add("cuda-graph-impl", whole ? "local" : "transformer_engine");
    add_if(true, "te-rng-tracker");
    std::string parts;
    for (const auto& [name, part] : megatron_graph_parts) {
      if (!graphs.has(part) || whole != (part == GraphPart::full_iteration)) continue;
      parts += (parts.empty() ? "" : " ") + std::string(name);
    }
    add("cuda-graph-scope", parts);
  }

  void communication() {
    const Communication& communication = job_.communication;
    const Overlap& overlap = communication.overlap;
    const Parallel& parallel = job_.parallel;
    const bool fsdp = parallel.zero >= 2;
    add_if(overlap.gradients || fsdp, "overlap-grad-reduce");
    book_.refuse_if(fsdp && !(overlap.gradients && overlap.parameters),
                    "sharded weights without overlap");
    // Without shards there is nothing to gather.
    add_if((overlap.parameters && parallel.zero == 1) || fsdp, "overlap-param-gather");
    add_if(overlap.tensor && parallel.sequence, "tp-comm-overlap");
    add_if(overlap.experts && job_.model.moe, "overlap-moe-expert-parallel-comm");
    add_if(!overlap.pipeline && parallel.schedule == ScheduleKind::interleaved,
           "no-overlap-p2p-communication");
    add_if(communication.gradient_dtype == Precision::bf16, "grad-reduce-in-bf16");
    if (communication.gradient_dtype == Precision::fp16)
      book_.leave_out("gradients reduced in fp16; Megatron-Core takes fp32");
    if (communication.backend != Backend::nccl)
      book_.refuse(fmt::format("backend {}", name_of(communication.backend)));
    if (communication.bucket != Communication{}.bucket)
      book_.leave_out("the gradient bucket, which Megatron sizes by itself");
  }

  const Job& job_;
  ExportBook& book_;
  std::vector<std::string> words_;
};

}  // namespace

std::vector<std::string> megatron_words(const Job& job, ExportBook& book) {
  return MegatronWriter(job, book).run();
}

}  // namespace foretrain
