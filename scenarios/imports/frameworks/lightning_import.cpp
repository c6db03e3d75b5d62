// SPDX-License-Identifier: Apache-2.0
// Strategies and precisions by the names that lightning.pytorch.strategies and Trainer register.
#include "scenarios/imports/frameworks/importers.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "scenarios/imports/frameworks/deepspeed_import.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/plain_torch.hpp"
#include "scenarios/imports/frameworks/tree_reader.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

constexpr const char* strategy_key = "trainer.strategy";

/// What a strategy launches.
class LightningReader {
 public:
  LightningReader(TreeReader& in, ImportedPlan& plan, PlainTorchRun& run)
      : in_{in}, plan_{plan}, run_{run} {}

  void read() {
    run_.size.nodes = in_.integer({"trainer.num_nodes"}, 1, 1'000'000);
    const YamlNode* devices = in_.take("trainer.devices");
    if (devices != nullptr && devices->is_sequence())
      run_.size.gpus_per_node =
          static_cast<int>(std::min<std::size_t>(devices->items.size(), 1000));
    else if (devices != nullptr && devices->text != "auto" && devices->text != "-1")
      run_.size.gpus_per_node = in_.integer({"trainer.devices"}, 1, 1000);
    if (run_.size.gpus_per_node && !run_.size.nodes) run_.size.nodes = 1;
    const std::string accelerator = in_.text({"trainer.accelerator"}, "gpu");
    if (accelerator != "gpu" && accelerator != "cuda" && accelerator != "auto")
      in_.refuse("trainer.accelerator", in_quotes(accelerator) + " is not modelled: gpu is");
    run_.accumulation = in_.integer({"trainer.accumulate_grad_batches"}, 1, 1'000'000).value_or(1);
    run_.micro_batch = in_.integer({"data.init_args.batch_size", "data.batch_size"}, 1, 1'000'000);
    read_precision();
    read_strategy();
    in_.harmless(Framework::lightning);
    if (const YamlNode* plugins = in_.take("trainer.plugins");
        plugins != nullptr && (!plugins->items.empty() || !plugins->text.empty()))
      in_.refuse("trainer.plugins", "may hold precision plugins, whose effect is not modelled");
    read_optimizer();
  }

  [[nodiscard]] bool deepspeed() const { return deepspeed_; }

 private:
  void read_precision() {
    const std::string word = in_.text({"trainer.precision"}, "32-true");
    if (word == "bf16-mixed" || word == "bf16")
      run_.precision = Precision::bf16;
    else if (word == "16-mixed" || word == "16")
      run_.precision = Precision::fp16;
    else if (word == "32-true" || word == "32")
      run_.precision = Precision::fp32;
    else
      in_.refuse("trainer.precision",
                 in_quotes(word) + " is not modelled: bf16-mixed, 16-mixed and 32-true are");
  }

  /// The name of a strategy, or the class that is one.
  std::string name() {
    std::string word = in_.text({"trainer.strategy.class_path"});
    if (word.empty()) return in_.text({strategy_key}, "auto");
    word = word.substr(word.find_last_of('.') + 1);
    if (word == "ddpstrategy") return "ddp";
    if (word == "fsdpstrategy") return "fsdp";
    if (word == "deepspeedstrategy") return "deepspeed";
    return word;
  }

  void read_optimizer() {
    std::string name = in_.text({"optimizer.class_path"}, "adamw");
    name = name.substr(name.find_last_of('.') + 1);
    if (name == "sgd")
      plan_.job.training.optimizer = OptimizerKind::sgd;
    else if (name.find("8bit") != std::string::npos && name.find("adam") != std::string::npos)
      plan_.job.training.optimizer = OptimizerKind::adam8bit;
    else if (name != "adamw" && name != "adam" && name != "fusedadam" && name != "deepspeedcpuadam")
      in_.refuse("optimizer.class_path", in_quotes(name) + " is not modelled");
  }

  void read_strategy() {
    const std::string word = name();
    if (word == "auto" || word.starts_with("ddp"))
      read_ddp(word);
    else if (word.starts_with("fsdp"))
      read_fsdp(word);
    else if (word.starts_with("deepspeed"))
      read_deepspeed(word);
    else
      in_.refuse(strategy_key, in_quotes(word) +
                                   " is not read: ddp, fsdp and deepspeed are, by "
                                   "name or class");
  }

