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
  const bool packs = tuning.quantised || tuning.frozen;
  return fmt::format("{} of rank {} beside all linear layers, by the Trainer and PEFT",
                     packs ? "QLoRA" : "LoRA", *tuning.rank);
}

/// What training makes of a checkpoint that rests packed: its format below adapters, or 16 bits
/// where transformers unpacks it (`dequantize`), or nothing that is modelled.
/// @throws ScenarioError
std::optional<FrozenFormat> frozen_checkpoint(const HuggingFaceModel& model, bool adapters,
                                              PlanNotes& notes) {
  if (!model.packed) return std::nullopt;
  const PackedCheckpoint& packed = *model.packed;
  if (packed.unpacks) {
    notes.assumed.push_back(
        fmt::format("weights in 16 bits: the checkpoint's {} (quantization_config) are unpacked "
                    "as they are loaded, since nothing trains on them",
                    packed.words));
    return std::nullopt;
  }
  Diagnostics diagnostics;
  if (!adapters)
    diagnostics.add(packed.mark, "quantization_config",
                    fmt::format("weights in {} are frozen: train adapters beside them (--lora "
                                "RANK), or give the config.json of the model in 16 bits",
                                packed.words));
  else if (!packed.frozen)
    diagnostics.add(packed.mark, "quantization_config",
                    fmt::format("frozen weights in {} are not modelled: 4 and 8 bits of "
                                "bitsandbytes, 4 bits of GPTQ",
                                packed.words));
  diagnostics.throw_if_any();
  notes.assumed.push_back(
      fmt::format("frozen weights in {}, as the checkpoint rests "
                  "(quantization_config)",
                  name_of(*packed.frozen)));
  return packed.frozen;
}

/// Arguments of the Trainer that load frozen weights so.
std::string loading_arguments(const WantedTuning& tuning) {
  using enum FrozenFormat;
  const FrozenFormat usual = tuning.quantised ? nf4 : as_computed;
  switch (tuning.frozen.value_or(usual)) {
    case nf4:
      return "load_in_4bit: true\n";
    case nf4_double:
      return "load_in_4bit: true\nuse_bnb_nested_quant: true\n";
    case int8:
      return "load_in_8bit: true\n";
    case gptq:
      return "gptq: true\n";
    case as_computed:
    case fp32:
      break;
  }
  return "load_in_4bit: false\n";
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
  (void)frozen_checkpoint(model, false, plan.notes);
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
    arguments += fmt::format("use_peft: true\nlora_r: {}\nlora_target_modules: all-linear\n{}",
                             *tuning.rank, loading_arguments(tuning));
  PlanImportOptions asked = options;
  const auto of_sequence = [&](int tokens) {
    asked.sequence = tokens;
    return import_tuning(Framework::transformers,
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
  PlanNotes notes;
  WantedTuning wanted = tuning;
  wanted.frozen = frozen_checkpoint(model, tuning.rank.has_value(), notes);
  ImportedScenario imported = tuning_of_model(wanted, asked);
  add_notes(model, imported.notes);
  for (std::string& sentence : notes.assumed) imported.notes.assumed.push_back(std::move(sentence));
  return imported;
}

}  // namespace foretrain
