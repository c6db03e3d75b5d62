// SPDX-License-Identifier: Apache-2.0
// Adapters, frozen weights and objectives: PEFT's LoraConfig, TRL's ModelConfig, Axolotl,
// LLaMA-Factory, ms-swift.
#include <fmt/format.h>

#include "scenarios/imports/tuning/internal/tuning_reader.hpp"

namespace foretrain::tuning {
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

/// LLaMA-Factory's finetuning_type: freeze, all but the last layers; parts of those alone where
/// they are named.
void TuningReader::read_freeze(FineTuning& fine) {
  const int layers = in_.integer({"freeze_trainable_layers"}, -10000, 10000).value_or(2);
  const LlmShape* const model = shape();
  if (model == nullptr) return;
  if (layers < 0)
    return in_.refuse("freeze_trainable_layers",
                      "trains the first layers below frozen ones, which is not modelled");
  if (layers == 0 || layers > model->layers)
    return in_.refuse(
        "freeze_trainable_layers",
        fmt::format("{} is none of 1 to {}, the layers of the model", layers, model->layers));
  fine.frozen_layers = model->layers - layers;
  EnumSet<ModelPart> parts;
  for (const std::string& word : words_of({"freeze_trainable_modules"}))
    if (word == "all")
      parts.add({ModelPart::attention, ModelPart::mlp, ModelPart::router, ModelPart::experts,
                 ModelPart::norms});
    else if (word == "mlp")
      parts.add({ModelPart::mlp, ModelPart::router, ModelPart::experts});
    else if (word == "self_attn")
      parts.add(ModelPart::attention);
    else
      in_.refuse("freeze_trainable_modules", in_quotes(word) + " is not modelled: mlp, self_attn");
  if (!parts.any())
    parts = {ModelPart::attention, ModelPart::mlp, ModelPart::router, ModelPart::experts,
             ModelPart::norms};
  for (const std::string& word : words_of({"freeze_extra_modules"}))
    if (word == "lm_head")
      parts.add(ModelPart::output);
    else if (word == "norm")
      parts.add(ModelPart::norms);
    else
      in_.refuse("freeze_extra_modules", in_quotes(word) + " is not modelled: lm_head, norm");
  fine.trained = parts;
}

/// Whether there are adapters: by the kind, by TRL's use_peft, or because a rank is given.
bool TuningReader::adapts() {
  const std::string kind = in_.text(keys_.adapter);
  const bool lora = kind == "lora" || kind == "qlora";
  const bool freezes = kind == "freeze" && framework_ == Framework::llamafactory;
  if (freezes) read_freeze(job_.fine_tuning);
  if (!lora && !freezes && !kind.empty() && kind != "full" && kind != "none")
    refuse(keys_.adapter, in_quotes(kind) + " is not modelled: lora, qlora, full");
  if (!kind.empty()) return lora;
  if (keys_.usual_adapter) {
    assume(fmt::format("LoRA, {}'s default", keys_.title));
    return true;
  }
  if (framework_ != Framework::transformers) return false;
  const YamlNode* const peft = in_.take("use_peft");
  if (peft != nullptr) return in_.truth({"use_peft"}, false);
  const bool ranked = in_.take_first({"lora_r", "lora_target_modules"}) != nullptr;
  if (ranked) assume("LoRA: its keys are there, and use_peft is not");
  return ranked;
}

namespace {

/// What a model's name says of how its weights rest: GPTQ's, or bitsandbytes' 4 bits.
FrozenFormat format_of_name(const std::string& name) {
  if (name.find("gptq") != std::string::npos) return FrozenFormat::gptq;
  if (name.find("bnb-4bit") != std::string::npos) return FrozenFormat::nf4_double;
  return FrozenFormat::as_computed;
}

}  // namespace

FrozenFormat TuningReader::stated_format(bool quantised) {
  const auto bits = in_.integer(keys_.bits, 2, 8);
  const bool four = in_.truth(keys_.four_bits, quantised) || (bits && *bits == 4);
  const bool twice = in_.truth(keys_.double_scales, keys_.usual_double_scales);
  const bool eight = in_.truth({"load_in_8bit"}, false) || (bits && *bits == 8);
  const bool gptq = in_.truth({"gptq"}, false);
  const std::string method = in_.text({"quantization_method", "quant_method"}, "bnb");
  if (bits && *bits != 4 && *bits != 8)
    refuse(keys_.bits, "frozen weights of other than 4, 8 and 16 bits are not modelled");
  if (method != "bnb" && method != "bitsandbytes" && method != "gptq")
    refuse({"quantization_method", "quant_method"},
           in_quotes(method) + " is not modelled: bnb, gptq");
  if (gptq || (method == "gptq" && bits)) return FrozenFormat::gptq;
  if (eight) return FrozenFormat::int8;
  if (four) return twice ? FrozenFormat::nf4_double : FrozenFormat::nf4;
  return FrozenFormat::as_computed;
}

/// What the quantization_config of the model's own config.json says, where nothing else does.
void TuningReader::take_checkpoint(bool lora, FrozenFormat& format, Keys& named) {
  if (!packed_) return;
  if (packed_->unpacks)
    return assume(
        fmt::format("weights in 16 bits: the checkpoint's {} (quantization_config) are unpacked as "
                    "they are loaded, since nothing trains on them",
                    packed_->words));
  if (!packed_->frozen)
    return in_.refuse(keys_.model.front(),
                      fmt::format("frozen weights in {} (quantization_config of the model) are not "
                                  "modelled",
                                  packed_->words));
  named.insert(named.begin(), keys_.model.begin(), keys_.model.end());
  format = *packed_->frozen;
  if (lora)
    assume(fmt::format("frozen weights in {}, as the checkpoint rests (quantization_config)",
                       name_of(format)));
}

void TuningReader::read_frozen(bool lora, bool quantised, FineTuning& fine) {
  FrozenFormat format = stated_format(quantised);
  Keys named = keys_.four_bits;
  named.insert(named.end(), keys_.bits.begin(), keys_.bits.end());
  for (const char* key : {"load_in_8bit", "gptq"}) named.emplace_back(key);
  if (format == FrozenFormat::as_computed) {
    const std::string name = in_.text(keys_.model);  // in small letters
    if (name.find("-awq") != std::string::npos)
      refuse(keys_.model, "weights that rest in AWQ's 4 bits are not modelled");
    format = format_of_name(name);
    named.insert(named.begin(), keys_.model.begin(), keys_.model.end());
    if (lora && format != FrozenFormat::as_computed)
      assume(fmt::format("frozen weights in {}, as the model's name says", name_of(format)));
    if (format == FrozenFormat::as_computed) take_checkpoint(lora, format, named);
  }
  if (!lora && format != FrozenFormat::as_computed)
    refuse(named, "packed weights are frozen, and no adapter is there to train");
  if (format == FrozenFormat::int8)
    assume(
        "frozen weights in 8 bits are unpacked as those in 4 bits are: their time was not "
        "measured");
  if (lora) fine.frozen_format = format;
}

/// Axolotl's names of what is trained, matched from the begin of a parameter's name: all of the
/// language model, with a tower frozen beside it, is what is trained anyway without images.
void TuningReader::read_unfrozen() {
  const Keys key{"unfrozen_parameters"};
  const std::vector<std::string> words = words_of(key);
  const LlmShape* const model = shape();
  if (words.empty() || model == nullptr) return;
  const std::string body = model->vision ? "model.language_model" : "model";
  bool layers = false;
  bool head = model->tied_embeddings;
  bool others = false;
  bool adapters = false;
  for (std::string word : words) {
    if (word.starts_with('^')) word.erase(0, 1);
    adapters = adapters || word.starts_with("base_model") || word.starts_with(".*");
    word.resize(word.find_last_not_of("$*.") + 1);
    layers = layers || word == body;
    head = head || word == "lm_head" || word == "lm_head.weight";
    others = others || (word != body && !word.starts_with("lm_head"));
  }
  if (job_.fine_tuning.adapts() && !adapters)
    return refuse(key,
                  "freezes the adapters as well, whose names begin with base_model: nothing is "
                  "trained; --leave-out unfrozen_parameters reads the rest");
  if (job_.fine_tuning.adapts() || others || !layers || !head)
    return refuse(key,
                  "trains some parameters and freezes others, which is not modelled; --leave-out "
                  "unfrozen_parameters ignores it");
  assume("all of the language model is trained, which unfrozen_parameters names whole");
}

void TuningReader::read_adapter() {
  FineTuning& fine = job_.fine_tuning;
  const std::string kind = in_.text(keys_.adapter);
  const bool lora = adapts();
  // TRL's own arguments have other defaults than PEFT's.
  const bool trl = framework_ == Framework::transformers && kind.empty();
  const auto rank = in_.integer(keys_.rank, 1, 65536);
  const auto dropout = in_.number(keys_.dropout);
  const bool dora = in_.truth({"use_dora", "peft_use_dora"}, false);
  const std::string bias = in_.text({"bias", "lora_bias"}, "none");
  const YamlNode* const some_layers =
      in_.take_first({"layers_to_transform", "peft_layers_to_transform", "rank_pattern",
                      "layer_replication", "exclude_modules", "trainable_token_indices"});
  read_frozen(lora, kind == "qlora", fine);
  read_targets(lora, fine);
  if (const LlmShape* const model = shape()) drop_prediction(*model);
  if (!lora && framework_ == Framework::axolotl) read_unfrozen();
  if (!lora) return;
  if (some_layers != nullptr &&
      (!some_layers->items.empty() || !some_layers->entries.empty() || !some_layers->text.empty()))
    refuse({"layers_to_transform", "peft_layers_to_transform", "rank_pattern", "layer_replication",
            "exclude_modules", "trainable_token_indices"},
           "adapters that differ by layer or stand beside other matrices are not modelled");
  if (bias != "none" && bias != "false")
    refuse({"bias", "lora_bias"}, "biases that are trained beside adapters are not modelled");
  fine.adapter = dora ? AdapterKind::dora : AdapterKind::lora;
  fine.rank = rank.value_or(trl ? 16 : keys_.usual_rank);
  fine.dropout = dropout.value_or(trl ? 0.05 : keys_.usual_dropout);
  if (!rank) assume(fmt::format("rank {}, the default", fine.rank));
  if (!dropout && fine.dropout > 0.0)
    assume(fmt::format("dropout {} before the adapters, the default", fine.dropout));
  fit_to_model(fine);
  read_trained(fine);
  if (framework_ == Framework::axolotl) read_unfrozen();
}

}  // namespace foretrain::tuning
