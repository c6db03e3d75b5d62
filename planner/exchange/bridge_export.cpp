// SPDX-License-Identifier: Apache-2.0
// Launches of Megatron-Bridge: a recipe, and the fields of its ConfigContainer that say a plan, by
// the arguments of Megatron-LM that mean the same.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "planner/exchange/exports.hpp"
#include "planner/exchange/megatron_export.hpp"
#include "planner/text/quoting.hpp"
#include "scenarios/imports/core/core_recipes.hpp"
#include "scenarios/imports/frameworks/adapter_targets.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

constexpr std::string_view own_recipe = "your_recipe";

class BridgeFields {
 public:
  explicit BridgeFields(MegatronArguments arguments) : arguments_{std::move(arguments)} {}

  /// KEY=VALUE, a word each.
  std::vector<std::string> words() {
    const bool routes = arguments_.contains("num-experts");
    for (const auto& [path, argument] : core_.term("written")->values) {
      const auto said = arguments_.find(argument);
      const bool there = said != arguments_.end();
      if (there)
        add(path, listed("written.inverse", path) ? "false" : value(path, said->second));
      else if (const auto off = meaning_of(*core_.term("written.off"), path);
               !off.empty() && (routes || !path.starts_with("model.moe_")))
        add(path, std::string(off));
      written_.push_back(argument);
    }
    add_objects();
    for (const auto& [argument, text] : arguments_)
      FORETRAIN_REQUIRE(contains(written_, argument) || listed("unwritten", argument));
    return std::move(words_);
  }

 private:
  [[nodiscard]] bool listed(std::string_view list, std::string_view name) const {
    return contains(core_.keys_of(list), name);
  }
  void add(const std::string& path, const std::string& text) {
    const auto dot = path.find('.');
    const std::string group = path.substr(0, dot);
    if (meaning_of(*core_.term("written.classes"), group).empty())
      words_.push_back(shell_word(path + "=" + text));
    else
      objects_[group] += fmt::format(", {}: {}", path.substr(dot + 1), text);
  }
  /// Null takes away what the recipe has, whatever that is, and hydra's "+" puts an object there,
  /// which Megatron-Bridge makes (training/utils/omegaconf_utils.py). Types are none of its
  /// defaults.
  void add_objects() {
    const bool half = arguments_.contains("fp16") || arguments_.contains("bf16");
    const char* const type = arguments_.contains("fp16") ? "float16"
                             : half                      ? "bfloat16"
                                                         : "float32";
    for (const char* name : {"params_dtype", "pipeline_dtype"})
      add(fmt::format("mixed_precision.{}", name),
          fmt::format("{{_target_: torch.{}, _call_: false}}", type));
    for (const auto& [group, made] : core_.term("written.classes")->values) {
      words_.push_back(group + "=null");
      words_.push_back(
          shell_word(fmt::format("+{}={{_target_: {}{}}}", group, made, objects_[group])));
    }
  }
  [[nodiscard]] std::string value(const std::string& path, std::string text) const {
    if (listed("written.lists", path)) {
      std::ranges::replace(text, ' ', ',');
      return "[" + text + "]";
    }
    if (path.ends_with("_dtype") && path.starts_with("optimizer."))
      return word_of(*core_.term("written.types"), text).value_or(text);
    return text;
  }

  std::shared_ptr<const Dialect> held_ = dialect_named("megatron-core");
  const Dialect& core_ = *held_;
  MegatronArguments arguments_;
  std::vector<std::string> written_;
  std::vector<std::string> words_;
  std::map<std::string, std::string> objects_;  ///< fields of groups that are written as a whole
};

