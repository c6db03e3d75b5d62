// SPDX-License-Identifier: Apache-2.0
// NeMo AutoModel's recipes: nemo_automodel/recipes/llm, components/distributed/config.py,
// components/_peft/lora.py, as of August 2026, and the managers of 2025.
#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "scenarios/catalog/model_names.hpp"
#include "scenarios/imports/frameworks/adapter_targets.hpp"
#include "scenarios/imports/frameworks/importers.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/frameworks/tree_reader.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

/// `*.q_proj`, `*_proj` or `q_proj` over the path of a module.
bool matches_pattern(std::string_view pattern, std::string_view path) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos)
    return path == pattern || path.ends_with("." + std::string(pattern));
  const std::string_view front = pattern.substr(0, star);
  const std::string_view rest = pattern.substr(star + 1);
  if (!path.starts_with(front)) return false;
  for (std::size_t skip = front.size(); skip <= path.size(); ++skip)
    if (rest.empty() || matches_pattern(rest, path.substr(skip))) return true;
  return false;
}

/// Reads one recipe into a plan.
class AutomodelReader {
 public:
  AutomodelReader(TreeReader& in, const PlanImportOptions& options, ImportedPlan& plan)
      : in_{in}, options_{options}, plan_{plan}, job_{plan.job} {}

  void read(int host_gpus) {
    read_model();
    read_layout(host_gpus);
    read_memory();
    read_adapter();
    read_batch();
    read_optimizer();
    in_.harmless({"recipe",
                  "model._target_",
                  "model.trust_remote_code",
                  "model.use_liger_kernel",
                  "dist_env.*",
                  "rng.*",
                  "checkpoint.*",
                  "dataset.*",
                  "dataloader.*",
                  "validation_dataset.*",
                  "validation_dataloader.*",
                  "lr_scheduler.*",
                  "wandb.*",
                  "mlflow.*",
                  "comet.*",
                  "ci.*",
                  "step_scheduler.*",
                  "loss_fn.*",
                  "peft._target_",
                  "peft.alpha",
                  "peft.lora_A_init",
                  "peft.lora_dtype",
                  "optimizer.*",
                  "seed",
                  "distributed._target_",
                  "distributed_config._target_",
                  "packed_sequence.*",
                  "clip_grad_norm.*",
                  "max_grad_norm",
                  "compile.*",
                  "quantization.*"});
  }

 private:
  using Paths = std::vector<std::string_view>;

  void assume(std::string sentence) { plan_.notes.assumed.push_back(std::move(sentence)); }

  void refuse_if_on(std::string_view key) {
    if (in_.truth({key}, false)) in_.refuse(key, "is not modelled");
  }

  void read_model() {
    const std::string kind = in_.text({"model._target_"});
    if (!kind.empty() && kind.find("causallm") == std::string::npos)
      in_.refuse("model._target_", in_quotes(kind) + " is not modelled: models of text");
    const YamlNode* const name = in_.take_first(
        {"model.pretrained_model_name_or_path", "model.config.pretrained_model_name_or_path"});
    plan_.model = options_.model;
    if (plan_.model.empty() && name != nullptr)
      plan_.model = hub_model(name->text, options_.catalogs).name;
    if (plan_.model.empty())
      in_.refuse("model.pretrained_model_name_or_path",
                 (name == nullptr ? std::string("is missing")
                                  : in_quotes(name->text) + " is no model of the catalog") +
                     "; give --model NAME, or the path of a model or config.json");
    if (in_.text({"model.attn_implementation"}) == "eager")
      job_.memory.attention = AttentionKind::unfused;
  }

  int degree(const char* name) {
    const std::string path = fmt::format("distributed.{}", name);
    const std::string said = in_.text({path});
    if (said == "none" || said == "null") return 1;
    return in_.integer({path}, 1, 1'000'000).value_or(1);
  }

  /// A switch of the sizes' section, or of the strategy's.
  bool strategy(const char* name, bool usual = false) {
    const std::string old = fmt::format("distributed.{}", name);
    const std::string now = fmt::format("distributed_config.{}", name);
    return in_.truth({old, now}, usual);
  }

  void read_layout(int host_gpus) {
    Parallel& parallel = job_.parallel;
    parallel.tensor = degree("tp_size");
    parallel.sequence = strategy("sequence_parallel") && parallel.tensor > 1;
    for (const char* name : {"cp_size", "pp_size"})
      if (degree(name) > 1)
        in_.refuse(fmt::format("distributed.{}", name), "above 1 is not modelled");
    parallel.expert = degree("ep_size");
    const int copies = degree("dp_replicate_size");
    const int stated = degree("dp_size");
    const LaunchSize size{
        {}, {}, stated > 1 ? std::optional(stated * parallel.tensor) : std::nullopt};
    const int gpus = gpus_for(size, parallel.tensor, host_gpus, options_, plan_.notes);
    parallel.data = std::max(1, gpus / parallel.tensor);
    if (parallel.data % copies != 0)
      return in_.refuse("distributed.dp_replicate_size",
                        fmt::format("{} does not divide {} ranks", copies, parallel.data));
    read_strategy(parallel.data / copies, copies);
  }

