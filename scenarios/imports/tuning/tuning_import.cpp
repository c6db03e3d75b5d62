// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/importers.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "models/layers/parameters.hpp"
#include "scenarios/catalog/model_names.hpp"
#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/imports/tuning/internal/swift_megatron.hpp"
#include "scenarios/imports/tuning/internal/tuning_reader.hpp"

namespace foretrain {
namespace tuning {
/// TRL since its release 0.20 of 2025 recomputes, trains in bf16 and cuts rows at 1,024 tokens
/// where nothing is said. Keys that it dropped, and those of transformers' own scripts, say
/// otherwise.
bool TuningReader::is_trl() const {
  const auto has = [&](std::string_view key) { return node_at(files_.root, key) != nullptr; };
  const auto any = [&](const Keys& keys) { return std::ranges::any_of(keys, has); };
  if (framework_ != Framework::transformers) return false;
  if (any({"max_seq_length", "evaluation_strategy", "dataset_mixer", "block_size", "do_train"}))
    return false;
  return !trainer_.empty() ||
         any({"max_length", "packing_strategy", "eos_token", "assistant_only_loss",
              "completion_only_loss", "padding_free", "dataset_text_field", "chat_template_path",
              "use_peft", "lora_r", "load_in_4bit"});
}

void TuningReader::read(const Host& host, Diagnostics& diagnostics) {
  read_trainer();
  trl_ = is_trl();
  read_model(diagnostics);
  read_sharding();
  read_layout(host);
  read_batch();
  read_precision(host);
  read_checkpointing();
  read_optimizer();
  read_deepspeed(diagnostics);
  read_adapter();
  read_master_weights();
  read_objective();
  read_attention();
  read_fused_kernels();
  choose_profile();
  read_rest();
}

std::string_view TuningReader::said(const Keys& keys) const {
  for (const std::string_view key : keys)
    if (node_at(files_.root, key) != nullptr) return key;
  return keys.empty() ? std::string_view() : keys.front();
}

std::string TuningReader::place_of(const Keys& keys) const {
  const std::string_view key = said(keys);
  const YamlNode* const node = node_at(files_.root, key);
  return node == nullptr ? std::string("the Trainer's default")
                         : fmt::format("{} of {}", key, node->mark.origin());
}

void TuningReader::refuse_if_on(const Keys& keys, const char* message) {
  if (in_.truth(keys, false)) refuse(keys, message);
}

std::vector<std::string> TuningReader::words_of(const Keys& keys) {
  std::vector<std::string> words;
  const auto split = [&](const std::string& text) {
    std::string word;
    for (const char c : text + " ")
      if (c != ' ' && c != ',')
        word += c;
      else if (!word.empty())
        words.push_back(lower_case(std::exchange(word, {})));
  };
  for (const std::string_view key : keys) {
    const YamlNode* const node = in_.take(key);
    if (node == nullptr) continue;
    split(node->text);
    for (const YamlNode& item : node->items) split(item.text);
  }
  return words;
}

/// A folder with a config.json that the source names, from its own place or from here.
bool TuningReader::read_model_folder(const YamlNode& name, Diagnostics& diagnostics) {
  namespace fs = std::filesystem;
  const fs::path beside = name.mark.file ? fs::path(*name.mark.file).parent_path() : fs::path();
  std::error_code error;
  for (const fs::path& folder : {beside / name.text, fs::path(name.text)}) {
    const auto file = fs::is_directory(folder, error) ? model_file_at(folder) : std::nullopt;
    if (!file) continue;
    auto model = read_model_file(*file, options_.catalogs, diagnostics);
    if (!model) return true;
    job_.model = model->shape;
    shape_ = std::move(model->shape);
    packed_ = std::move(model->packed);
    assume(fmt::format("the shape of {}", file->string()));
    return true;
  }
  return false;
}

void TuningReader::read_model(Diagnostics& diagnostics) {
  if (options_.shape) {
    job_.model = *options_.shape;
    packed_ = options_.packed;
    return;
  }
  std::string unknown;
  plan_.model = options_.model;
  for (const std::string_view key : keys_.model) {
    const YamlNode* const node = in_.take(key);
    if (node == nullptr || node->text.empty()) continue;
    unknown = node->text;
    if (const std::string packing = packed_otherwise(unknown); !packing.empty())
      in_.refuse(key, "weights that rest in " + packing + " are not modelled");
    if (!plan_.model.empty()) continue;
    if (read_model_folder(*node, diagnostics)) return;
    const HubModel found = hub_model(unknown, options_.catalogs);
    plan_.model = found.name;
    if (found.another) assume(fmt::format("{}, which has the shape of {}", found.name, unknown));
  }
  if (plan_.model.empty())
    diagnostics.add(Mark{}, std::string(keys_.model.front()),
                    (unknown.empty() ? std::string("is missing")
                                     : in_quotes(unknown) + " is no model of the catalog") +
                        "; give --model NAME, or the path of a model or config.json");
}

/// A count of the arguments; else what DeepSpeed's file says, else the option.
std::optional<int> TuningReader::batch_part(const Keys& keys, const char* deepspeed_key) {
  Keys stated = keys;
  std::erase_if(stated, [&](std::string_view key) {
    const YamlNode* const node = node_at(files_.root, key);
    const bool automatic = node != nullptr && node->text == "auto";
    if (automatic) static_cast<void>(in_.take(key));
    return automatic;
  });
  if (const auto value = in_.integer(stated, 1, 100'000)) return value;
  const YamlNode* const other = files_.deepspeed ? files_.deepspeed->find(deepspeed_key) : nullptr;
  if (other == nullptr || other->text == "auto") return std::nullopt;
  Diagnostics ignored;  // the reader of that file reports it
  return TreeReader(*files_.deepspeed, ignored).integer({deepspeed_key}, 1, 100'000);
}

void TuningReader::read_batch() {
  Training& training = job_.training;
  const auto sequence = in_.integer(keys_.sequence, 1, 100'000'000);
  const int usual = trl_ ? 1024 : keys_.usual_sequence;
  training.sequence = options_.sequence.value_or(sequence.value_or(usual));
  const bool generates = trainer_ == "grpo";
  if (!options_.sequence && !sequence && !generates)
    assume(fmt::format("rows of {} tokens; the source does not say (--sequence)", usual));
  if (generates) training.sequence = generated_rows(training.sequence);
  micro_ = batch_part(keys_.micro_batch, "train_micro_batch_size_per_gpu");
  Keys gathered = keys_.accumulation;
  gathered.push_back("deepspeed_config.gradient_accumulation_steps");
  accumulation_ = batch_part(gathered, "gradient_accumulation_steps");
  if (!micro_) micro_ = options_.micro_batch;
  if (!accumulation_) accumulation_ = options_.accumulation;
  // Axolotl's older batch of a GPU and step.
  if (framework_ == Framework::axolotl)
    if (const auto step = in_.integer({"batch_size"}, 1, 100'000); step && micro_ && !accumulation_)
      accumulation_ = std::max(1, *step / *micro_);
  if (!micro_)
    assume(fmt::format("micro-batches of {}, {}'s default; the source does not say (--micro-batch)",
                       keys_.usual_micro_batch, keys_.title));
  training.micro_batch = micro_.value_or(keys_.usual_micro_batch);
  int steps = accumulation_.value_or(1);
  // ms-swift fills a step up to 16 sequences (swift/llm/argument/train_args.py).
  if (!accumulation_ && framework_ == Framework::swift) {
    steps = std::max(1, static_cast<int>(16.0 / training.micro_batch / job_.parallel.data));
    assume(fmt::format("{} micro-batches per step, which ms-swift makes of 16 sequences", steps));
  }
  read_packing();
  const int pass = training.micro_batch * job_.parallel.data;
  const auto total = in_.integer({"global_batch_size"}, 1, 100'000'000);
  if (total && !accumulation_ && *total % pass == 0) steps = *total / pass;
  const double batch = 1.0 * pass * steps;
  if (batch > 1e8) return in_.refuse(keys_.micro_batch.front(), "gives too large a global batch");
  training.global_batch = static_cast<int>(batch);
  if (total && *total != training.global_batch)
    in_.refuse("global_batch_size",
               fmt::format("is {}, but {} micro-batches of {} on {} replicas are {}", *total, steps,
                           training.micro_batch, job_.parallel.data, training.global_batch));
  training.vocabulary_multiple = 1;
  const auto count = in_.integer(keys_.steps, -1, 2'000'000'000);
  if (!count || *count <= 0) {
    read_epochs();
  } else {
    training.tokens = 1.0 * *count * training.global_batch * training.sequence;
    if (options_.examples)
      assume(
          fmt::format("{} steps, whatever --examples is: {} says so", *count, said(keys_.steps)));
  }
  refuse_if_on({"auto_find_batch_size", "split_batches", "accelerator_config.split_batches"},
               "changes the batch while it runs, or splits it; write the batch of a GPU");
}

void TuningReader::read_packing() {
  bool packs = false;
  for (const std::string_view key : keys_.packing) packs = in_.truth({key}, false) || packs;
  assume(packs ? "every row is one sample: the source does not say how long samples are "
                 "(training.samples)"
               : "rows are full: the source does not say how long samples are, and pads are "
                 "waste (training.samples)");
}

/// The Trainer's own flags win over accelerate's file, whose "no" is what its questionnaire
/// writes; two that ask for different formats are an error.
std::optional<Precision> TuningReader::stated_precision() {
  const auto on = [&](const Keys& keys) {
    const std::string text = in_.text(keys);
    return text == "true" || text == "auto" || text == "full";
  };
  const auto format = [](const std::string& text) -> std::optional<Precision> {
    if (text == "bf16" || text == "bfloat16") return Precision::bf16;
    if (text == "fp16" || text == "float16") return Precision::fp16;
    return std::nullopt;
  };
  const bool axolotl = framework_ == Framework::axolotl;
  const bool automatic = in_.text({"bf16"}) == "auto";
  const bool alias = axolotl && on({"bfloat16"});
  const bool brain = on({"bf16"}) || on({"pure_bf16"}) || alias;
  const bool half = on({"fp16"});
  const bool off = in_.text({"bf16"}) == "false" && in_.text({"fp16"}, "false") == "false";
  // Axolotl's for weights in fp16 without a second copy: bf16, whose default is auto, goes before.
  const bool whole = axolotl && in_.truth({"float16"}, false);
  const std::string mixed = in_.text({"mixed_precision"});
  const std::string loaded = in_.text({"torch_dtype", "dtype", "model_dtype"});
  if (brain && half && !automatic) refuse({"fp16"}, "stands beside bf16; one of them is wrong");
  const std::optional<Precision> flag = half    ? std::optional(Precision::fp16)
                                        : brain ? std::optional(Precision::bf16)
                                                : std::nullopt;
  const auto other = format(mixed);
  if (flag && other && !automatic && *flag != *other)
    in_.refuse("mixed_precision",
               fmt::format("is {}, and {} asks for {}; give both one format", mixed,
                           place_of({half ? "fp16" : "bf16"}), name_of(*flag)));
  if (flag || other) return flag ? flag : other;
  if (whole && off) return Precision::fp16;
  if (const auto held = format(loaded); held && !off) return held;
  return off || loaded == "float32" ? std::optional(Precision::fp32) : std::nullopt;
}

/// Linear layers in 8 bits, all else in bf16: by torchao with scales of every pass, or by
/// Transformer Engine with those of passes before, accelerate's choice where it is there.
bool TuningReader::trains_in_eight_bits() {
  const Keys backends{"fp8_config.backend", "fp8_config.fp8_backend", "fp8_backend"};
  const std::string backend = in_.text(backends);
  const bool automatic = backend.empty() || backend == "auto";
  const bool mixed = in_.text({"mixed_precision"}) == "fp8";
  const bool eight = in_.truth({"fp8"}, false) || mixed;
  const bool gathers = in_.truth(
      {"fp8_enable_fsdp_float8_all_gather", "fp8_config.enable_fsdp_float8_all_gather"}, false);
  if (!eight) return false;
  const bool engine = backend == "te" || (automatic && mixed);
  if (!automatic && backend != "te" && backend != "ao" && backend != "torchao")
    refuse(backends, in_quotes(backend) + " is not modelled: AO (torchao), TE");
  job_.training.fp8_scaling = engine ? Fp8Scaling::tensor : Fp8Scaling::current;
  if (engine && backend.empty())
    assume("8 bits by Transformer Engine, which accelerate takes where it finds it");
  job_.memory.fp8_parameters = gathers && !engine && job_.parallel.zero >= 3;
  if (gathers && job_.parallel.zero == 2)
    assume(
        "shards of weights travel in 16 bits: gathers in 8 bits are modelled where weights are "
        "given back after use");
  return true;
}

void TuningReader::read_precision(const Host& host) {
  const bool ampere = host.device.architecture >= Architecture::ampere;
  const bool automatic = in_.text({"bf16"}) == "auto" && in_.text({"fp16"}) != "true";
  auto precision = stated_precision();
  if (automatic && !ampere) precision = Precision::fp16;
  if (trains_in_eight_bits()) precision = Precision::fp8;
  if (!precision) precision = options_.precision;
  const bool unsloth = runs_unsloth();  // trains in the format that it loads a model in
  if (!precision && (keys_.usual_half || unsloth || (trl_ && ampere))) {
    precision = ampere ? Precision::bf16 : Precision::fp16;
    assume(fmt::format("{}, {}'s default on {} (--precision)", name_of(*precision),
                       unsloth ? "Unsloth"
                       : trl_  ? "TRL"
                               : keys_.title,
                       host.device.name));
  }
  if (!precision) assume("training in fp32: the source names no 16-bit format (--precision)");
  Training& training = job_.training;
  training.precision = precision.value_or(Precision::fp32);
  const bool tf32 = in_.text({"tf32"}) == "true";
  if (training.precision == Precision::fp32 && tf32) training.precision = Precision::tf32;
  job_.communication.gradient_dtype = Precision::fp32;
}

/// Whether the model is loaded in 16 bits: as the arguments say, or as the framework does.
bool TuningReader::loads_narrow() {
  const std::string loaded = in_.text({"torch_dtype", "dtype", "model_dtype"});
  if (loaded == "float32" || loaded == "fp32") return false;
  if (!loaded.empty() && loaded != "auto") return true;
  // Unsloth makes fp32 of what it trains in fp16.
  if (runs_unsloth() && job_.training.precision == Precision::fp16) return false;
  // Axolotl and ms-swift load the format that they train in. LLaMA-Factory does, too, and then
  // casts what is trained to fp32, but for pure_bf16.
  const bool always = framework_ == Framework::axolotl || framework_ == Framework::swift;
  return loaded == "auto" || always;
}

/// A model that is loaded in 16 bits is trained so, gradients and moments included, unless
/// DeepSpeed's engine or accelerate's FSDP with mixed precision make fp32 copies, or PEFT's
/// adapters, which are fp32.
void TuningReader::read_master_weights() {
  Training& training = job_.training;
  const bool pure = in_.truth({"pure_bf16"}, false);
  const bool casts = framework_ == Framework::llamafactory && !pure;
  const bool half = !full_precision(training.precision);
  const bool adapters = job_.fine_tuning.adapter != AdapterKind::none;
  if (!half || adapters || deepspeed_ || casts || !(pure || loads_narrow())) return;
  const bool mixed = in_.text({"bf16"}) == "true" || in_.text({"fp16"}) == "true" ||
                     in_.text({"bf16"}) == "auto" || in_.text({"bfloat16"}) == "true" ||
                     in_.text({"mixed_precision"}, "no") != "no";
  // Axolotl and ms-swift train in mixed precision where nothing says otherwise.
  const bool unsaid = keys_.usual_half && in_.text({"bf16"}).empty() && in_.text({"fp16"}).empty();
  if (fsdp_ && (mixed || unsaid)) return;  // accelerate casts what FSDP shards to fp32
  training.master_weights = MasterWeights::none;
  const bool fp16 = training.precision == Precision::fp16;
  job_.communication.gradient_dtype = fp16 ? Precision::fp16 : Precision::bf16;
  if (kahan_) training.first_moment_bytes = 2.0 * training.first_moment();
  assume(
      fmt::format("weights, gradients and moments wholly in {}, as the model is loaded "
                  "(training.master_weights)",
                  name_of(job_.communication.gradient_dtype)));
}

}  // namespace tuning

ImportedScenario import_tuning(Framework framework, const ImportSource& source,
                               const PlanImportOptions& options) {
  Diagnostics diagnostics;
  const tuning::TuningFiles files = tuning::tuning_files(source, options, diagnostics);
  const auto host = import_host(options, diagnostics);
  diagnostics.throw_if_any();
  if (files.megatron)
    return import_swift_megatron(files.root, files.assumed, source, options, diagnostics);
  ImportSource run = source;
  if (framework == Framework::swift) run.runs = PlanFramework::transformers;  // its Trainer
  TreeReader in(files.root, diagnostics, options.left_out);
  ImportedPlan plan;
  plan.job.name = std::filesystem::path(source.name).stem().string();
  plan.notes.assumed = files.assumed;
  tuning::TuningReader(framework, files, in, options, plan).read(*host, diagnostics);
  in.finish(options, plan.notes);
  return finish_import(std::move(plan), run, options, diagnostics);
}

}  // namespace foretrain
