// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/inputs/recipe.hpp"
#include "models/layers/layer_ends.hpp"
#include "planner/exchange/exports.hpp"
#include "planner/exchange/megatron_export.hpp"
#include "planner/text/quoting.hpp"
#include "scenarios/imports/megatron/megatron_arguments.hpp"
#include "scenarios/imports/megatron/megatron_shape.hpp"
#include "scenarios/sections/hybrid_keys.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

/// Collects arguments; every function writes one group of them that is no row. Names and meanings:
/// Megatron-LM, megatron/training/arguments.py.
class MegatronWriter {
 public:
  MegatronWriter(const Job& job, ExportBook& book, ExportBook& model)
      : job_{job}, book_{book}, model_{model} {}

  MegatronArguments run() {
    shape();
    experts();
    rows();
    training();
    precision();
    parallel();
    layout();
    sharding();
    memory();
    recompute();
    graphs();
    communication();
    return std::move(arguments_);
  }

 private:
  void add(const std::string& name, const std::string& value) { arguments_[name] = value; }
  void add(const std::string& name, int value) { add(name, std::to_string(value)); }
  void add_if(bool holds, const std::string& name) {
    if (holds) add(name, "true");
  }
  /// The word of a term for a value, where it is not the usual one; a value without is refused.
  void add_word(const char* term, const std::string& value, const char* key) {
    const DialectTerm& words = *megatron_dialect().term(term);
    const auto word = word_of(words, value);
    if (!word) return book_.refuse(fmt::format("{}: {}", key, value));
    if (*word != words.usual) add(words.keys.front(), *word);
  }
  /// A list of words that together say a set; false where they do not.
  bool add_list(const char* term, const std::vector<std::string>& values) {
    const DialectTerm& list = *megatron_dialect().term(term);
    std::vector<std::string> said;
    std::string text;
    for (const std::string& word : words_of(list, values, said))
      text += (text.empty() ? "" : " ") + word;
    if (!text.empty()) add(list.keys.front(), text);
    return std::ranges::all_of(values, [&](const auto& value) { return contains(said, value); });
  }

  void shape() {
    const LlmShape& model = job_.model;
    book_.refuse_if(model.position == PositionKind::alibi, "ALiBi positions");
    std::vector<std::string> lost;
    arguments_ = megatron_shape_arguments(model, &lost);
    for (std::string& sentence : lost) model_.leave_out(std::move(sentence));
    if (model.mla) arguments_.erase("kv-channels");
    if (model.position != PositionKind::learned)
      add("max-position-embeddings", job_.training.sequence);
    book_.refuse_if(model.norm_bias == (model.norm == NormKind::rmsnorm),
                    "norms with another bias than usual");
    book_.refuse_if(model.norms_per_layer != 2, "layers with other than two norms");
    book_.refuse_if(model.embedding_norm, "a norm behind the embedding");
    const bool inner = model.attention_output_bias;
    book_.refuse_if(inner != model.mlp_bias || (inner && !model.qkv_bias),
                    "biases on some projections only");
    // The null tokenizer adds an end of document to its vocabulary.
    add("tokenizer-type", "NullTokenizer");
    add("vocab-size", model.vocabulary - 1);
    model_.leave_out("data and tokenizer; a NullTokenizer of the same vocabulary stands for them");
    put_hybrid_arguments(model, book_, arguments_);
  }

  /// What is a key of its own.
  void rows() {
    DialectText text = write_keys(megatron_dialect(), job_, {});
    for (const DialectWord& word : text.words) add(word.key, word.text);
    for (std::string& what : text.refused) book_.refuse(std::move(what));
    if (!job_.model.moe)
      for (const char* name : {"expert-model-parallel-size", "moe-permute-fusion"})
        arguments_.erase(name);
  }

  void experts() {
    if (!job_.model.moe) return;
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
    const std::string dispatch{name_of(job_.communication.expert_dispatch)};
    const DialectTerm& term = *megatron_dialect().term("dispatch");
    const std::string word = word_of(term, dispatch).value_or("");
    const auto blank = word.find(' ');
    add(term.keys.front(), word.substr(0, blank));
    if (blank != std::string::npos) add(term.keys.back(), word.substr(blank + 1));
    const auto taken = job_.communication.expert_multiprocessors;
    const auto name = word_of(*megatron_dialect().term("dispatch_multiprocessors"), dispatch);
    if (taken && name) add(*name, *taken);
  }