  void read_strategy(int shards, int copies) {
    const std::string kind = in_.text(
        {"distributed_config._target_", "distributed.strategy", "distributed._target_"}, "fsdp2");
    const bool replicas = kind.find("ddp") != std::string::npos;
    if (!replicas && kind.find("fsdp2") == std::string::npos)
      in_.refuse("distributed", in_quotes(kind) + " is not modelled: FSDP2, DDP");
    const bool again = strategy("reshard_after_forward", true);
    job_.parallel.zero = replicas || shards == 1 ? 0 : again ? 3 : 2;
    if (job_.parallel.zero > 0 && copies > 1) job_.parallel.zero_group = shards;
    for (const char* key : {"offload_policy", "mp_policy", "autocast_dtype", "tp_plan"})
      for (const char* group : {"distributed", "distributed_config"})
        if (const std::string path = fmt::format("{}.{}", group, key); in_.take(path) != nullptr)
          in_.refuse(path, "is not modelled");
    in_.approximate({"distributed.enable_async_tensor_parallel",
                     "distributed_config.enable_async_tensor_parallel",
                     "distributed_config.enable_fsdp2_prefetch",
                     "distributed_config.fsdp2_backward_prefetch_depth",
                     "distributed_config.fsdp2_forward_prefetch_depth",
                     "distributed_config.patch_is_packed_sequence", "peft.use_triton"});
  }

  void read_memory() {
    const std::string again = in_.text(
        {"distributed.activation_checkpointing", "distributed_config.activation_checkpointing"},
        "false");
    if (again == "selective")
      in_.refuse("distributed", "selective activation_checkpointing is not modelled: full");
    job_.memory.recompute.kind =
        again == "true" || again == "full" ? RecomputeKind::full : RecomputeKind::none;
    const std::string loss = in_.text({"loss_fn._target_"});
    if (loss.find("kd_loss") != std::string::npos)
      in_.refuse("loss_fn._target_", "needs a teacher, which is not modelled");
    job_.memory.fused_loss = loss.find("chunked") != std::string::npos;
    if (loss.find("linear_ce") != std::string::npos ||
        loss.find("linearcross") != std::string::npos)
      job_.training.fused_kernels.add(FusedKernel::linear_loss);
    refuse_if_on("fp8.enabled");
    const bool compiled = in_.truth({"compile.enabled"}, false) || strategy("enable_compile");
    const auto shape = known_shape(plan_.model, options_);
    if (shape && shape->moe)
      return choose_stack(plan_, "automodel", "mixtures of AutoModel as they were measured");
    choose_stack(plan_, compiled ? "fsdp2-compile" : "fsdp2",
                 compiled ? "FSDP2 with torch.compile, as torchtitan runs it"
                          : "FSDP2 without torch.compile, as torchtitan runs it");
  }

  void read_adapter() {
    if (in_.text({"peft._target_"}).empty() && in_.take("peft.dim") == nullptr) return;
    FineTuning& fine = job_.fine_tuning;
    fine.adapter = in_.truth({"peft.use_dora"}, false) ? AdapterKind::dora : AdapterKind::lora;
    fine.rank = in_.integer({"peft.dim"}, 1, 65536).value_or(8);
    fine.dropout = in_.number({"peft.dropout"}).value_or(0.0);
    if (const YamlNode* const out = in_.take("peft.exclude_modules");
        out != nullptr && !out->items.empty())
      in_.refuse("peft.exclude_modules", "is not modelled");
    const bool all = in_.truth({"peft.match_all_linear"}, false);
    const YamlNode* const named = in_.take("peft.target_modules");
    std::vector<std::string> patterns;
    if (named != nullptr && named->is_scalar()) patterns.push_back(named->text);
    if (named != nullptr)
      for (const YamlNode& item : named->items) patterns.push_back(item.text);
    const auto shape = known_shape(plan_.model, options_);
    if (!shape) return;
    const FoundTargets found = found_targets(*shape, [&](const LinearModule& module) {
      if (all && module.linear) return true;
      return std::ranges::any_of(patterns, [&](const std::string& pattern) {
        return matches_pattern(pattern, module.path);
      });
    });
    if (!found.refused.empty()) in_.refuse("peft.target_modules", found.refused);
    if (!found.targets.any()) in_.refuse("peft.target_modules", "matches no linear layer");
    fine.targets = found.targets;
    if (shape->moe) fine.expert_adapters = found.experts;
    if (in_.truth({"quantization.load_in_8bit"}, false)) fine.frozen_format = FrozenFormat::int8;
    if (!in_.truth({"quantization.load_in_4bit"}, false)) return;
    const bool twice = in_.truth({"quantization.bnb_4bit_use_double_quant"}, false);
    fine.frozen_format = twice ? FrozenFormat::nf4_double : FrozenFormat::nf4;
  }

