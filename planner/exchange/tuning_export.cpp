// SPDX-License-Identifier: Apache-2.0
// Configurations of fine-tuning frameworks, in the terms of their dialects (scenarios/dialects).
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "models/inputs/recipe.hpp"
#include "models/layers/adapter_layers.hpp"
#include "planner/edit/yaml_edit.hpp"
#include "planner/exchange/exports.hpp"
#include "planner/text/quoting.hpp"
#include "scenarios/imports/frameworks/adapter_targets.hpp"
#include "scenarios/imports/tuning/tuning_keys.hpp"

namespace foretrain {
namespace {

constexpr auto module_names = std::to_array<std::pair<AdapterTarget, std::string_view>>(
    {{AdapterTarget::query, "q_proj"},
     {AdapterTarget::key, "k_proj"},
     {AdapterTarget::value, "v_proj"},
     {AdapterTarget::qkv, "qkv_proj"},
     {AdapterTarget::projection, "o_proj"},
     {AdapterTarget::gate, "gate_proj"},
     {AdapterTarget::up, "up_proj"},
     {AdapterTarget::fc1, "gate_up_proj"},
     {AdapterTarget::fc2, "down_proj"},
     {AdapterTarget::query_down, "q_a_proj"},
     {AdapterTarget::query_up, "q_b_proj"},
     {AdapterTarget::key_value_down, "kv_a_proj_with_mqa"},
     {AdapterTarget::key_value_up, "kv_b_proj"},
     {AdapterTarget::mixer_in, "in_proj"},
     {AdapterTarget::mixer_qkvz, "in_proj_qkvz"},
     {AdapterTarget::mixer_ba, "in_proj_ba"},
     {AdapterTarget::mixer_out, "out_proj"},
     {AdapterTarget::router, "gate"},
     {AdapterTarget::shared_gate, "shared_expert_gate"}});

bool offloads_all(const Job& job) { return job.memory.offloaded_layers >= job.model.layers; }

/// Writes one configuration; every member writes one group of its keys.
class TuningWriter {
 public:
  TuningWriter(const Job& job, std::string model, const Dialect& dialect, ExportBook& book)
      : job_{job}, model_{std::move(model)}, dialect_{dialect}, book_{book} {}

  DialectWords write() {
    add_model();
    add_batch();
    add_precision();
    add_adapter();
    add_kernels();
    add_sharding();
    return std::move(words_);
  }

 private:
  [[nodiscard]] bool has(std::string_view says) const { return dialect_.term(says) != nullptr; }

  /// Writes a value under the key of a term; false where the framework has no word for it.
  bool add(std::string_view says, std::string_view value, bool quoted = false) {
    const DialectTerm* const term = dialect_.term(says);
    const auto word = term == nullptr ? std::nullopt : word_of(*term, value);
    if (!word) return false;
    const bool text = quoted || (!term->values.empty() && is_text(*word));
    if (!term->keys.empty()) words_.push_back({term->keys.front(), *word, text});
    return true;
  }
  /// Numbers and switches.
  template <class Value>
  bool put(std::string_view says, Value value) {
    return add(says, fmt::format("{}", value));
  }

  static bool is_text(const std::string& word) {
    return word != "true" && word != "false" && !word.starts_with('[') &&
           word.find_first_not_of("0123456789.") < word.size();
  }

  /// The same, and the export is refused where there is no word.
  void need(std::string_view says, std::string_view value, std::string_view what) {
    if (!add(says, value)) book_.refuse(std::string(what));
  }

  void add_model() {
    put("run", true);
    add("model", model_, true);
    const Objective objective = job_.fine_tuning.objective;
    if (!add("objective", name_of(objective)) && objective != Objective::next_token)
      book_.refuse(fmt::format("fine_tuning.objective: {}", name_of(objective)));
    if (objective == Objective::preference) add_reference();
  }

  void add_reference() {
    const ReferenceKind reference = job_.fine_tuning.reference;
    const auto usual =
        job_.fine_tuning.adapts() ? ReferenceKind::without_adapters : ReferenceKind::copy;
    if (reference == ReferenceKind::precomputed)
      need("reference", "precomputed", "fine_tuning.reference: precomputed");
    else
      book_.refuse_if(reference != usual, "fine_tuning.reference: copy beside adapters");
  }

