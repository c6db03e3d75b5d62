// SPDX-License-Identifier: Apache-2.0
// Which linear layers of a model have adapters; models/layers/README.md, "Fine-tuning".
#include "models/layers/adapter_layers.hpp"

#include <cstddef>

namespace foretrain {
namespace {

using enum AdapterTarget;

template <class Condition>
bool has_form(const LlmShape& model, const Condition& condition) {
  const FormCounts forms = model.form_counts(0, model.layers);
  for (std::size_t form = 0; form < layer_forms; ++form)
    if (forms[form] > 0 && condition(form_of(form))) return true;
  return false;
}

bool has_mixers(const LlmShape& model, MixerKind mixer) {
  return has_form(model, [mixer](const LayerType& type) { return type.mixer == mixer; });
}

bool has_kind(const LlmShape& model, LayerKind kind) {
  return has_form(model, [kind](const LayerType& type) { return type.kind == kind; });
}

bool has_second_halves(const LlmShape& model) {
  return has_kind(model, LayerKind::dense) || has_kind(model, LayerKind::moe);
}

/// Names of the layers whose input this one's is; of an MLP's those of a mixture beside it.
EnumSet<AdapterTarget> targets_of(LinearKind linear) {
  switch (linear) {
    case LinearKind::qkv:
      return {qkv, query, key, value, query_down, key_value_down};
    case LinearKind::query_down:
      return {query_down};
    case LinearKind::query_up:
      return {query_up, query};
    case LinearKind::key_value_down:
      return {key_value_down};
    case LinearKind::key_value_up:
      return {key_value_up};
    case LinearKind::projection:
      return {projection};
    case LinearKind::mixer_in:
      return {mixer_in, mixer_qkvz, mixer_ba};
    case LinearKind::mixer_out:
      return {mixer_out};
    case LinearKind::fc1:
    case LinearKind::expert_fc1:
      return {fc1, gate, up};
    case LinearKind::fc2:
    case LinearKind::expert_fc2:
      return {fc2};
    case LinearKind::mixture:
      return {fc1, gate, up, router, shared_gate};
    case LinearKind::router:
      return {router};
    case LinearKind::shared_gate:
      return {shared_gate};
    case LinearKind::none:
      break;
  }
  return {};
}

bool is_experts(LinearKind linear) {
  return linear == LinearKind::expert_fc1 || linear == LinearKind::expert_fc2;
}

}  // namespace

bool has_layers(const LlmShape& model, AdapterTarget target) {
  const bool attends = has_mixers(model, MixerKind::attention);
  const bool latent = model.mla.has_value();
  const bool latent_query = latent && model.mla->q_lora_rank > 0;
  switch (target) {
    case qkv:
    case key:
    case value:
      return attends && !latent;
    case query:
      return attends && !latent_query;
    case projection:
      return attends;
    case query_down:
    case query_up:
      return attends && latent_query;
    case key_value_down:
    case key_value_up:
      return attends && latent;
    case mixer_in:
    case mixer_out:
      return model.mamba || model.delta;
    case mixer_qkvz:
    case mixer_ba:
      return model.delta.has_value();
    case fc1:
    case up:
    case fc2:
      return has_second_halves(model);
    case gate:
      return has_second_halves(model) && model.gated_mlp;
    case router:
      return model.moe.has_value();
    case shared_gate:
      return model.moe && model.moe->shared_gate && model.moe->shared_ffn_hidden > 0;
  }
  return false;
}

bool has_dense_layers(const LlmShape& model) { return has_kind(model, LayerKind::dense); }

bool adapts_experts(const LlmShape& model, const FineTuning& tuning) {
  return model.moe && tuning.adapts() && tuning.expert_adapters != ExpertAdapters::none &&
         tuning.targets.any_of({fc1, gate, up, fc2});
}

namespace layer_detail {

bool has_adapter(const FineTuning& tuning, LinearKind linear) {
  const bool beside = !is_experts(linear) || tuning.expert_adapters == ExpertAdapters::per_expert ||
                      tuning.expert_adapters == ExpertAdapters::shared;
  return beside && tuning.adapts() && tuning.targets.any_of(targets_of(linear));
}

bool merges_adapter(const FineTuning& tuning, LinearKind linear) {
  return is_experts(linear) && tuning.adapts() &&
         tuning.expert_adapters == ExpertAdapters::merged &&
         tuning.targets.any_of(targets_of(linear));
}

bool trains(const FineTuning& tuning, LinearKind linear) {
  switch (linear) {
    case LinearKind::qkv:
    case LinearKind::query_down:
    case LinearKind::query_up:
    case LinearKind::key_value_down:
    case LinearKind::key_value_up:
    case LinearKind::projection:
    case LinearKind::mixer_in:
    case LinearKind::mixer_out:
      return tuning.trains(ModelPart::attention);
    case LinearKind::fc1:
    case LinearKind::fc2:
    case LinearKind::mixture:
    case LinearKind::router:
    case LinearKind::shared_gate:
      return tuning.trains(ModelPart::mlp) || tuning.trains(ModelPart::router) ||
             tuning.trains(ModelPart::experts);
    case LinearKind::expert_fc1:
    case LinearKind::expert_fc2:
      return tuning.trains(ModelPart::experts);
    case LinearKind::none:
      break;
  }
  return true;
}

double LayerActivations::*input_row(LinearKind linear) {
  switch (linear) {
    case LinearKind::qkv:
    case LinearKind::query_down:
    case LinearKind::query_up:
    case LinearKind::key_value_down:
    case LinearKind::key_value_up:
      return &LayerActivations::qkv;
    case LinearKind::projection:
      return &LayerActivations::attention_output;
    case LinearKind::mixer_in:
    case LinearKind::mixer_out:
      return &LayerActivations::mixer_input;
    case LinearKind::router:
    case LinearKind::shared_gate:
      return &LayerActivations::dispatch;
    case LinearKind::expert_fc1:
      return &LayerActivations::expert_tokens;
    case LinearKind::expert_fc2:
      return &LayerActivations::expert_output;
    case LinearKind::fc2:
      return &LayerActivations::mlp_output;
    default:
      return &LayerActivations::mlp_input;
  }
}

}  // namespace layer_detail
}  // namespace foretrain
