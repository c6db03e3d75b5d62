// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/files/framework_imports.hpp"
#include "models/layers/parameters.hpp"

#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "planner/cli/commands.hpp"
#include "planner/cli/output_file.hpp"
#include "planner/cli/plan_options.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/imports/frameworks/huggingface_plan.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/text_file.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {
namespace {

struct CommandOptions {
  FrameworkOptions framework;
  std::vector<std::string> words;
  std::string out;
  bool json = false;
};

/// A word as a shell would have to see it; what is imported is read by shell rules.
std::string quoted_word(const std::string& word) {
  if (word.find_first_of(" \t'\"\\$`()<>|&;*#") == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

PlanImportOptions import_options(const FrameworkOptions& options) {
  PlanImportOptions result = options.import;
  for (const std::string& variable : options.variables) {
    const auto equals = variable.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw UsageError("--var " + in_quotes(variable) + " is not NAME=VALUE");
    result.variables[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  if (!options.precision.empty()) result.precision = from_name<Precision>(options.precision);
  result.catalogs = own_roots(options.folders);
  return result;
}

std::string import_json(const ImportedScenario& imported) {
  const nlohmann::ordered_json json{{"schema", "import/1"},
                                    {"stack", imported.notes.stack},
                                    {"parameters", parameters(imported.scenario.job.model)},
                                    {"gpus", imported.scenario.job.cluster.gpus()},
                                    {"read", imported.notes.read},
                                    {"ignored", imported.notes.ignored},
                                    {"not_modelled", imported.notes.approximated},
                                    {"evaluation", imported.notes.evaluation},
                                    {"run_length", imported.notes.lengths},
                                    {"left_out", imported.notes.unknown},
                                    {"assumed", imported.notes.assumed},
                                    {"scenario", imported.text}};
  return json.dump(2) + "\n";
}

/// What was read, ignored and assumed, to standard error.
void tell_import(const ImportedScenario& imported) {
  const Job& job = imported.scenario.job;
  write_diagnostic("stack    " + imported.notes.stack);
  write_diagnostic(fmt::format("read     {} keys: {} parameters, {} GPUs",
                               imported.notes.read.size(), parameters(job.model),
                               job.cluster.gpus()));
  write_diagnostic("ignored  (no effect on memory or time) " +
                   joined_or_none(imported.notes.ignored));
  if (!imported.notes.approximated.empty())
    write_diagnostic("not modelled  (small effect) " + joined_or_none(imported.notes.approximated));
  if (!imported.notes.unknown.empty())
    write_diagnostic("left out  (not known here, may change memory or time) " +
                     joined_or_none(imported.notes.unknown));
  for (const std::string& sentence : imported.notes.assumed)
    write_diagnostic("assumed  " + sentence);
}

int run_import(Framework framework, const CommandOptions& options) {
  const ImportedScenario imported = import_words(framework, options.words, options.framework);
  if (options.json) return deliver(import_json(imported), options.out, FileUse::to_edit);
  tell_import(imported);
  return deliver(imported.text, options.out, FileUse::to_edit);
}

struct Help {
  Framework framework;
  const char* what;
  const char* argument;
  std::vector<std::string> examples;
};

const Help& help_of(Framework framework) {
  static const std::vector<Help> rows{
      {Framework::megatron,
       "Megatron-LM arguments, or a script or YAML that holds them, into a scenario",
       "Script, YAML or JSON file, or the arguments themselves (after --)",
       {"foretrain import megatron pretrain_gpt.sh --out run.yaml",
        "foretrain import megatron --gpus 64 -- --num-layers 32 --hidden-size 4096 ..."}},
      {Framework::deepspeed,
       "A DeepSpeed JSON into a scenario, with --model",
       "DeepSpeed configuration (JSON)",
       {"foretrain import deepspeed ds_config.json --model llama2-7b --sequence 4096",
        "foretrain import deepspeed ds_auto.json --model llama2-7b --sequence 4096 --gpus 64 \\",
        "  --micro-batch 4 --accumulation 8 --precision bf16"}},
      {Framework::nanotron,
       "A nanotron YAML into a scenario",
       "nanotron configuration (YAML)",
       {"foretrain import nanotron config_llama.yaml --out run.yaml"}},
      {Framework::torchtitan,
       "A torchtitan TOML into a scenario",
       "torchtitan configuration (TOML)",
       {"foretrain import torchtitan llama3_8b.toml --gpus 8 --out run.yaml"}},
      {Framework::nemo,
       "NeMo overrides or a NeMo YAML into a scenario",
       "YAML file, or overrides key=value",
       {"foretrain import nemo config.yaml model.tensor_model_parallel_size=8"}},
      {Framework::transformers,
       "Hugging Face TrainingArguments, accelerate and PEFT files into a scenario",
       "YAML or JSON files, which together make one configuration; DeepSpeed's JSON is one",
       {"foretrain import transformers training_args.json accelerate.yaml \\",
        "  adapter_config.json --sequence 4096 --out run.yaml",
        "foretrain import transformers training_args.json ds_config.json --gpus 8",
        "foretrain import transformers run_sft.sh --gpus 8",
        "foretrain import transformers dpo.yaml trainer=dpo --gpus 8"}},
      {Framework::axolotl,
       "An Axolotl YAML into a scenario",
       "Axolotl configuration, accelerate beside it",
       {"foretrain import axolotl lora.yml --gpus 2 --device l40s --out run.yaml"}},
      {Framework::llamafactory,
       "A LLaMA-Factory YAML into a scenario",
       "LLaMA-Factory configuration",
       {"foretrain import llamafactory llama3_lora_sft.yaml --gpus 8 --out run.yaml"}},
      {Framework::swift,
       "An ms-swift YAML, JSON or script into a scenario",
       "ms-swift arguments (args.json), or a script with swift sft",
       {"foretrain import swift args.json --gpus 8 --out run.yaml",
        "foretrain import swift sft.sh --out run.yaml"}},
      {Framework::bridge,
       "A Megatron-Bridge launch, overrides or run_config.yaml into a scenario",
       "Launch with --recipe (after --), script, or YAML with overrides behind it",
       {"foretrain import megatron-bridge run_config.yaml --gpus 64 --out run.yaml",
        "foretrain import megatron-bridge -- torchrun --nproc_per_node=8 run_recipe.py \\",
        "  --recipe llama3_8b_pretrain_config train.global_batch_size=128"}},
      {Framework::nemo2,
       "A NeMo 2 line of NeMo-Run into a scenario",
       "Line nemo llm pretrain --factory ... (after --), script, or YAML",
       {"foretrain import nemo2 -- nemo llm pretrain --factory llama3_70b \\",
        "  trainer.num_nodes=8 data.global_batch_size=256"}},
      {Framework::torchtune,
       "A torchtune YAML into a scenario",
       "torchtune configuration, overrides behind it",
       {"foretrain import torchtune 8B_lora.yaml batch_size=4 --gpus 8 --sequence 4096"}},
      {Framework::horovod,
       "A Horovod launch into a scenario, with --model, --sequence and --micro-batch",
       "Script, or the launch line (after --)",
       {"foretrain import horovod --model gpt2-xl --sequence 1024 --micro-batch 4 -- \\",
        "  horovodrun -np 16 --fusion-threshold-mb 64 python train.py"}},
      {Framework::lightning,
       "A LightningCLI YAML into a scenario, with --model and --sequence",
       "Configuration of LightningCLI (YAML)",
       {"foretrain import lightning config.yaml --model llama2-7b --sequence 4096 \\",
        "  --micro-batch 2"}},
      {Framework::maxtext,
       "A MaxText YAML or overrides into a scenario",
       "YAML file, or overrides key=value",
       {"foretrain import maxtext llama3_70b.yml ici_fsdp_parallelism=64 --gpus 128"}},
      {Framework::verl,
       "A verl script or its overrides into a scenario of post-training",
       "Script, YAML, or overrides key=value",
       {"foretrain import verl run_grpo.sh --device h100-sxm5-80gb --out grpo.yaml"}},
      {Framework::nemo_rl,
       "A NeMo-RL YAML into a scenario of post-training",
       "YAML file, or overrides key=value",
       {"foretrain import nemo-rl grpo_math_8B.yaml cluster.num_nodes=2 --out grpo.yaml"}},
      {Framework::openrlhf,
       "An OpenRLHF script into a scenario of post-training",
       "Script that starts it",
       {"foretrain import openrlhf train_ppo_ray.sh --out ppo.yaml"}},
      {Framework::slime,
       "A slime script into a scenario of post-training",
       "Script that starts it",
       {"foretrain import slime run-qwen3-4B.sh --out grpo.yaml"}}};
  const auto found = std::ranges::find(rows, framework, &Help::framework);
  FORETRAIN_REQUIRE(found != rows.end());
  return *found;
}

/// Whose sources do not say the batch, or say "auto".
bool leaves_batch_to_code(Framework framework) {
  return framework == Framework::deepspeed || framework == Framework::horovod ||
         framework == Framework::lightning || reads_several_files(framework);
}

/// What training code decides, as the Hugging Face Trainer where a DeepSpeed JSON says "auto".
void add_trainer_options(Framework framework, CommandRow& command, FrameworkOptions& options) {
  const auto count = [&](const char* name, std::optional<int>& value, const char* help) {
    command.option(name, value, "N", help, {.range = {{1, 100'000'000}}});
  };
  count(
      "--micro-batch", options.import.micro_batch,
      "Sequences of a GPU per pass (the Trainer's --per_device_train_batch_size), where the source "
      "leaves them to code");
  count("--accumulation", options.import.accumulation,
        "Micro-batches per step (--gradient_accumulation_steps), likewise");
  if (reads_several_files(framework))
    count("--examples", options.import.examples,
          "Examples of the training set: with the epochs of the source they are the length of the "
          "run");
  command.option("--precision", options.precision, "NAME", "bf16, fp16 or fp32, likewise",
                 {.legal = {"bf16", "fp16", "fp32"}});
}

void add_framework_options(CommandRow& command, FrameworkOptions& options) {
  command.option("--name", options.import.name, "NAME",
                 "Name of the scenario; by default the file's");
  add_machine_options(command, options.import);
  command.option("--model", options.import.model, "MODEL",
                 "Model from the catalog, where the source holds none");
  command.option("--arguments", options.import.arguments, "ARGS",
                 "Megatron-DeepSpeed arguments that go with a DeepSpeed JSON");
  command.option("--leave-out", options.import.left_out, "KEY",
                 "Ignore this key of the source (may be repeated)", {.repeated = true});
  command.flag("--leave-out-unknown", options.import.leave_out_unknown,
               "Pass over all keys that are not known here, and list them");
  command.option("--var", options.variables, "NAME=VALUE", "Variable of a script (may be repeated)",
                 {.repeated = true});
  add_folder_options(command, options.folders);
}

CommandRow framework_import(Framework framework) {
  const auto options = std::make_shared<CommandOptions>();
  const Help& help = help_of(framework);
  CommandRow command{std::string(name_of(framework)), help.what};
  command.option("source", options->words, "FILE|ARGS", help.argument, {.required = true});
  add_framework_options(command, options->framework);
  if (leaves_batch_to_code(framework)) add_trainer_options(framework, command, options->framework);
  add_edited_output(command, options->out);
  command.flag("--json", options->json, "Print JSON, schema import/1, with the scenario in it");
  command.texts = {
      .notes =
          "What was read, ignored and assumed is listed on standard error and in the scenario.",
      .examples = help.examples,
      .exits = {{exit_ok, "imported"}}};
  command.run = [framework, options] { return run_import(framework, *options); };
  return command;
}

}  // namespace

void add_machine_options(CommandRow& command, PlanImportOptions& options) {
  add_host_options(command, options.host, options.device,
                   "Server type; by default the host that the catalog marks as default");
  command.option("--fabric", options.fabric, "PRESET",
                 "Fabric preset; by default that of the host's own NICs");
  command.option("--gpus", options.gpus, "N", "GPUs, where the source does not say or errs",
                 {.range = {{1, 1'000'000}}});
  command.option("--sequence", options.sequence, "N",
                 "Tokens in a sequence, where the source does not say");
}

void add_family_option(CommandRow& command, std::string& as) {
  command.option("--as", as, "TYPE",
                 "Read a Hugging Face configuration as this family, whatever its model_type");
}

namespace {

/// Further files of one configuration; key=value adds a key as a file of it would.
void read_beside(const std::vector<std::string>& words, PlanImportOptions& import) {
  Diagnostics diagnostics;
  for (std::size_t i = 1; i < words.size(); ++i)
    if (const auto equals = words[i].find('='); is_override(words[i]))
      import.beside.emplace_back(words[i],
                                 words[i].substr(0, equals) + ": " + words[i].substr(equals + 1));
    else if (auto text = read_text_file(words[i], words[i], YamlLimits{}.file_bytes, diagnostics))
      import.beside.emplace_back(words[i], std::move(*text));
  diagnostics.throw_if_any();
}

}  // namespace

ImportedScenario import_words(Framework framework, const std::vector<std::string>& words,
                              const FrameworkOptions& options) {
  PlanImportOptions import = import_options(options);
  std::error_code error;
  const bool is_file = !words.empty() && std::filesystem::exists(words.front(), error);
  std::string text;
  if (is_file || (words.size() == 1 && words.front() == "-")) {
    Diagnostics diagnostics;
    const std::string& file = words.front();
    const auto read = is_file ? read_text_file(file, file, YamlLimits{}.file_bytes, diagnostics)
                              : std::optional(read_standard_input());
    diagnostics.throw_if_any();
    text = *read;
    // Words behind a file add to it, as they would on a command line.
    if (reads_several_files(framework))
      read_beside(words, import);
    else
      for (std::size_t i = 1; i < words.size(); ++i) text += "\n" + words[i];
    return import_framework(framework, text, is_file ? file : "<stdin>", import);
  }
  if (words.size() == 1 && words.front().find_first_of(" =") == std::string::npos)
    throw UsageError("there is no file " + in_quotes(words.front()));
  for (const std::string& word : words) text += words.size() == 1 ? word : quoted_word(word) + " ";
  return import_framework(framework, text, "arguments", import);
}

ImportedScenario import_huggingface_file(const std::string& file, const FrameworkOptions& options,
                                         const std::optional<WantedTuning>& tuning) {
  Diagnostics diagnostics;
  const auto text = read_text_file(file, file, YamlLimits{}.file_bytes, diagnostics);
  diagnostics.throw_if_any();
  const ImportSource source{*text, file, "Hugging Face"};
  const PlanImportOptions import = import_options(options);
  return tuning ? tuning_of_huggingface(source, *tuning, import)
                : plan_of_huggingface(source, import);
}

ImportedScenario import_tuned_model(const FrameworkOptions& options, const WantedTuning& tuning) {
  return tuning_of_model(tuning, import_options(options));
}

std::vector<CommandRow> framework_imports() {
  std::vector<CommandRow> commands;
  for (const auto& [framework, name] : EnumNames<Framework>::names)
    commands.push_back(framework_import(framework));
  return commands;
}

}  // namespace foretrain