  void read_batch() {
    Training& training = job_.training;
    const int packed =
        in_.integer({"packed_sequence.packed_sequence_size"}, 0, 100'000'000).value_or(0);
    const auto rows = in_.integer({"dataset.seq_length", "dataset.seq_len"}, 1, 100'000'000);
    training.sequence = options_.sequence.value_or(packed > 0 ? packed : rows.value_or(1));
    if (!options_.sequence && packed == 0 && !rows)
      in_.refuse("dataset.seq_length",
                 "is not set: rows are as long as their samples; give the tokens of a row with "
                 "--sequence N");
    assume(packed > 0 ? "every row is one sample: the source does not say how long samples are "
                        "(training.samples)"
                      : "rows are full: the source does not say how long samples are, and pads are "
                        "waste (training.samples)");
    training.micro_batch = in_.integer({"step_scheduler.local_batch_size"}, 1, 100'000).value_or(1);
    const int each = training.micro_batch * job_.parallel.data;
    training.global_batch =
        in_.integer({"step_scheduler.global_batch_size"}, 1, 100'000'000).value_or(each);
    if (training.global_batch % each != 0)
      return in_.refuse(
          "step_scheduler.global_batch_size",
          fmt::format("{} is no multiple of {} rows in all ranks", training.global_batch, each));
    const bool waits = training.global_batch > each && job_.parallel.zero >= 2 &&
                       !job_.fine_tuning.adapts() && strategy("defer_fsdp_grad_sync", true);
    if (waits)
      in_.refuse("step_scheduler.global_batch_size",
                 "over several micro-batches with gradients that are reduced behind the last one "
                 "(defer_fsdp_grad_sync, the default) is not modelled: write "
                 "distributed_config.defer_fsdp_grad_sync=false behind the file for the other way");
  }

  /// Shards rest in the type that the model is loaded in.
  void read_optimizer() {
    Training& training = job_.training;
    training.vocabulary_multiple = 1;
    training.precision = Precision::bf16;
    const std::string type = in_.text({"model.torch_dtype", "model.dtype"}, "auto");
    const bool wide = type.find("float32") != std::string::npos || type == "fp32";
    if (!wide) {
      training.master_weights = MasterWeights::none;
      job_.communication.gradient_dtype = Precision::bf16;
      assume(
          "weights, gradients and moments wholly in bf16, as the model is loaded "
          "(training.master_weights)");
    }
    const std::string name = in_.text({"optimizer._target_"}, "torch.optim.adamw");
    if (name.ends_with("adamw8bit") || name.ends_with("adam8bit"))
      training.optimizer = OptimizerKind::adam8bit;
    else if (name.ends_with(".sgd"))
      training.optimizer = OptimizerKind::sgd;
    else if (!name.ends_with(".adamw") && !name.ends_with(".adam") && !name.ends_with("fusedadam"))
      in_.refuse("optimizer._target_", in_quotes(name) + " is not modelled");
    if (in_.truth({"optimizer.fused"}, false) || name.ends_with("fusedadam"))
      training.fused_kernels.add(FusedKernel::optimizer);
  }

  TreeReader& in_;
  const PlanImportOptions& options_;
  ImportedPlan& plan_;
  Job& job_;
};

}  // namespace

bool is_automodel(const ImportSource& source) {
  return source.text.find("nemo_automodel.") != std::string::npos;
}

ImportedScenario import_automodel(const ImportSource& source, const PlanImportOptions& options) {
  Diagnostics diagnostics;
  std::string text = source.text;
  const std::vector<std::string> overrides = split_overrides(text);
  auto root = parse_yaml(text, source.name, YamlLimits{}, diagnostics);
  const auto per_host = host_gpus(options, diagnostics);
  if (root && !root->is_map())
    diagnostics.add(root->mark, "", "must be a YAML map: a recipe of NeMo AutoModel");
  diagnostics.throw_if_any();
  for (const std::string& word : overrides) put_override(*root, word, root->mark);
  TreeReader in(*root, diagnostics, options.left_out);
  ImportedPlan plan;
  plan.job.name = std::filesystem::path(source.name).stem().string();
  AutomodelReader(in, options, plan).read(*per_host);
  in.finish(options, plan.notes);
  ImportSource runs = source;
  runs.framework = "NeMo AutoModel";
  return finish_import(std::move(plan), runs, options, diagnostics);
}

}  // namespace foretrain