  void add_batch() {
    const Training& training = job_.training;
    // Both answers of a pair are a sequence each.
    const int pair = job_.fine_tuning.pairs() ? 2 : 1;
    put("sequence", training.sequence);
    put("micro_batch", training.micro_batch / pair);
    put("accumulation", job_.microbatches());
    if (const auto steps = training_steps(training)) put("steps", *steps);
    if (training.samples.layout == SampleLayout::packed) put("packing", true);
  }

  void add_precision() {
    const Precision precision = job_.training.precision;
    book_.refuse_if(quantised(precision), "precision other than bf16, fp16, tf32 and fp32");
    const bool half = precision == Precision::bf16 || precision == Precision::fp16;
    put("bf16", precision == Precision::bf16);
    if (precision == Precision::fp16) put("fp16", true);
    if (precision == Precision::tf32) need("tf32", "true", "training.precision: tf32");
    if (half && !job_.fine_tuning.adapts()) add_masters();
  }

  /// Weights, gradients and moments in 16 bits; FSDP keeps fp32 masters wherever a framework does
  /// not say so itself.
  void add_masters() {
    const bool narrow = job_.training.master_weights == MasterWeights::none;
    const bool shards = job_.parallel.zero > 1;
    const DialectTerm* const term = dialect_.term("narrow");
    const bool says_both = term != nullptr && word_of(*term, "false").has_value();
    if (narrow && shards && !says_both)
      return book_.refuse("training.master_weights: none under FSDP, whose shards are fp32");
    if (narrow) return need("narrow", "true", "training.master_weights: none");
    book_.refuse_if(term != nullptr && term->keys.empty() && !shards,
                    "training.master_weights: fp32 without FSDP, since the framework loads 16 bits "
                    "and trains them");
  }

  void add_adapter() {
    const FineTuning& tuning = job_.fine_tuning;
    book_.refuse_if(tuning.frozen_layers > 0, "fine_tuning.frozen_layers");
    book_.refuse_if(tuning.trained.has_value() && !trains_beside(tuning), "fine_tuning.trained");
    const std::string_view kind = !tuning.adapts()        ? "none"
                                  : tuning.packs_frozen() ? "packed"
                                                          : "lora";
    if (!add("adapter.switch", kind)) add("adapter", kind);
    if (!tuning.adapts()) return;
    put("rank", tuning.rank);
    put("dropout", tuning.dropout);
    if (tuning.adapter == AdapterKind::dora) need("dora", "true", "fine_tuning.adapter: dora");
    add_targets(tuning);
    if (tuning.trained) add_trained(*tuning.trained);
    add_frozen(tuning);
  }

  /// Embedding and output, which PEFT saves and trains whole beside adapters.
  static bool trains_beside(const FineTuning& tuning) {
    EnumSet<ModelPart> beside = *tuning.trained;
    beside.add({ModelPart::embedding, ModelPart::output});
    return tuning.adapts() && beside == EnumSet{ModelPart::embedding, ModelPart::output};
  }

  void add_trained(const EnumSet<ModelPart>& parts) {
    std::vector<std::string> names;
    if (parts.has(ModelPart::embedding)) names.emplace_back("embed_tokens");
    if (parts.has(ModelPart::output)) names.emplace_back("lm_head");
    if (!add_list("trained_too", "trained_words", names)) book_.refuse("fine_tuning.trained");
  }

  bool add_list(std::string_view list, std::string_view one_text,
                const std::vector<std::string>& names) {
    std::string quoted, plain;
    for (const std::string& name : names) {
      quoted += fmt::format("{}\"{}\"", quoted.empty() ? "" : ", ", name);
      plain += (plain.empty() ? "" : ",") + name;
    }
    return add(list, "[" + quoted + "]") || add(one_text, plain);
  }

  void add_targets(const FineTuning& tuning) {
    refuse_experts(tuning);
    const FoundTargets all =
        found_targets(job_.model, [](const LinearModule& module) { return module.linear; });
    if (tuning.targets == all.targets && put("all_linear", true)) return;
    std::vector<std::string> names;
    for (const auto& [target, name] : module_names)
      if (tuning.targets.has(target)) names.emplace_back(name);
    add_list("targets", "target_words", names);
    book_.leave_out("names of other linear layers than Llama's, where the model has them");
  }

