// SPDX-License-Identifier: Apache-2.0
#include "models/base/ranges.hpp"
#include "scenarios/imports/frameworks/importers.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "scenarios/imports/core/core_import.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/shell/launch_line.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

struct BridgeFlag {
  std::string_view name, key;  ///< no key: changes neither memory nor time
};

/// Options of scripts/training/run_recipe.py and train.sh that stand for keys, or for nothing that
/// decides memory or time.
constexpr auto bridge_flags = std::to_array<BridgeFlag>({
    {"-ms", "train.train_iters"},
    {"--max_steps", "train.train_iters"},
    {"-gb", "train.global_batch_size"},
    {"--global_batch_size", "train.global_batch_size"},
    {"-mb", "train.micro_batch_size"},
    {"--micro_batch_size", "train.micro_batch_size"},
    {"-sl", "dataset.seq_length"},
    {"--seq_length", "dataset.seq_length"},
    {"-tp", "model.tensor_model_parallel_size"},
    {"--tensor_model_parallel_size", "model.tensor_model_parallel_size"},
    {"-pp", "model.pipeline_model_parallel_size"},
    {"--pipeline_model_parallel_size", "model.pipeline_model_parallel_size"},
    {"-cp", "model.context_parallel_size"},
    {"--context_parallel_size", "model.context_parallel_size"},
    {"-vp", "model.virtual_pipeline_model_parallel_size"},
    {"--virtual_pipeline_model_parallel_size", "model.virtual_pipeline_model_parallel_size"},
    {"-ep", "model.expert_model_parallel_size"},
    {"--expert_model_parallel_size", "model.expert_model_parallel_size"},
    {"-et", "model.expert_tensor_parallel_size"},
    {"--expert_tensor_parallel_size", "model.expert_tensor_parallel_size"},
    {"--peft_scheme", "peft"},
    {"--mode", ""},
    {"--model", ""},
    {"--recipe", ""},
    {"--dataset", ""},
    {"--dataset_type", ""},
    {"--step_func", ""},
    {"--step-func", ""},
    {"--hf_path", ""},
    {"--lr", ""},
    {"--min_lr", ""},
    {"--warmup_iters", ""},
    {"--save_dir", ""},
    {"--load_dir", ""},
    {"--save_interval", ""},
    {"--pretrained_checkpoint", ""},
    {"--log_interval", ""},
    {"--eval_interval", ""},
    {"--eval_iters", ""},
    {"--config-file", ""},
    {"--nodes", ""},
    {"--gpus-per-node", ""},
    {"--account", ""},
    {"--partition", ""},
    {"--container-image", ""},
    {"--time", ""},
    {"--mount", ""},
    {"--env", ""},
    {"--srun-arg", ""},
    {"--additional-slurm-params", ""},
});

/// Reads the words behind the training script into a run.
class BridgeWords {
 public:
  BridgeWords(CoreRun& run, Mark mark, const PlanImportOptions& options, Diagnostics& diagnostics)
      : run_{run}, mark_{std::move(mark)}, options_{options}, diagnostics_{diagnostics} {}

