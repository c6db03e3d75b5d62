// SPDX-License-Identifier: Apache-2.0
// Beside which linear layers adapters stand: names and patterns of PEFT's target_modules,
// parameters of target_parameters, and what of them a model has.
#include <algorithm>
#include <array>
#include <optional>
#include <regex>

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "models/layers/adapter_layers.hpp"
#include "scenarios/catalog/catalog.hpp"
#include "scenarios/imports/frameworks/adapter_targets.hpp"
#include "scenarios/imports/tuning/internal/tuning_reader.hpp"

namespace foretrain::tuning {
namespace {

/// A layer's modules as models of text and those with a tower beside it call them.
constexpr auto layer_paths = std::to_array<std::string_view>(
    {"model.layers.", "model.language_model.layers.", "language_model.model.layers.",
     "model.text_model.layers.", "language_model.layers.", "backbone.layers."});

/// Names that some models have and others do not, which PEFT passes over.
constexpr auto known_names = std::to_array<std::string_view>({"q_proj",
                                                              "k_proj",
                                                              "v_proj",
                                                              "o_proj",
                                                              "qkv_proj",
                                                              "gate_proj",
                                                              "up_proj",
                                                              "gate_up_proj",
                                                              "down_proj",
                                                              "w1",
                                                              "w2",
                                                              "w3",
                                                              "gate",
                                                              "shared_expert_gate",
                                                              "q_a_proj",
                                                              "q_b_proj",
                                                              "kv_a_proj_with_mqa",
                                                              "kv_b_proj",
                                                              "in_proj",
                                                              "in_proj_qkvz",
                                                              "in_proj_ba",
                                                              "out_proj"});

const Keys parameter_keys{"target_parameters", "lora_target_parameters"};

/// std::regex goes back where it failed: what could take it long is not tried.
bool is_quick(const std::string& pattern) {
  const auto choices = std::ranges::count_if(
      pattern, [](char c) { return c == '*' || c == '+' || c == '{' || c == '(' || c == '?'; });
  const bool nested = pattern.find(")*") != std::string::npos ||
                      pattern.find(")+") != std::string::npos ||
                      pattern.find("){") != std::string::npos;
  return pattern.size() <= 300 && choices <= 7 && !nested;
}

std::optional<std::regex> pattern_of(const std::string& text) {
  if (!is_quick(text)) return std::nullopt;
  try {
    return std::regex(text, std::regex::ECMAScript | std::regex::nosubs);
  } catch (const std::regex_error&) {
    return std::nullopt;
  }
}

bool takes(const std::regex& pattern, const LinearModule& module, int layer) {
  return std::ranges::any_of(layer_paths, [&](std::string_view path) {
    return std::regex_match(fmt::format("{}{}.{}", path, layer, module.path), pattern);
  });
}

/// As PEFT compares a listed name with a module's: all of it, or its end behind a point.
bool takes(const std::string& word, const LinearModule& module) {
  if (word == "all-linear" || word == "all") return module.linear;
  return module.path == word || module.path.ends_with("." + word);
}

bool same(const FoundTargets& a, const FoundTargets& b) {
  return a.targets == b.targets && a.experts == b.experts;
}

/// Projections that some models have in one (Phi-3).
std::optional<AdapterTarget> fused_target(const LlmShape& model, const std::string& word) {
  if (word == "qkv_proj" && has_layers(model, AdapterTarget::qkv)) return AdapterTarget::qkv;
  if (word == "gate_up_proj" && !model.moe) return AdapterTarget::fc1;
  return std::nullopt;
}

bool is_mlp(const EnumSet<AdapterTarget>& targets) {
  return targets.any_of(
      {AdapterTarget::fc1, AdapterTarget::gate, AdapterTarget::up, AdapterTarget::fc2});
}

}  // namespace

const LlmShape* TuningReader::shape() {
  if (options_.shape) return &*options_.shape;
  if (shape_) return &*shape_;
  if (plan_.model.empty()) return nullptr;
  shape_ = known_shape(plan_.model, options_);
  return shape_ ? &*shape_ : nullptr;
}

/// Names of modules, as a list has them.
void TuningReader::read_words(const LlmShape& model, const std::vector<std::string>& words,
                              FineTuning& fine) {
  EnumSet<AdapterTarget> fused;
  for (const std::string& word : words) {
    const auto whole = fused_target(model, word);
    if (whole) fused.add(*whole);
    const bool any = whole || found_targets(model, [&](const LinearModule& module) {
                                return takes(word, module);
                              }).targets.any();
    if (any) continue;
    const std::string_view last = std::string_view(word).substr(word.rfind('.') + 1);
    if (!contains(known_names, last))
      refuse(keys_.targets,
             in_quotes(word) + " is no linear layer of attention or MLP that is modelled");
    else
      assume(fmt::format("no adapter beside {}, a linear layer that {} does not have", word,
                         model.name));
  }
  take_found(found_targets(model,
                           [&](const LinearModule& module) {
                             return std::ranges::any_of(
                                 words, [&](const auto& word) { return takes(word, module); });
                           }),
             fine);
  fine.targets.add(fused);
}

/// A pattern over the names of modules, with the same layers of every depth.
void TuningReader::read_pattern(const LlmShape& model, const YamlNode& node, FineTuning& fine) {
  if (node.text.find("vis") != std::string::npos || node.text.find("audio") != std::string::npos)
    return refuse(keys_.targets,
                  "names layers of a vision or audio tower, beside which no adapters are modelled");
  const auto pattern = pattern_of(node.text);
  if (!pattern)
    return refuse(keys_.targets, "is a pattern that is too long or unusual; list the modules");
  const auto in_layer = [&](int layer) {
    return found_targets(
        model, [&](const LinearModule& module) { return takes(*pattern, module, layer); });
  };
  const FoundTargets found = in_layer(0);
  if (!found.targets.any())
    return refuse(keys_.targets, in_quotes(node.text) +
                                     " matches no linear layer of attention or MLP that is "
                                     "modelled");
  for (const int layer : {1, 2, 3, 11})
    if (!same(in_layer(layer), found))
      return refuse(keys_.targets, "matches other modules in layer " + std::to_string(layer) +
                                       " than in the first, which is not modelled");
  take_found(found, fine);
}

void TuningReader::take_found(const FoundTargets& found, FineTuning& fine) {
  if (!found.refused.empty()) refuse(keys_.targets, found.refused);
  fine.targets = found.targets;
  fine.expert_adapters = found.experts;
}

/// PEFT's target_parameters: experts as one parameter, with an adapter for each.
void TuningReader::read_parameters(const LlmShape& model, const std::vector<std::string>& names,
                                   FineTuning& fine) {
  EnumSet<AdapterTarget> experts;
  for (const std::string& name : names) {
    const std::string_view text{name};
    if (!text.empty() && text.front() >= '0' && text.front() <= '9')
      return refuse(parameter_keys, "adapters beside experts of some layers are not modelled");
    if (text.ends_with("experts.gate_up_proj") || text == "gate_up_proj")
      experts.add(AdapterTarget::fc1);
    else if (text.ends_with("experts.down_proj") || text == "down_proj")
      experts.add(AdapterTarget::fc2);
    else
      refuse(parameter_keys, in_quotes(name) + " is no parameter of experts that is modelled");
  }
  if (!experts.any()) return;
  if (!model.moe) return refuse(parameter_keys, "names experts, which the model does not have");
  if (is_mlp(fine.targets) || model.moe->shared_ffn_hidden > 0 || model.moe->first_dense_layers > 0)
    return refuse(parameter_keys,
                  "experts with other adapters than the MLPs beside them are not modelled");
  fine.targets.add(experts);
  fine.expert_adapters = ExpertAdapters::merged;
}

void TuningReader::read_targets(bool lora, FineTuning& fine) {
  const YamlNode* const written = in_.take_first(keys_.targets);
  const bool pattern = written != nullptr && written->is_scalar() &&
                       written->text.find_first_of("\\()[]|*+^$") != std::string::npos;
  std::vector<std::string> words = pattern ? std::vector<std::string>{} : words_of(keys_.targets);
  const std::vector<std::string> parameters = words_of(parameter_keys);
  if (!keys_.all_linear.empty() && in_.truth({keys_.all_linear}, false))
    words.emplace_back("all-linear");
  const LlmShape* const model = shape();
  if (!lora || model == nullptr) return;
  fine.targets = {};
  if (pattern) {
    read_pattern(*model, *written, fine);
  } else {
    if (words.empty() && parameters.empty()) words = usual_targets();
    read_words(*model, words, fine);
  }
  read_parameters(*model, parameters, fine);
}

std::vector<std::string> TuningReader::usual_targets() {
  if (keys_.usual_all_linear) {
    assume(fmt::format("adapters beside all linear layers, {}'s default", keys_.title));
    return {"all-linear"};
  }
  assume("adapters beside queries and values, PEFT's default for Llama");
  return {"q_proj", "v_proj"};
}

/// What follows from how the model's experts are implemented.
void TuningReader::fit_to_model(FineTuning& fine) {
  const LlmShape* const model = shape();
  if (model == nullptr) return;
  if (!model->moe) {
    fine.expert_adapters = FineTuning{}.expert_adapters;
    return;
  }
  const bool fused = has_fused_experts(*model) || fine.expert_adapters == ExpertAdapters::merged;
  if (fine.packs_frozen() && has_fused_experts(*model) && runs_unsloth()) {
    job_.training.grouped_experts = false;
    assume(
        "experts as packed linear layers of their own, run one after another, as Unsloth loads "
        "models in 4 bits");
  } else if (fine.packs_frozen() && fused) {
    fine.packed_experts = false;
    assume("experts in 16 bits: they are one parameter, which bitsandbytes does not pack");
  }
  if (!is_mlp(fine.targets)) {
    fine.expert_adapters = FineTuning{}.expert_adapters;
    return;
  }
  if (fine.expert_adapters == ExpertAdapters::none)
    assume("no adapters beside routed experts: no name takes their matrices");
  if (fine.expert_adapters != ExpertAdapters::per_expert) return;
  job_.training.grouped_experts = false;
  assume(
      "experts as linear layers of their own, run one after another, as transformers before its "
      "version 5 has them; from then on they are one parameter, which target_modules does not take "
      "(fine_tuning.expert_adapters: none)");
}

/// transformers loads no modules of multi-token prediction.
void TuningReader::drop_prediction(const LlmShape& model) {
  if (model.mtp_layers == 0) return;
  LlmShape without = model;
  without.mtp_layers = 0;
  job_.model = without;
  plan_.model.clear();
  assume("no prediction modules: transformers does not load them");
}

}  // namespace foretrain::tuning
