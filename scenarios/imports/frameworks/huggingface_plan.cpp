// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/huggingface_plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "scenarios/huggingface/huggingface.hpp"
#include "scenarios/imports/frameworks/importers.hpp"

namespace foretrain {
namespace {

constexpr int usual_sequence = 4096;

/// The configuration as a model. @throws ScenarioError
HuggingFaceModel model_of(const ImportSource& source, const PlanImportOptions& options) {
  Diagnostics diagnostics;
  const auto root = parse_yaml(source.text, source.name, YamlLimits{}, diagnostics);
  auto model =
      root ? import_huggingface(
                 *root, {huggingface_model_name(*root, source.name), options.as, options.catalogs},
                 diagnostics)
           : std::optional<HuggingFaceModel>{};
  diagnostics.throw_if_any();
  return std::move(*model);
}

int first_sequence(const HuggingFaceModel& model, const PlanImportOptions& options) {
  const int longest = model.shape.positions > 0 ? model.shape.positions : usual_sequence;
  return options.sequence.value_or(std::min(longest, usual_sequence));
}

std::string words_of(const WantedTuning& tuning) {
  if (!tuning.rank) return "fine-tuning of all weights, which rest in fp32, by the Trainer";
  return fmt::format("{} of rank {} beside all linear layers, by the Trainer and PEFT",
                     tuning.quantised ? "QLoRA" : "LoRA", *tuning.rank);
}

/// What was read of the model itself.
void add_notes(const HuggingFaceModel& model, PlanNotes& notes) {
  for (const ResolvedValue& value : model.values) notes.read.push_back(value.path);
  notes.ignored.insert(notes.ignored.end(), model.ignored.begin(), model.ignored.end());
  notes.approximated.insert(notes.approximated.end(), model.unknown.begin(), model.unknown.end());
  notes.assumed.insert(notes.assumed.end(), model.assumed.begin(), model.assumed.end());
}

}  // namespace

ImportedScenario plan_of_huggingface(const ImportSource& source, const PlanImportOptions& options) {
  if (options.gpus == 1) return tuning_of_huggingface(source, {}, options);
  const HuggingFaceModel model = model_of(source, options);
  Diagnostics diagnostics;
  const auto host = import_host(options, diagnostics);
  diagnostics.throw_if_any();
  ImportedPlan plan;
  plan.job.name = model.shape.name;
  plan.job.model = model.shape;
  add_notes(model, plan.notes);
  const int gpus = gpus_for({}, 1, host->gpus, options, plan.notes);
  Training& training = plan.job.training;
  training.sequence = first_sequence(model, options);
  if (host->device.peak_of(Precision::bf16) <= FlopPerSecond{}) {
    training.precision = Precision::fp16;
    plan.notes.assumed.push_back(fmt::format("fp16: {} has no bf16", host->device.name));
  }
  training.global_batch = gpus;
  plan.job.parallel.data = gpus;
  plan.job.parallel.zero = 1;
  choose_stack(plan, "megatron-core",
               "today's Megatron-Core with Transformer Engine: a model's configuration names no "
               "framework (--set stack=fsdp2 takes torchtitan)");
  plan.notes.assumed.push_back(
      fmt::format("{} replicas with ZeRO-1, one sequence of {} tokens each (--set, --sequence)",
                  gpus, training.sequence));
  return finish_import(std::move(plan), source, options, diagnostics);
}

ImportedScenario tuning_of_model(const WantedTuning& tuning, const PlanImportOptions& options) {
  std::string arguments =
      "bf16: auto\ngradient_checkpointing: true\nper_device_train_batch_size: 1\n";
  if (tuning.rank)
    arguments += fmt::format(
        "use_peft: true\nlora_r: {}\nlora_target_modules: all-linear\nload_in_4bit: {}\n",
        *tuning.rank, tuning.quantised);
  PlanImportOptions asked = options;
  const auto of_sequence = [&](int tokens) {
    asked.sequence = tokens;
    return import_tuning(TuningFramework::transformers,
                         {arguments, asked.name, "the Trainer", PlanFramework::transformers},
                         asked);
  };
  ImportedScenario imported = of_sequence(options.sequence.value_or(usual_sequence));
  const LlmShape& model = imported.scenario.job.model;
  const bool learned = model.position == PositionKind::learned && model.positions > 0;
  if (!options.sequence && learned && model.positions < usual_sequence)
    imported = of_sequence(model.positions);
  const Training& training = imported.scenario.job.training;
  imported.notes.assumed.push_back(
      fmt::format("{} in {}, one sequence of {} tokens per GPU, full recomputation (--set, "
                  "--sequence)",
                  words_of(tuning), name_of(training.precision), training.sequence));
  return imported;
}

ImportedScenario tuning_of_huggingface(const ImportSource& source, const WantedTuning& tuning,
                                       const PlanImportOptions& options) {
  const HuggingFaceModel model = model_of(source, options);
  PlanImportOptions asked = options;
  asked.shape = model.shape;
  asked.sequence = first_sequence(model, options);
  if (asked.name.empty()) asked.name = model.shape.name;
  ImportedScenario imported = tuning_of_model(tuning, asked);
  add_notes(model, imported.notes);
  return imported;
}

}  // namespace foretrain
