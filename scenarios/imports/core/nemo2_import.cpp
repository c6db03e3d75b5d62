// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/importers.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "scenarios/imports/core/core_import.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/shell/launch_line.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

bool is_nemo_run(const std::vector<std::string>& words) {
  const auto llm = std::ranges::find(words, "llm");
  const bool command = llm != words.begin() && llm != words.end() &&
                       ((llm - 1)->ends_with("nemo") || (llm - 1)->ends_with("nemorun"));
  return command || std::ranges::any_of(words, [](const std::string& word) {
           return word == "--factory" || word.starts_with("--factory=");
         });
}

/// "llama3_70b(num_nodes=4, name='run')": the factory, and what its arguments stand for.
std::string read_factory(const std::string& text, CoreRun& run, Diagnostics& diagnostics) {
  const std::string name = text.substr(0, text.find('('));
  if (name.size() == text.size()) return name;
  const std::size_t end = text.rfind(')');
  std::string arguments = text.substr(
      name.size() + 1, (end == std::string::npos ? text.size() : end) - name.size() - 1);
  arguments += ',';
  std::string word;
  for (const char c : arguments) {
    if (c != ',') {
      if (c != ' ') word += c;
      continue;
    }
    const std::string key = word.substr(0, word.find('='));
    const std::string value = key.size() < word.size() ? word.substr(key.size() + 1) : "";
    if (key == "num_nodes")
      put_override(run.stated, "trainer.num_nodes=" + value, run.recipe_mark);
    else if (key == "num_gpus_per_node")
      put_override(run.stated, "trainer.devices=" + value, run.recipe_mark);
    else if (!key.empty() && key != "name" && key != "dir" && value != "False")
      diagnostics.add(run.recipe_mark, "factory",
                      printable_path(key) +
                          " changes what the recipe sets, by code that is not run; state the keys "
                          "that it changes instead");
    word.clear();
  }
  return name;
}

void read_words(const std::vector<std::string>& words, const PlanImportOptions& options,
                CoreRun& run, Diagnostics& diagnostics) {
  const Mark mark = run.recipe_mark;
  bool tunes = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--factory" && i + 1 < words.size()) {
      run.recipe = read_factory(words[++i], run, diagnostics);
    } else if (word.starts_with("--factory=")) {
      run.recipe = read_factory(word.substr(10), run, diagnostics);
    } else if (word == "finetune" && i > 0 && words[i - 1] == "llm") {
      tunes = true;
    } else if (word == "--yaml" || word == "--load") {
      diagnostics.add(mark, word, "names another file; import that file");
    } else if (is_override(word)) {
      put_override(run.stated, word, mark);
    } else if (word.find('=') != std::string::npos && !word.starts_with('-') &&
               !options.leave_out_unknown) {
      diagnostics.add(mark, printable_path(word.substr(0, word.find('='))),
                      "is not known here, so it may change memory or time; "
                      "--leave-out-unknown ignores it");
    }
  }
  // Recipes of fine-tuning have the names of those of pre-training, and other values.
  if (tunes && !run.recipe.empty()) run.recipe += ".finetune";
}

const CoreFramework& nemo_framework() {
  static const CoreFramework framework{
      .groups = {.model = {"model.config", "trainer.strategy"},
                 .ddp = "trainer.strategy.ddp",
                 .optimizer = "optim.config",
                 .precision = "trainer.plugins",
                 .overlap = {},
                 .batch = "data",
                 .data = "data",
                 .steps = "trainer.max_steps",
                 .adapter = "peft",
                 .distributed = {},
                 .tokenizer = {},
                 .nemo = true},
      .recipes = nemo_recipes(),
      .unlisted =
          "trainer.plugins=bf16_mixed optim.config.use_distributed_optimizer=true "
          "model.config.cross_entropy_loss_fusion=true",
      .required = {"trainer.strategy.tensor_model_parallel_size",
                   "trainer.strategy.pipeline_model_parallel_size", "data.seq_length",
                   "data.global_batch_size", "data.micro_batch_size"},
      .harmless = {"_target_",
                   "_partial_",
                   "data",
                   "executor",
                   "log",
                   "optim.lr_scheduler",
                   "optim._target_",
                   "resume",
                   "run",
                   "tokenizer",
                   "trainer._target_",
                   "trainer.accelerator",
                   "trainer.accumulate_grad_batches",
                   "trainer.callbacks",
                   "trainer.limit_test_batches",
                   "trainer.limit_val_batches",
                   "trainer.log_every_n_steps",
                   "trainer.logger",
                   "trainer.use_distributed_sampler",
                   "trainer.val_check_interval",
                   "trainer.gradient_clip_val",
                   "trainer.enable_checkpointing",
                   "trainer.max_time",
                   "model._target_",
                   "model.tokenizer",
                   "name"},
      .taken = {"trainer.num_nodes", "trainer.devices"},
      .stack = "nemo",
      .stack_reason = "the newest NeMo that was measured (containers of 2024 and 2025)"};
  return framework;
}

/// Nodes and GPUs of the trainer go to the launch.
void read_size(CoreRun& run, Diagnostics& diagnostics) {
  const auto count = [&](const char* path, int most) -> std::optional<int> {
    const YamlNode* node = node_at(run.stated, path);
    if (node == nullptr || node->is_null()) return std::nullopt;
    TreeReader in(run.stated, diagnostics);
    return in.integer({path}, 1, most);
  };
  const CoreRecipe* recipe = find_recipe(nemo_recipes(), run.recipe);
  YamlNode defaults = empty_map(run.stated.mark);
  if (recipe != nullptr) put_recipe(*recipe, nemo_framework().groups, defaults);
  const auto usual = [&](const char* path) -> std::optional<int> {
    Diagnostics none;
    TreeReader in(defaults, none);
    return in.integer({path}, 1, 1'000'000);
  };
  const auto nodes = count("trainer.num_nodes", 1'000'000);
  const auto devices = count("trainer.devices", 1'000);
  run.size.nodes = nodes ? nodes : usual("trainer.num_nodes");
  run.size.gpus_per_node = devices ? devices : usual("trainer.devices");
}

}  // namespace

ImportedScenario import_nemo2(const ImportSource& source, const PlanImportOptions& options) {
  if (is_automodel(source)) return import_automodel(source, options);
  Diagnostics diagnostics;
  const Mark top{std::make_shared<const std::string>(source.name), 1, 1};
  if (!check_encoding(source.text, top, diagnostics)) diagnostics.throw_if_any();
  CoreRun run;
  run.recipe_mark = top;
  run.stated = empty_map(top);
  std::vector<std::string> words;
  if (is_core_file(source)) {
    if (auto tree = read_core_file(source, words, diagnostics)) run.stated = std::move(*tree);
  } else if (auto launch = find_launch(source, options, is_nemo_run,
                                       "holds no line `nemo llm pretrain --factory NAME ...`, and "
                                       "is no YAML of NeMo-Run",
                                       diagnostics)) {
    words = launch->words;
    run.recipe_mark = run.stated.mark = launch->mark;
    run.assumed = launch->assumed;
  }
  diagnostics.throw_if_any();
  read_words(words, options, run, diagnostics);
  read_size(run, diagnostics);
  diagnostics.throw_if_any();
  return import_core_run(std::move(run), nemo_framework(), source, options, diagnostics);
}

}  // namespace foretrain
