// SPDX-License-Identifier: Apache-2.0
// Configurations of fine-tuning frameworks, in the words that scenarios/imports reads of them.
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "models/inputs/recipe.hpp"
#include "models/layers/adapter_layers.hpp"
#include "planner/edit/yaml_edit.hpp"
#include "planner/exchange/exports.hpp"
#include "scenarios/imports/frameworks/adapter_targets.hpp"
#include "scenarios/imports/frameworks/tuning_keys.hpp"

namespace foretrain {
namespace {

using tuning::TuningKeys;

/// How a framework says what is a word of its own there.
struct TuningWords {
  TuningFramework framework;
  std::string_view all_linear;       ///< adapters beside all of them: a line
  std::string_view flash;            ///< attention that keeps no scores: a line
  std::string_view eager;            ///< attention that keeps them
  std::string_view narrow;           ///< weights, gradients and moments in 16 bits
  std::string_view fine_tuning;      ///< what stands first: a line
  std::string_view preference = {};  ///< DPO
  std::string_view dense = {};       ///< no adapter
};

constexpr std::array tuning_words{
    TuningWords{TuningFramework::transformers, "lora_target_modules: all-linear",
                "attn_implementation: flash_attention_2", "attn_implementation: eager",
                "dtype: bfloat16", "", "trainer: dpo"},
    TuningWords{TuningFramework::axolotl, "lora_target_linear: true", "flash_attention: true",
                "eager_attention: true", "", "", "rl: dpo"},
    TuningWords{TuningFramework::llamafactory, "lora_target: all", "flash_attn: fa2",
                "flash_attn: disabled", "pure_bf16: true", "do_train: true", "stage: dpo",
                "finetuning_type: full"}};

const TuningWords& words_of_tuning(TuningFramework framework) {
  for (const TuningWords& dialect : tuning_words)
    if (dialect.framework == framework) return dialect;
  return tuning_words.front();
}

/// Lines of YAML, an empty one left out.
class Lines {
 public:
  void add(std::string_view line) {
    if (!line.empty()) text_ += std::string(line) + "\n";
  }
  template <class Value>
  void add(std::string_view key, const Value& value) {
    text_ += fmt::format("{}: {}\n", key, value);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

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

/// FlashAttention-3, which configurations of transformers name.
bool names_flash3(const Job& job, TuningFramework framework) {
  return framework == TuningFramework::transformers &&
         job.memory.attention == AttentionKind::flash &&
         job.memory.attention_library == AttentionLibrary::flash3;
}

bool offloads_all(const Job& job) { return job.memory.offloaded_layers >= job.model.layers; }

/// Writes one configuration; every member writes one group of its keys.
class TuningWriter {
 public:
  TuningWriter(const Job& job, TuningFramework framework, ExportBook& book)
      : job_{job},
        keys_{tuning::keys_of(framework)},
        words_{words_of_tuning(framework)},
        book_{book} {}

  std::string write() {
    add_model();
    add_batch();
    add_precision();
    add_activation_offload();
    add_adapter();
    add_kernels();
    add_sharding();
    return lines_.text();
  }

 private:
  [[nodiscard]] bool is(TuningFramework framework) const { return words_.framework == framework; }

  void add_model() {
    lines_.add(words_.fine_tuning);
    lines_.add(keys_.model.front() == "base_model_name_or_path" ? "model_name_or_path"
                                                                : keys_.model.front(),
               yaml_scalar(job_.model.name));
    const Objective objective = job_.fine_tuning.objective;
    book_.refuse_if(objective == Objective::policy, "fine_tuning.objective: policy");
    if (objective == Objective::preference)
      add_preference();
    else if (is(TuningFramework::llamafactory))
      lines_.add("stage", objective == Objective::reward ? "rm" : "sft");
    else
      book_.refuse_if(objective == Objective::reward, "fine_tuning.objective: reward");
  }

  void add_preference() {
    lines_.add(words_.preference);
    const bool known = job_.fine_tuning.reference == ReferenceKind::precomputed;
    book_.refuse_if(known && is(TuningFramework::llamafactory),
                    "fine_tuning.reference: precomputed");
    if (known) lines_.add("precompute_ref_log_probs: true");
    const auto usual =
        job_.fine_tuning.adapts() ? ReferenceKind::without_adapters : ReferenceKind::copy;
    book_.refuse_if(!known && job_.fine_tuning.reference != usual,
                    "fine_tuning.reference: copy beside adapters");
  }

  void add_batch() {
    const Training& training = job_.training;
    // Both answers of a pair are a sequence each.
    const int pair = job_.fine_tuning.pairs() ? 2 : 1;
    lines_.add(keys_.sequence.front(), training.sequence);
    lines_.add(keys_.micro_batch.front(), training.micro_batch / pair);
    lines_.add(keys_.accumulation.front(), job_.microbatches());
    if (const auto steps = training_steps(training)) lines_.add(keys_.steps.front(), *steps);
    if (training.samples.layout == SampleLayout::packed) lines_.add(keys_.packing.front(), "true");
  }

  void add_precision() {
    const Precision precision = job_.training.precision;
    book_.refuse_if(quantised(precision), "precision other than bf16, fp16, tf32 and fp32");
    const bool half = precision == Precision::bf16 || precision == Precision::fp16;
    lines_.add("bf16", precision == Precision::bf16);
    if (precision == Precision::fp16) lines_.add("fp16", "true");
    if (precision == Precision::tf32) lines_.add("tf32", "true");
    if (!half || job_.fine_tuning.adapts()) return;
    const bool narrow = job_.training.master_weights == MasterWeights::none;
    const bool shards = job_.parallel.zero > 1;
    if (narrow) lines_.add(words_.narrow);
    book_.refuse_if(narrow && shards && !is(TuningFramework::llamafactory),
                    "training.master_weights: none under FSDP, whose shards are fp32");
    book_.refuse_if(!narrow && !shards && is(TuningFramework::axolotl),
                    "training.master_weights: fp32 without FSDP, since Axolotl loads 16 bits and "
                    "trains them");
  }

  /// Saved tensors of all layers in host memory; of some layers there is no key.
  void add_activation_offload() {
    if (!offloads_all(job_)) return;
    if (!is(TuningFramework::llamafactory)) return lines_.add("activation_offloading: true");
    if (!runs_unsloth()) lines_.add("use_unsloth_gc: true");
  }

  /// LLaMA-Factory's `use_unsloth`: all kernels of Unsloth, and its checkpoints in host memory.
  [[nodiscard]] bool runs_unsloth() const {
    return is(TuningFramework::llamafactory) && offloads_all(job_) &&
           job_.training.fused_kernels == kernels_of("unsloth");
  }

  void add_adapter() {
    const FineTuning& tuning = job_.fine_tuning;
    book_.refuse_if(tuning.trained.has_value(), "fine_tuning.trained");
    book_.refuse_if(tuning.frozen_layers > 0, "fine_tuning.frozen_layers");
    if (!tuning.adapts()) return lines_.add(words_.dense);
    const bool packs = tuning.packs_frozen();
    if (is(TuningFramework::transformers))
      lines_.add("use_peft: true");
    else
      lines_.add(keys_.adapter.front(), packs && is(TuningFramework::axolotl) ? "qlora" : "lora");
    lines_.add(is(TuningFramework::transformers) ? "lora_r" : keys_.rank.front(), tuning.rank);
    lines_.add(keys_.dropout.front(), tuning.dropout);
    if (tuning.adapter == AdapterKind::dora)
      lines_.add(is(TuningFramework::axolotl) ? "peft_use_dora: true" : "use_dora: true");
    add_targets(tuning);
    add_frozen(tuning);
  }

  void add_targets(const FineTuning& tuning) {
    refuse_experts(tuning);
    const FoundTargets all =
        found_targets(job_.model, [](const LinearModule& module) { return module.linear; });
    if (tuning.targets == all.targets) return lines_.add(words_.all_linear);
    std::string names;
    for (const auto& [target, name] : module_names)
      if (tuning.targets.has(target)) names += (names.empty() ? "" : ", ") + std::string(name);
    const bool list = !is(TuningFramework::llamafactory);
    lines_.add(keys_.targets.back(), list ? "[" + names + "]" : names);
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
    const bool four = format == FrozenFormat::nf4 || format == FrozenFormat::nf4_double;
    if (!keys_.bits.empty()) {
      if (four || format == FrozenFormat::int8) lines_.add(keys_.bits.front(), four ? 4 : 8);
    } else if (four) {
      lines_.add(keys_.four_bits.front(), "true");
    } else if (format == FrozenFormat::int8) {
      lines_.add("load_in_8bit: true");
    }
    if (four && (format == FrozenFormat::nf4_double) != keys_.usual_double_scales) {
      const bool twice = format == FrozenFormat::nf4_double;
      if (is(TuningFramework::axolotl))
        lines_.add("bnb_config_kwargs", fmt::format("{{bnb_4bit_use_double_quant: {}}}", twice));
      else
        lines_.add(is(TuningFramework::transformers) ? "use_bnb_nested_quant"
                                                     : keys_.double_scales.front(),
                   twice);
    }
  }

  void add_optimizer() {
    const Training& training = job_.training;
    const std::string_view name = tuning::optimizer_name(training, job_.memory.offload);
    const bool muon = training.optimizer == OptimizerKind::muon;
    if (name.empty() || (muon && !is(TuningFramework::axolotl)))
      book_.refuse(fmt::format("training.optimizer: {}", name_of(training.optimizer)));
    lines_.add(keys_.optimizer.front(), name);
  }

  void add_kernels() {
    add_optimizer();
    const Recompute& recompute = job_.memory.recompute;
    const bool again = recompute.kind == RecomputeKind::full;
    book_.refuse_if(!again && recompute.kind != RecomputeKind::none,
                    "memory.recompute other than none and full");
    if (is(TuningFramework::llamafactory))
      lines_.add("disable_gradient_checkpointing", !again);
    else
      lines_.add(keys_.checkpointing.front(), again);
    const bool flash = job_.memory.attention == AttentionKind::flash;
    if (names_flash3(job_, words_.framework))
      lines_.add("attn_implementation: flash_attention_3");
    else
      lines_.add(flash ? words_.flash : words_.eager);
    if (job_.stack.name == "fsdp2-compile") lines_.add("torch_compile: true");
    add_fused();
  }

  /// Kernels of Liger one by one, since each framework has a default of its own.
  void add_fused() {
    using enum FusedKernel;
    const FusedKernels& fused = job_.training.fused_kernels;
    if (runs_unsloth()) return lines_.add("use_unsloth: true");
    book_.refuse_if(fused.has(lora) && !is(TuningFramework::axolotl),
                    "training.fused_kernels: lora, which is Unsloth's: foretrain export axolotl, "
                    "or llamafactory where all its kernels and memory.offloaded_layers of all "
                    "layers are set (use_unsloth)");
    const bool any = fused.has(norm) || fused.has(rope) || fused.has(swiglu) || fused.has(loss) ||
                     fused.has(linear_loss);
    if (is(TuningFramework::axolotl)) {
      if (any) lines_.add("plugins: [axolotl.integrations.liger.LigerPlugin]");
      for (const auto& [kernel, key] : std::to_array<std::pair<FusedKernel, std::string_view>>(
               {{norm, "liger_rms_norm"},
                {rope, "liger_rope"},
                {swiglu, "liger_glu_activation"},
                {loss, "liger_cross_entropy"},
                {linear_loss, "liger_fused_linear_cross_entropy"},
                {lora, "lora_mlp_kernel"}}))
        if (fused.has(kernel)) lines_.add(key, "true");
      return;
    }
    if (!any) return;
    if (is(TuningFramework::llamafactory)) {
      book_.refuse_if(!(fused.has(norm) && fused.has(rope) && fused.has(swiglu) &&
                        fused.has(linear_loss) && !fused.has(loss)),
                      "some of Liger's kernels; enable_liger_kernel has all of them");
      return lines_.add("enable_liger_kernel: true");
    }
    lines_.add("use_liger_kernel: true");
    lines_.add(
        fmt::format("liger_kernel_config: {{rms_norm: {}, rope: {}, swiglu: {}, "
                    "cross_entropy: {}, fused_linear_cross_entropy: {}}}",
                    fused.has(norm), fused.has(rope), fused.has(swiglu), fused.has(loss),
                    fused.has(linear_loss)));
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
    if (is(TuningFramework::llamafactory)) lines_.add("fsdp: full_shard auto_wrap");
    if (is(TuningFramework::transformers)) lines_.add("fsdp: full_shard auto_wrap");
    lines_.add("fsdp_config:");
    if (!is(TuningFramework::axolotl)) lines_.add("  fsdp_version: 2");
    lines_.add("  auto_wrap_policy: TRANSFORMER_BASED_WRAP");
    lines_.add("  reshard_after_forward", parallel.zero == 3);
    if (offload == OffloadKind::optimizer_and_parameters) lines_.add("  offload_params: true");
    if (is(TuningFramework::axolotl)) lines_.add("fsdp_version: 2");
  }

  const Job& job_;
  const TuningKeys& keys_;
  const TuningWords& words_;
  ExportBook& book_;
  Lines lines_;
};

/// What the configuration says of a plan.
SaidKeys said_by_tuning(const Job& job, TuningFramework framework) {
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
  if (names_flash3(job, framework)) said.insert("memory.attention_library");
  if (offloads_all(job)) said.insert("memory.offloaded_layers");
  const bool narrow = job.training.narrow_weights();
  if (job.communication.gradient_dtype == (narrow ? job.training.precision : Precision::fp32))
    said.insert("communication.gradient_dtype");
  return said;
}

}  // namespace

Exported export_tuning(TuningFramework framework, const Scenario& scenario) {
  const Job& job = scenario.job;
  ExportBook book(tuning::keys_of(framework).title);
  leave_out_machine(job, book);
  if (job.stack.name != "hf-trainer" && job.stack.name != "fsdp2-compile")
    book.leave_out("the software, " + job.stack.name);
  if (!(job.communication.bucket == Communication{}.bucket))
    book.leave_out("the gradient bucket, which the launcher decides");
  if (job.training.samples.vary()) book.leave_out("lengths of samples, which the data decide");
  if (job.training.vocabulary_multiple != 1)
    book.leave_out("padding of the vocabulary; transformers pads nothing");
  const std::string body = TuningWriter(job, framework, book).write();
  for (const std::string& key : unsaid_keys(job, said_by_tuning(job, framework))) book.refuse(key);
  book.leave_out(
      "data, checkpoints and the learning rate; the model is named as in the catalog, "
      "so give the place of its weights");
  book.check();
  return {export_comments(scenario, book) + body, book.left_out()};
}

}  // namespace foretrain