  /// Names of MLPs take experts where those are linear layers of their own, in a loop.
  void refuse_experts(const FineTuning& tuning) {
    const LlmShape& model = job_.model;
    const bool fused = has_fused_experts(model);
    const bool packed = tuning.packs_frozen() && model.moe;
    book_.refuse_if(packed && tuning.packed_experts == fused, "fine_tuning.packed_experts");
    if (!model.moe) return;
    FineTuning beside = tuning;
    beside.expert_adapters = ExpertAdapters::per_expert;
    if (!adapts_experts(model, beside)) return;
    const bool looped = tuning.expert_adapters == ExpertAdapters::per_expert && !fused &&
                        !job_.training.grouped_experts;
    const bool none = tuning.expert_adapters == ExpertAdapters::none && fused;
    book_.refuse_if(!looped && !none, "fine_tuning.expert_adapters");
  }

  void add_frozen(const FineTuning& tuning) {
    const FrozenFormat format = tuning.frozen_format;
    book_.refuse_if(format == FrozenFormat::gptq,
                    "fine_tuning.frozen_format: gptq, which a "
                    "checkpoint decides");
    const bool twice = format == FrozenFormat::nf4_double;
    const bool four = format == FrozenFormat::nf4 || twice;
    const bool eight = format == FrozenFormat::int8;
    const bool usually_four = dialect_.usual("four_bits") == "true";
    if (has("bits")) {
      if (four || eight) put("bits", four ? 4 : 8);
    } else if (four || usually_four) {
      put("four_bits", four);
    }
    if (eight && !has("bits")) need("eight_bits", "true", "fine_tuning.frozen_format: int8");
    if (!four || twice == (dialect_.usual("double_scales") == "true")) return;
    if (dialect_.keys_of("double_scales").empty())
      book_.refuse(fmt::format("fine_tuning.frozen_format: {}", name_of(format)));
    else
      put("double_scales", twice);
  }

  void add_optimizer() {
    const Training& training = job_.training;
    const std::string_view name = tuning::optimizer_name(training, job_.memory.offload);
    const bool muon = training.optimizer == OptimizerKind::muon;
    if (name.empty() || (muon && !has("muon")))
      book_.refuse(fmt::format("training.optimizer: {}", name_of(training.optimizer)));
    add("optimizer", name, true);
  }

  /// Recomputation, with the inputs of layers in host memory: a switch of its own, or a word of
  /// the same key; of some layers there is no key.
  void add_recompute() {
    const RecomputeKind kind = job_.memory.recompute.kind;
    const bool again = kind == RecomputeKind::full;
    const bool away = offloads_all(job_);
    book_.refuse_if(!again && kind != RecomputeKind::none,
                    "memory.recompute other than none and full");
    if (away && again && add("recompute.offloaded", "full")) return;
    add("recompute", name_of(kind));
    if (away && !(runs_unsloth() && has("unsloth")))
      need("offload.activations", "true", "memory.offloaded_layers");
  }

  void add_kernels() {
    add_optimizer();
    add_recompute();
    const bool flash = job_.memory.attention == AttentionKind::flash;
    const bool third = flash && job_.memory.attention_library == AttentionLibrary::flash3;
    if (!third || !put("attention.flash3", true))
      need(flash ? "attention.flash" : "attention.unfused", "true",
           fmt::format("memory.attention: {}", name_of(job_.memory.attention)));
    if (job_.stack.name == "fsdp2-compile") need("compile", "true", "stack: fsdp2-compile");
    add_fused();
  }

  /// All kernels of Unsloth, and its checkpoints in host memory.
  [[nodiscard]] bool runs_unsloth() const {
    return offloads_all(job_) && job_.training.fused_kernels == kernels_of("unsloth");
  }