/// LoRA and DoRA beside the layers that Megatron-Core has.
void add_adapters(const Job& job, ExportBook& book, std::vector<std::string>& words) {
  const FineTuning& fine = job.fine_tuning;
  FineTuning said;
  said.adapter = fine.adapter;
  said.rank = fine.rank;
  said.targets = fine.targets;
  said.dropout = fine.dropout;
  said.expert_adapters = fine.expert_adapters;
  book.refuse_if(!(said == fine), "fine_tuning other than LoRA and DoRA of weights as computed");
  const bool modelled = fine.adapter == AdapterKind::lora || fine.adapter == AdapterKind::dora;
  if (fine.adapts() && !modelled)
    book.refuse(fmt::format("fine_tuning.adapter: {}", name_of(fine.adapter)));
  if (!fine.adapts() || !modelled) return;
  std::string targets;
  for (const auto& [target, name] : EnumNames<AdapterTarget>::names) {
    if (!fine.targets.has(target)) continue;
    const std::string_view module = megatron_module(target);
    if (module.empty()) book.refuse(fmt::format("adapters beside {}", name));
    targets += fmt::format("{}{}", targets.empty() ? "" : ",", module);
  }
  words.push_back(fmt::format("--mode {}", name_of(fine.adapter)));
  words.push_back(fmt::format("peft.dim={}", fine.rank));
  words.push_back(fmt::format("peft.dropout={}", format_number(fine.dropout)));
  words.push_back(shell_word(fmt::format("peft.target_modules=[{}]", targets)));
  if (!job.model.moe) return;
  book.refuse_if(
      fine.expert_adapters == ExpertAdapters::none && fine.targets.has(AdapterTarget::fc1),
      "experts without adapters beside dense layers with them");
  words.push_back(fmt::format("peft.share_expert_adapters={}",
                              fine.expert_adapters != ExpertAdapters::per_expert));
}

/// A recipe of the model, of the table that imports read.
const CoreRecipe* recipe_for(const Job& job) {
  for (const CoreRecipe& recipe : bridge_recipes())
    if (recipe.model == job.model.name && !job.fine_tuning.adapts() &&
        recipe.name.find("_pretrain_") != std::string::npos)
      return &recipe;
  return nullptr;
}

}  // namespace

Exported export_bridge(const Scenario& scenario) {
  const Job& job = scenario.job;
  ExportBook book("Megatron-Bridge");
  leave_out_machine(job, book);
  book.refuse_if(!(job.training.samples == Samples{}), "training.samples");
  book.refuse_if(job.training.images.any(), "training.images");
  book.refuse_if(job.memory.attention_mask, "memory.attention_mask");
  book.refuse_if(job.training.whole_tensor_shards, "training.whole_tensor_shards");
  const CoreRecipe* const recipe = recipe_for(job);
  if (recipe == nullptr)
    book.leave_out(fmt::format("the recipe: no one of {} is in the table here; write yours",
                               released_model(job, book)));
  else
    book.leave_out("the shape of the model, which the recipe has");
  book.leave_out("data, tokenizer, checkpoints and the learning rate, which are the recipe's");
  ExportBook of_the_recipe("Megatron-Bridge");
  std::vector<std::string> words =
      BridgeFields(megatron_arguments(job, book, of_the_recipe)).words();
  if (const auto steps = training_steps(job.training))
    words.push_back(fmt::format("train.train_iters={}", *steps));
  else
    book.leave_out("how long the run is, which the scenario does not say; the recipe does");
  words.emplace_back("model.should_pad_vocab=true");
  add_adapters(job, book, words);
  book.check();
  std::string text = "#!/bin/bash\n" + export_comments(scenario, book) + "set -euo pipefail\n";
  text += fmt::format("RECIPE={}\nFIELDS=(\n",
                      recipe == nullptr ? own_recipe : std::string_view(recipe->name));
  for (const std::string& word : words) text += "  " + word + "\n";
  text += fmt::format(
      ")\n"
      "torchrun --nnodes {} --nproc_per_node {} --node_rank \"${{NODE_RANK:-0}}\" "
      "--master_addr \"${{MASTER_ADDR:-localhost}}\" --master_port \"${{MASTER_PORT:-6000}}\" "
      "scripts/training/run_recipe.py --recipe \"$RECIPE\" \"${{FIELDS[@]}}\" \"$@\"\n",
      job.cluster.hosts, job.cluster.host.gpus);
  return {std::move(text), book.left_out()};
}

}  // namespace foretrain