  void training() {
    const Training& training = job_.training;
    add("global-batch-size", training.global_batch);
    if (training.tokens)
      add("train-samples", fmt::format("{:.0f}", std::ceil(*training.tokens / training.sequence)));
    const bool muon = training.optimizer == OptimizerKind::muon;
    const auto kind = word_of(*megatron_dialect().term("optimizer"), name_of(training.optimizer));
    add("optimizer", kind.value_or(""));
    if (!kind) book_.refuse(fmt::format("training.optimizer: {}", name_of(training.optimizer)));
    book_.refuse_if(training.optimizer_in_backward, "training.optimizer_in_backward");
    book_.refuse_if(training.projection.projects(), "training.gradient_projection");
    if (muon) add("muon-num-ns-steps", training.newton_schulz_steps);
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
      const auto word = word_of(*megatron_dialect().term("state_bytes"), format_number(bytes));
      if (bytes != 4.0) add(name, word.value_or(""));
      book_.refuse_if(!word, "training.optimizer_state of other than 1, 2 and 4 bytes");
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
    if (training.precision == Precision::nvfp4) {
      add("fp4-format", "e2m1");
      add("fp4-recipe", "nvfp4");
    }
    const std::string precision{name_of(training.precision)};
    const auto format = word_of(*megatron_dialect().term("fp8_format"), precision);
    if (!format) return;
    add("fp8-format", *format);
    if (training.precision == Precision::fp8)
      add_word("fp8_recipe", std::string(name_of(training.fp8_scaling)), "training.fp8_scaling");
    else
      add_word("fp8_recipe", precision, "training.precision");
  }

  void parallel() {
    const Parallel& parallel = job_.parallel;
    if (job_.model.moe) add("expert-tensor-parallel-size", parallel.expert_tensor_size());
    book_.refuse_if(parallel.order != stages_in_replica && parallel.order != data_in_stage,
                    "parallel.order");
    const bool interleaved = parallel.schedule == ScheduleKind::interleaved;
    if (!interleaved && parallel.schedule != ScheduleKind::one_f_one_b)
      book_.refuse(fmt::format("schedule {}", name_of(parallel.schedule)));
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
      add_word("sharding", std::to_string(parallel.zero), "parallel.zero");
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
    add_if(!memory.fused_softmax, "no-masked-softmax-fusion");
    add_if(!memory.fused_softmax, "attention-softmax-in-fp32");
    book_.refuse_if(memory.attention_library != AttentionLibrary::stack,
                    "memory.attention_library");
    book_.refuse_if(memory.fused_norm, "memory.fused_norm");
    book_.refuse_if(job_.training.fused_kernels.any(), "training.fused_kernels");
    book_.refuse_if(memory.offload == OffloadKind::optimizer_and_parameters,
                    "offloaded parameters");
    book_.refuse_if(memory.offload == OffloadKind::paged, "memory.offload: paged");
    add_if(memory.offload == OffloadKind::optimizer, "optimizer-cpu-offload");
    const auto modules = layer_module_names(memory.activation_offload);
    add_if(!modules.empty(), "fine-grained-activation-offloading");
    book_.refuse_if(!add_list("offload_modules", modules),
                    "some modules of memory.activation_offload");
    add_if(memory.offloaded_layers > 0, "cpu-offloading");
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
    book_.refuse_if(!add_list("recompute_modules", layer_module_names(recompute.modules)),
                    "some modules of memory.recompute");
  }

  void graphs() {
    const CudaGraphs& graphs = job_.training.cuda_graphs;
    if (!graphs.any()) return;
    const bool whole = graphs.has(GraphPart::full_iteration);
    add("cuda-graph-impl", whole ? "local" : "transformer_engine");
    add_if(true, "te-rng-tracker");
    std::vector<std::string> parts;
    for (const auto& [part, name] : EnumNames<GraphPart>::names)
      if (graphs.has(part) && whole == (part == GraphPart::full_iteration))
        parts.emplace_back(name);
    add_list("graph_parts", parts);
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
  ExportBook& model_;
  MegatronArguments arguments_;
};

}  // namespace

MegatronArguments megatron_arguments(const Job& job, ExportBook& book, ExportBook& model) {
  return MegatronWriter(job, book, model).run();
}

std::vector<std::string> megatron_words(const Job& job, ExportBook& book) {
  MegatronArguments arguments = megatron_arguments(job, book, book);
  std::vector<std::string> words;
  for (const std::string_view name : megatron_dialect().keys_of("written"))
    if (const auto said = arguments.extract(std::string(name)); !said.empty()) {
      const std::string& value = said.mapped();
      // Values of several words are several words; others may hold what a shell would expand.
      const bool several = value.find(' ') != std::string::npos;
      words.push_back(fmt::format("--{}", name));
      if (value != "true") words.back() += " " + (several ? value : shell_word(value));
    }
  FORETRAIN_REQUIRE(arguments.empty());
  return words;
}

}  // namespace foretrain