  /// Kernels one by one where the framework names them, since each has a default of its own.
  void add_fused() {
    using enum FusedKernel;
    const FusedKernels& fused = job_.training.fused_kernels;
    if (runs_unsloth() && put("unsloth", true)) return;
    if (!has("liger"))
      return book_.refuse(
          "training.fused_kernels other than those of Unsloth with memory.offloaded_layers of "
          "all layers");
    const bool lora_word = has("kernel.lora");
    if (fused.has(lora) && !lora_word)
      book_.refuse(
          "training.fused_kernels: lora, which is Unsloth's: foretrain export axolotl, or "
          "llamafactory where all its kernels and memory.offloaded_layers of all layers are set "
          "(use_unsloth)");
    const std::array kernels{norm, rope, swiglu, loss, linear_loss};
    if (std::ranges::any_of(kernels, [&](FusedKernel kernel) { return fused.has(kernel); }))
      add_liger(fused, kernels);
    if (fused.has(lora)) put("kernel.lora", true);
  }

  void add_liger(const FusedKernels& fused, const std::array<FusedKernel, 5>& kernels) {
    put("liger", true);
    const FusedKernels all = kernels_of("liger");
    const bool apart = has("kernel.norm");
    for (const FusedKernel kernel : kernels)
      if (apart)
        put(fmt::format("kernel.{}", name_of(kernel)), fused.has(kernel));
      else if (fused.has(kernel) != all.has(kernel))
        return book_.refuse("some of Liger's kernels; its one switch turns all of them on");
  }

  void add_sharding() {
    const Parallel& parallel = job_.parallel;
    const OffloadKind offload = job_.memory.offload;
    book_.refuse_if(parallel.zero == 1,
                    "parallel.zero: 1, which takes a file of DeepSpeed: foretrain export "
                    "deepspeed");
    book_.refuse_if(offload == OffloadKind::optimizer,
                    "memory.offload: optimizer, which takes a file of DeepSpeed: foretrain export "
                    "deepspeed");
    book_.refuse_if(parallel.zero_group > 0, "parallel.zero_group");
    if (parallel.zero < 2) return;
    need("fsdp", "true", fmt::format("parallel.zero: {}", parallel.zero));
    put("fsdp.version", true);
    put("fsdp.wrap", true);
    put("fsdp.reshard", parallel.zero == 3);
    if (offload == OffloadKind::optimizer_and_parameters) put("fsdp.offload", true);
  }