  void read_ddp(const std::string& word) {
    if (word == "auto") plan_.notes.assumed.emplace_back("DDP, what strategy auto chooses");
    const auto bucket = in_.number({"trainer.strategy.init_args.bucket_cap_mb"});
    if (bucket && *bucket > 0.0 && *bucket < 1e6) plan_.job.communication.bucket = *bucket * MiB;
    if (bucket && !(*bucket > 0.0 && *bucket < 1e6))
      in_.refuse("trainer.strategy.init_args.bucket_cap_mb", "is not a size up to 1,000,000 MB");
  }

  void read_fsdp(const std::string& word) {
    const std::string how =
        in_.text({"trainer.strategy.init_args.sharding_strategy"}, "full_shard");
    Parallel& parallel = plan_.job.parallel;
    if (how == "full_shard")
      parallel.zero = 3;
    else if (how == "shard_grad_op")
      parallel.zero = 2;
    else if (how == "hybrid_shard")
      parallel.zero = 3;
    else if (how != "no_shard")
      in_.refuse("trainer.strategy.init_args.sharding_strategy",
                 in_quotes(how) +
                     " is not modelled: full_shard, shard_grad_op, hybrid_shard, "
                     "no_shard");
    if (how == "hybrid_shard") parallel.zero_group = run_.size.gpus_per_node.value_or(8);
    if (word.find("offload") != std::string::npos ||
        in_.truth({"trainer.strategy.init_args.cpu_offload"}, false))
      plan_.job.memory.offload = OffloadKind::optimizer_and_parameters;
    if (in_.take("trainer.strategy.init_args.activation_checkpointing_policy") != nullptr)
      plan_.job.memory.recompute.kind = RecomputeKind::full;
  }

  void read_deepspeed(const std::string& word) {
    const auto digit = word.find_first_of("123");
    const auto stated = in_.integer({"trainer.strategy.init_args.stage"}, 0, 3);
    plan_.job.parallel.zero = stated ? *stated : digit != std::string::npos ? word[digit] - '0' : 2;
    if (!stated && digit == std::string::npos)
      plan_.notes.assumed.emplace_back("ZeRO stage 2, DeepSpeedStrategy's default");
    if (word.find("offload") != std::string::npos ||
        in_.truth({"trainer.strategy.init_args.offload_optimizer"}, false))
      plan_.job.memory.offload = OffloadKind::optimizer;
    if (in_.take("trainer.strategy.init_args.config") != nullptr)
      in_.refuse("trainer.strategy.init_args.config",
                 "names a DeepSpeed configuration; import that (foretrain import deepspeed)");
    deepspeed_ = true;
  }

  TreeReader& in_;
  ImportedPlan& plan_;
  PlainTorchRun& run_;
  bool deepspeed_ = false;
};

}  // namespace

ImportedScenario import_lightning(const ImportSource& source, const PlanImportOptions& options) {
  Diagnostics diagnostics;
  if (refuse_python(source, diagnostics)) diagnostics.throw_if_any();
  const auto root = parse_yaml(source.text, source.name, YamlLimits{}, diagnostics);
  const auto per_host = host_gpus(options, diagnostics);
  if (root && !root->is_map())
    diagnostics.add(root->mark, "", "must be a YAML map: a configuration of LightningCLI");
  diagnostics.throw_if_any();
  TreeReader in(*root, diagnostics, options.left_out);
  ImportedPlan plan;
  plan.job.name = std::filesystem::path(source.name).stem().string();
  PlainTorchRun run;
  run.decided_by = "Lightning";
  run.mark = root->mark;
  LightningReader reader(in, plan, run);
  reader.read();
  fill_plain_torch(run, options, *per_host, plan, diagnostics);
  if (plan.job.parallel.data == 1) plan.job.parallel.zero = 0;
  if (plan.job.parallel.zero_group > plan.job.parallel.data || plan.job.parallel.zero == 0)
    plan.job.parallel.zero_group = 0;
  if (reader.deepspeed()) choose_deepspeed_release(plan);
  in.finish(options, plan.notes);
  return finish_import(std::move(plan), source, options, diagnostics);
}

}  // namespace foretrain
