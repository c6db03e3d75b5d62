// SPDX-License-Identifier: Apache-2.0
// Adapters, frozen weights and objectives: PEFT's LoraConfig, TRL's ModelConfig, Axolotl,
// LLaMA-Factory, ms-swift.
#include <array>

#include <fmt/format.h>

#include "scenarios/imports/frameworks/internal/tuning_reader.hpp"

namespace foretrain::tuning {
namespace {

struct Target {
  std::string_view module;
  AdapterTarget target;
};

/// Modules of transformers' Llama-like models.
constexpr auto modules = std::to_array<Target>({{"q_proj", AdapterTarget::query},
                                                {"k_proj", AdapterTarget::key},
                                                {"v_proj", AdapterTarget::value},
                                                {"qkv_proj", AdapterTarget::qkv},
                                                {"o_proj", AdapterTarget::projection},
                                                {"gate_proj", AdapterTarget::gate},
                                                {"up_proj", AdapterTarget::up},
                                                {"gate_up_proj", AdapterTarget::fc1},
                                                {"down_proj", AdapterTarget::fc2}});

const EnumSet<AdapterTarget> all_linear{
    AdapterTarget::query, AdapterTarget::key, AdapterTarget::value, AdapterTarget::projection,
    AdapterTarget::gate,  AdapterTarget::up,  AdapterTarget::fc2};

/// Losses over pairs without a reference model.
bool without_reference(const std::string& name) {
  return name == "orpo" || name == "simpo" || name == "cpo";
}

}  // namespace

void TuningReader::add_target(const std::string& word, FineTuning& fine) {
  if (word == "all-linear" || word == "all") {
    fine.targets = all_linear;
    return;
  }
  for (const Target& known : modules)
    if (known.module == word) return fine.targets.add(known.target);
  refuse(keys_.targets,
         in_quotes(word) + " is no linear layer of attention or MLP that is modelled");
}

void TuningReader::read_targets(bool lora, FineTuning& fine) {
  const std::vector<std::string> words = words_of(keys_.targets);
  const bool all = !keys_.all_linear.empty() && in_.truth({keys_.all_linear}, false);
  if (!lora) return;
  fine.targets = {};
  for (const std::string& word : words) add_target(word, fine);
  if (all) fine.targets = all_linear;
  if (fine.targets.any()) return;
  fine.targets = keys_.usual_all_linear
                     ? all_linear
                     : EnumSet<AdapterTarget>{AdapterTarget::query, AdapterTarget::value};
  assume(keys_.usual_all_linear
             ? fmt::format("adapters beside all linear layers, {}'s default", keys_.title)
             : "adapters beside queries and values, PEFT's default for Llama");
}

void TuningReader::read_trained(FineTuning& fine) {
  EnumSet<ModelPart> parts;
  for (const std::string& word : words_of(keys_.trained_too))
    if (word == "embed_tokens")
      parts.add(ModelPart::embedding);
    else if (word == "lm_head")
      parts.add(ModelPart::output);
    else
      refuse(keys_.trained_too, in_quotes(word) + " is not modelled");
  if (parts.any()) fine.trained = parts;
}

/// Whether there are adapters: by the kind, by TRL's use_peft, or because a rank is given.
bool TuningReader::adapts() {
  const std::string kind = in_.text(keys_.adapter);
  const bool lora = kind == "lora" || kind == "qlora";
  if (!lora && !kind.empty() && kind != "full" && kind != "none")
    refuse(keys_.adapter, in_quotes(kind) + " is not modelled: lora, qlora, full");
  if (!kind.empty()) return lora;
  if (keys_.usual_adapter) {
    assume(fmt::format("LoRA, {}'s default", keys_.title));
    return true;
  }
  if (framework_ != TuningFramework::transformers) return false;
  const YamlNode* const peft = in_.take("use_peft");
  if (peft != nullptr) return in_.truth({"use_peft"}, false);
  const bool ranked = in_.take_first({"lora_r", "lora_target_modules"}) != nullptr;
  if (ranked) assume("LoRA: its keys are there, and use_peft is not");
  return ranked;
}

void TuningReader::read_frozen(bool lora, bool quantised, FineTuning& fine) {
  const auto bits = in_.integer(keys_.bits, 2, 8);
  const bool four = in_.truth(keys_.four_bits, quantised) || (bits && *bits == 4);
  const bool twice = in_.truth(keys_.double_scales, keys_.usual_double_scales);
  const bool eight = in_.truth({"load_in_8bit"}, false);
  if (eight || (bits && *bits != 4)) {
    Keys named = keys_.bits;
    named.push_back("load_in_8bit");
    refuse(named, "frozen weights of other than 4 and 16 bits are not modelled");
  }
  if (four && !lora) {
    Keys named = keys_.four_bits;
    named.insert(named.end(), keys_.bits.begin(), keys_.bits.end());
    refuse(named, "weights of 4 bits are frozen, and no adapter is there to train");
  }
  if (four && lora) fine.frozen_format = twice ? FrozenFormat::nf4_double : FrozenFormat::nf4;
}

void TuningReader::read_adapter() {
  FineTuning& fine = job_.fine_tuning;
  const std::string kind = in_.text(keys_.adapter);
  const bool lora = adapts();
  // TRL's own arguments have other defaults than PEFT's.
  const bool trl = framework_ == TuningFramework::transformers && kind.empty();
  const auto rank = in_.integer(keys_.rank, 1, 65536);
  const auto dropout = in_.number(keys_.dropout);
  const bool dora = in_.truth({"use_dora", "peft_use_dora"}, false);
  const std::string bias = in_.text({"bias", "lora_bias"}, "none");
  const YamlNode* const some_layers = in_.take_first(
      {"layers_to_transform", "peft_layers_to_transform", "rank_pattern", "layer_replication",
       "target_parameters", "exclude_modules", "trainable_token_indices"});
  read_frozen(lora, kind == "qlora", fine);
  read_targets(lora, fine);
  if (!lora) return;
  if (some_layers != nullptr &&
      (!some_layers->items.empty() || !some_layers->entries.empty() || !some_layers->text.empty()))
    refuse({"layers_to_transform", "peft_layers_to_transform", "rank_pattern", "layer_replication",
            "target_parameters", "exclude_modules", "trainable_token_indices"},
           "adapters that differ by layer or stand beside other matrices are not modelled");
  if (bias != "none" && bias != "false")
    refuse({"bias", "lora_bias"}, "biases that are trained beside adapters are not modelled");
  fine.adapter = dora ? AdapterKind::dora : AdapterKind::lora;
  fine.rank = rank.value_or(trl ? 16 : keys_.usual_rank);
  fine.dropout = dropout.value_or(trl ? 0.05 : keys_.usual_dropout);
  if (!rank) assume(fmt::format("rank {}, the default", fine.rank));
  if (!dropout && fine.dropout > 0.0)
    assume(fmt::format("dropout {} before the adapters, the default", fine.dropout));
  read_trained(fine);
}

/// A reference of its own, the model without its adapters, or none: of what was computed before,
/// and of losses that have no reference, nothing is left to run.
void TuningReader::read_preference(const std::string& name) {
  FineTuning& fine = job_.fine_tuning;
  fine.objective = Objective::preference;
  fine.reference = fine.adapts() ? ReferenceKind::without_adapters : ReferenceKind::copy;
  if (in_.take("ref_model") != nullptr) fine.reference = ReferenceKind::copy;
  const bool before = in_.truth({"precompute_ref_log_probs"}, false);
  const bool free = in_.truth({"reference_free"}, false);
  if (!before && !free && !without_reference(name)) return;
  fine.reference = ReferenceKind::precomputed;
  if (!before)
    assume((free ? std::string("reference_free") : name) + ": no pass of a reference model");
}

/// TRL's arguments do not name their trainer; one that has keys of pairs alone would pass for
/// plain fine-tuning, without a reference.
void TuningReader::refuse_unnamed_pairs() {
  for (const std::string_view key : {"beta", "max_prompt_length", "precompute_ref_log_probs"})
    if (in_.take(key) != nullptr)
      return refuse({key},
                    "belongs to a trainer of pairs, and nothing says which: give a further file "
                    "with trainer: dpo, ipo, orpo, simpo or cpo");
}

/// Trainers put both answers of a pair into one pass.
void TuningReader::read_objective() {
  FineTuning& fine = job_.fine_tuning;
  const std::string said = in_.text(keys_.objective);
  if (framework_ == TuningFramework::transformers) {
    static_cast<void>(in_.take("beta"));
    if (said.empty()) refuse_unnamed_pairs();
  }
  const std::string loss = in_.text({"pref_loss", "loss_type"}, "sigmoid");
  if (said.empty() || said == "sft" || said == "pt") return;
  if (said == "dpo" || said == "ipo" || without_reference(said)) {
    read_preference(without_reference(said) ? said : loss);
  } else if (said == "rm" || said == "reward") {
    fine.objective = Objective::reward;
  } else {
    return refuse(keys_.objective,
                  in_quotes(said) + " is not modelled: sft, dpo, ipo, orpo, simpo, cpo, rm");
  }
  job_.training.micro_batch *= 2;
  job_.training.global_batch *= 2;
  assume("batches count pairs of answers: two sequences each");
}

}  // namespace foretrain::tuning