  const Job& job_;
  std::string model_;
  const Dialect& dialect_;
  ExportBook& book_;
  DialectWords words_;
};

/// What the configuration says of a plan.
SaidKeys said_by_tuning(const Job& job, const Dialect& dialect) {
  SaidKeys said{"training.sequence",
                "training.micro_batch",
                "training.global_batch",
                "training.tokens",
                "training.optimizer",
                "training.optimizer_state.first_moment",
                "training.optimizer_state.second_moment",
                "training.master_weights",
                "training.fused_kernels",
                "training.samples",
                "training.vocabulary_multiple",
                "fine_tuning",
                "parallel.zero",
                "memory.recompute.granularity",
                "memory.attention",
                "memory.offload",
                "communication.bucket"};
  const Recompute& recompute = job.memory.recompute;
  if (recompute.method == RecomputeMethod::uniform && recompute.layers == 1)
    said.insert({"memory.recompute.method", "memory.recompute.layers"});
  const bool third = job.memory.attention_library == AttentionLibrary::flash3;
  if (third && dialect.term("attention.flash3") != nullptr) said.insert("memory.attention_library");
  if (offloads_all(job)) said.insert("memory.offloaded_layers");
  const bool narrow = job.training.narrow_weights();
  if (job.communication.gradient_dtype == (narrow ? job.training.precision : Precision::fp32))
    said.insert("communication.gradient_dtype");
  return said;
}

/// Options of a command, groups of them in JSON.
std::string as_options(const DialectWords& words) {
  std::string text;
  for (const WordGroup& group : groups_of(words)) {
    std::string members;
    for (const DialectWord& word : group.words)
      members += fmt::format("{}\"{}\": {}", members.empty() ? "" : ", ", word.key,
                             word.quoted ? YamlText::quoted(word.text) : word.text);
    const bool single = group.words.front().key.empty();
    // A list is as many words.
    std::string value = single ? group.words.front().text : "{" + members + "}";
    if (single && value.starts_with('[')) {
      std::erase_if(value, [](char c) { return c == '[' || c == ']' || c == '"' || c == ','; });
      text += fmt::format(" \\\n    --{} {}", group.name, value);
    } else {
      text += fmt::format(" \\\n    --{} {}", group.name, shell_word(value));
    }
  }
  return text + "\n";
}

std::string python_value(const DialectWord& word) {
  if (word.text == "true") return "True";
  if (word.text == "false") return "False";
  return word.quoted ? YamlText::quoted(word.text) : word.text;
}

/// The keyword arguments of one call, a line each.
std::string as_arguments(const DialectWords& words, std::string_view call, int depth = 4) {
  std::string text;
  for (const WordGroup& group : groups_of(words)) {
    if (group.name != call) continue;
    for (const DialectWord& word : group.words)
      text += fmt::format("{:{}}{}={},\n", "", depth, word.key, python_value(word));
  }
  return text;
}

/// A script that lacks its data alone.
std::string unsloth_script(const DialectWords& words, bool adapts) {
  std::string text =
      "from unsloth import FastLanguageModel\nfrom trl import SFTConfig, SFTTrainer\n\n"
      "model, tokenizer = FastLanguageModel.from_pretrained(\n" +
      as_arguments(words, "from_pretrained") +
      (adapts ? "" : as_arguments(words, "get_peft_model")) + ")\n";
  if (adapts)
    text += "model = FastLanguageModel.get_peft_model(\n    model,\n" +
            as_arguments(words, "get_peft_model") + ")\n";
  return text +
         "dataset = ...  # of your own\n"
         "trainer = SFTTrainer(\n    model=model,\n    processing_class=tokenizer,\n"
         "    train_dataset=dataset,\n    args=SFTConfig(\n" +
         as_arguments(words, "SFTConfig", 8) + "    ),\n)\ntrainer.train()\n";
}

/// A line that starts ms-swift on the GPUs of a host.
std::string swift_script(const DialectWords& words, const Job& job) {
  const Cluster& cluster = job.cluster;
  const bool tunes = job.fine_tuning.objective == Objective::next_token;
  std::string start = fmt::format("NPROC_PER_NODE={}", cluster.host.gpus);
  if (cluster.hosts > 1)
    start += fmt::format(" NNODES={} NODE_RANK=${{NODE_RANK}} MASTER_ADDR=${{MASTER_ADDR}}",
                         cluster.hosts);
  return start + " swift " + (tunes ? "sft" : "rlhf") + as_options(words);
}

std::string tuning_text(ExportKind kind, DialectWords words, const Job& job) {
  if (kind == ExportKind::unsloth) return unsloth_script(words, job.fine_tuning.adapts());
  if (kind == ExportKind::swift) return swift_script(words, job);
  for (DialectWord& word : words)
    if (word.quoted) word.text = yaml_scalar(word.text);
  return as_yaml(words);
}

std::string title_of(ExportKind kind) {
  const auto framework = from_name<Framework>(std::string(name_of(kind)));
  return framework ? title_of(*framework) : "Unsloth";
}

}  // namespace

Exported export_tuning(ExportKind kind, const Scenario& scenario) {
  const Job& job = scenario.job;
  const auto dialect = dialect_named(std::string(name_of(kind)));
  ExportBook book(title_of(kind));
  leave_out_machine(job, book);
  if (job.stack.name != "hf-trainer" && job.stack.name != "fsdp2-compile")
    book.leave_out("the software, " + job.stack.name);
  if (!(job.communication.bucket == Communication{}.bucket))
    book.leave_out("the gradient bucket, which the launcher decides");
  if (job.training.samples.vary()) book.leave_out("lengths of samples, which the data decide");
  if (job.training.vocabulary_multiple != 1)
    book.leave_out("padding of the vocabulary; transformers pads nothing");
  const std::string model = released_model(job, book);
  DialectWords words = TuningWriter(job, model, *dialect, book).write();
  for (const std::string& key : unsaid_keys(job, said_by_tuning(job, *dialect))) book.refuse(key);
  book.leave_out("data, checkpoints and the learning rate");
  book.check();
  return {export_comments(scenario, book) + tuning_text(kind, std::move(words), job),
          book.left_out()};
}

}  // namespace foretrain