  void read(const std::vector<std::string>& words) {
    std::vector<std::string> overrides;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (!word.starts_with('-') && is_override(word)) {
        overrides.push_back(word);
        continue;
      }
      const auto equals = word.find('=');
      const std::string name = word.substr(0, equals);
      if (name == "--packed_sequence") {
        put_override(run_.stated, "dataset.enable_offline_packing=true", mark_);
        continue;
      }
      std::string value = equals == std::string::npos ? std::string() : word.substr(equals + 1);
      const bool next = equals == std::string::npos && i + 1 < words.size() &&
                        !words[i + 1].starts_with("--") &&
                        (find_flag(name) != bridge_flags.end() || !is_override(words[i + 1]));
      if (name.starts_with('-') && next) value = words[++i];
      if (name.starts_with('-') || equals != std::string::npos) take(name, value);
    }
    if (run_.recipe.empty() && !model_.empty())
      run_.recipe =
          model_ + "_" + (mode_ == "lora" || mode_ == "dora" ? "peft" : mode_) + "_config";
    // Options of the launcher come before overrides of the same key.
    for (const std::string& word : overrides) put_override(run_.stated, word, mark_);
  }

 private:
  static const BridgeFlag* find_flag(const std::string& name) {
    return std::ranges::find_if(bridge_flags,
                                [&](const BridgeFlag& known) { return known.name == name; });
  }

  void take(const std::string& name, const std::string& value) {
    if (name == "--recipe") {
      run_.recipe = value;
      run_.recipe_mark = mark_;
      return;
    }
    if (name == "--model") model_ = value;
    if (name == "--mode") mode_ = value;
    if (name == "--mode" && (value == "lora" || value == "dora"))
      put_override(run_.stated, "peft=" + value, mark_);
    const BridgeFlag* const flag = find_flag(name);
    const auto& left = options_.left_out;
    if (flag == bridge_flags.end()) {
      if (!contains(left, name) && !options_.leave_out_unknown)
        diagnostics_.add(mark_, printable_path(name),
                         "is not known here, so it may change memory or time; --leave-out " +
                             printable_path(name) +
                             " ignores it, --leave-out-unknown all such options");
      else
        run_.assumed.push_back(printable_path(name) + " was left out as asked for");
      return;
    }
    if (flag->key.empty()) return;
    put_override(run_.stated, std::string(flag->key) + "=" + value, mark_);
    // scripts/training/recipe_runner.py turns sequence parallelism on with the tensor ranks.
    if (flag->key == "model.tensor_model_parallel_size")
      put_override(run_.stated,
                   std::string("model.sequence_parallel=") + (value == "1" ? "false" : "true"),
                   mark_);
  }

  CoreRun& run_;
  Mark mark_;
  const PlanImportOptions& options_;
  Diagnostics& diagnostics_;
  std::string model_;
  std::string mode_ = "pretrain";
};

bool names_recipe(const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [](const std::string& word) {
    return word == "--recipe" || word.starts_with("--recipe=") || word.ends_with("run_recipe.py");
  });
}

const CoreFramework& bridge_framework() {
  static const CoreFramework framework{
      .groups = {.model = {"model"},
                 .ddp = "ddp",
                 .optimizer = "optimizer",
                 .precision = "mixed_precision",
                 .overlap = "comm_overlap",
                 .batch = "train",
                 .data = "dataset",
                 .steps = "train.train_iters",
                 .adapter = "peft",
                 .distributed = "dist",
                 .tokenizer = "tokenizer"},
      .recipes = bridge_recipes(),
      .unlisted =
          "mixed_precision=bf16_mixed optimizer.use_distributed_optimizer=true "
          "ddp.overlap_grad_reduce=true ddp.overlap_param_gather=true "
          "model.cross_entropy_loss_fusion=true",
      .required = {"model.tensor_model_parallel_size", "model.pipeline_model_parallel_size",
                   "dataset.seq_length", "train.global_batch_size", "train.micro_batch_size"},
      .harmless = {"_target_", "checkpoint", "dataset", "dist", "env_vars", "ft",
                   "inprocess_restart", "logger", "nvrx_straggler",
                   "optimizer_config_override_provider", "profiling", "rerun_state_machine", "rng",
                   "scheduler", "straggler", "tensor_inspect", "tokenizer", "train", "validation"},
      .stack = "megatron-core",
      .stack_reason = "Megatron-Core with Transformer Engine, which Megatron-Bridge configures"};
  return framework;
}

}  // namespace

ImportedScenario import_bridge(const ImportSource& source, const PlanImportOptions& options) {
  Diagnostics diagnostics;
  const Mark top{std::make_shared<const std::string>(source.name), 1, 1};
  if (!check_encoding(source.text, top, diagnostics)) diagnostics.throw_if_any();
  CoreRun run;
  run.recipe_mark = top;
  run.stated = empty_map(top);
  std::vector<std::string> words;
  Mark mark = top;
  if (is_core_file(source)) {
    if (auto tree = read_core_file(source, words, diagnostics)) run.stated = std::move(*tree);
  } else {
    ImportSource script = source;
    const std::size_t start = script.text.find_first_not_of(" \t\r\n");
    if (start != std::string::npos && script.text[start] == '-')
      script.text = "run_recipe.py " + script.text.substr(start);
    if (auto launch =
            find_launch(script, options, names_recipe,
                        "holds no launch with --recipe NAME, and is no YAML of a ConfigContainer",
                        diagnostics)) {
      words = launch->words;
      mark = run.recipe_mark = run.stated.mark = launch->mark;
      run.size = launch->size;
      run.assumed = launch->assumed;
    }
  }
  diagnostics.throw_if_any();
  BridgeWords(run, mark, options, diagnostics).read(words);
  diagnostics.throw_if_any();
  return import_core_run(std::move(run), bridge_framework(), source, options, diagnostics);
}

}  // namespace foretrain
