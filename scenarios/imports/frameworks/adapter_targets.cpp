// SPDX-License-Identifier: Apache-2.0
// Names of linear layers: Megatron-Core's, and those of models in transformers.
#include "scenarios/imports/frameworks/adapter_targets.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "models/layers/adapter_layers.hpp"

namespace foretrain {
namespace {

using enum AdapterTarget;

struct NamedTarget {
  std::string_view name;
  AdapterTarget target;
};

/// Megatron-Core's own modules, and those that canonical LoRA of NeMo takes apart.
constexpr auto megatron_modules =
    std::to_array<NamedTarget>({{"linear_qkv", qkv},
                                {"linear_q", query},
                                {"linear_k", key},
                                {"linear_v", value},
                                {"linear_proj", projection},
                                {"linear_fc1", fc1},
                                {"linear_fc1_gate", gate},
                                {"linear_fc1_up", up},
                                {"linear_fc2", fc2},
                                {"linear_q_proj", query},
                                {"linear_q_down_proj", query_down},
                                {"linear_q_up_proj", query_up},
                                {"linear_kv_down_proj", key_value_down},
                                {"linear_kv_up_proj", key_value_up},
                                {"in_proj", mixer_in},
                                {"out_proj", mixer_out},
                                {"router", router}});

class Modules {
 public:
  explicit Modules(const LlmShape& model) : model_{model} {}

  std::vector<LinearModule> all() {
    for (const char* half : {"self_attn", "mixer"}) attention(half);
    for (const char* half : {"linear_attn", "mixer"}) mixers(half);
    if (has_dense_layers(model_)) {
      mlp("mlp", ModulePart::dense);
      mlp("mixer", ModulePart::dense);
    }
    if (model_.moe) mixture();
    if (!model_.gated_mlp) plain_names();
    return std::move(modules_);
  }

 private:
  void add(std::string path, AdapterTarget target, ModulePart part = ModulePart::other,
           bool linear = true) {
    if (has_layers(model_, target)) modules_.push_back({std::move(path), target, part, linear});
  }

  void attention(const std::string& half) {
    for (const NamedTarget& known :
         std::to_array<NamedTarget>({{"q_proj", query},
                                     {"k_proj", key},
                                     {"v_proj", value},
                                     {"o_proj", projection},
                                     {"q_a_proj", query_down},
                                     {"q_b_proj", query_up},
                                     {"kv_a_proj_with_mqa", key_value_down},
                                     {"kv_b_proj", key_value_up}}))
      add(fmt::format("{}.{}", half, known.name), known.target);
    // Of Phi, and of GPT-NeoX, BLOOM and Falcon: one matrix where others have three.
    for (const char* name : {"qkv_proj", "query_key_value"})
      add(fmt::format("{}.{}", half, name), qkv, ModulePart::other, false);
  }

  /// Of GPT-2 and its kin (Cerebras-GPT, StarCoder), GPT-J, OPT, Phi-1.5, GPT-NeoX and Falcon.
  void plain_names() {
    add("attn.c_attn", qkv, ModulePart::other, false);
    for (const char* name : {"attn.c_proj", "attn.out_proj", "self_attn.out_proj",
                             "self_attn.dense", "attention.dense", "self_attention.dense"})
      add(name, projection, ModulePart::other, false);
    for (const char* name : {"mlp.c_fc", "mlp.fc_in", "mlp.fc1"})
      add(name, fc1, ModulePart::dense, false);
    for (const char* name : {"mlp.c_proj", "mlp.fc_out", "mlp.fc2"})
      add(name, fc2, ModulePart::dense, false);
  }

  void mixers(const std::string& half) {
    if (model_.delta) {
      add(half + ".in_proj_qkvz", mixer_qkvz);
      add(half + ".in_proj_ba", mixer_ba);
    } else {
      add(half + ".in_proj", mixer_in);
    }
    add(half + ".out_proj", mixer_out);
  }

  void mlp(const std::string& path, ModulePart part) {
    add(path + ".gate_proj", gate, part);
    add(path + ".up_proj", up, part);
    add(path + ".down_proj", fc2, part);
    add(path + ".gate_up_proj", fc1, part, false);
    add(path + ".dense_h_to_4h", fc1, part, false);
    add(path + ".dense_4h_to_h", fc2, part, false);
  }

  void mixture() {
    const MoeShape& moe = *model_.moe;
    // Routers with biases, and DeepSeek's, are modules of their own.
    const bool plain = !moe.router_bias && !moe.linear_bias && !model_.mla;
    for (const char* half : {"mlp", "block_sparse_moe"})
      add(std::string(half) + ".gate", router, ModulePart::other, plain);
    if (!has_fused_experts(model_)) {
      mlp("mlp.experts.0", ModulePart::expert);
      add("block_sparse_moe.experts.0.w1", gate, ModulePart::expert);
      add("block_sparse_moe.experts.0.w2", fc2, ModulePart::expert);
      add("block_sparse_moe.experts.0.w3", up, ModulePart::expert);
    }
    if (moe.shared_ffn_hidden == 0) return;
    for (const char* name : {"mlp.shared_expert", "mlp.shared_experts"})
      mlp(name, ModulePart::shared_expert);
    add("mlp.shared_expert_gate", shared_gate);
  }

  const LlmShape& model_;
  std::vector<LinearModule> modules_;
};

/// Parts of a layer that have a target, or where a name takes it.
struct Parts {
  std::array<bool, 4> has{};

  void add(ModulePart part) { has[static_cast<std::size_t>(part)] = true; }
  [[nodiscard]] bool of(ModulePart part) const { return has[static_cast<std::size_t>(part)]; }
};

constexpr auto outside_experts =
    std::to_array<ModulePart>({ModulePart::other, ModulePart::dense, ModulePart::shared_expert});

/// The linear layers of a model, by all names that implementations give them. Before version 5 of
/// transformers experts are linear layers of their own; those of GPT-OSS are no module.
std::vector<LinearModule> linear_modules(const LlmShape& model) { return Modules{model}.all(); }
}  // namespace

std::optional<AdapterTarget> megatron_target(std::string_view module) {
  const auto known = std::ranges::find_if(
      megatron_modules, [&](const NamedTarget& each) { return each.name == module; });
  if (known == megatron_modules.end()) return std::nullopt;
  return known->target;
}

std::string_view megatron_module(AdapterTarget target) {
  const auto found = std::ranges::find(megatron_modules, target, &NamedTarget::target);
  return found == megatron_modules.end() ? std::string_view() : found->name;
}

std::string drop_missing_targets(const LlmShape& model, EnumSet<AdapterTarget>& targets) {
  EnumSet<AdapterTarget> kept;
  std::string missing;
  for (const auto& [target, name] : EnumNames<AdapterTarget>::names) {
    if (!targets.has(target)) continue;
    if (has_layers(model, target))
      kept.add(target);
    else
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
  }
  if (kept.any()) targets = kept;
  return kept.any() ? missing : std::string();
}

bool has_fused_experts(const LlmShape& model) {
  return model.moe && (model.moe->linear_bias || model.window_chunked);
}

FoundTargets found_targets(const LlmShape& model,
                           const std::function<bool(const LinearModule&)>& matches) {
  FoundTargets found;
  bool experts = false, without = false;
  const std::vector<LinearModule> modules = linear_modules(model);
  for (const auto& [target, name] : EnumNames<AdapterTarget>::names) {
    Parts there, taken;
    for (const LinearModule& module : modules) {
      if (module.target != target) continue;
      there.add(module.part);
      if (matches(module)) taken.add(module.part);
    }
    const bool expert = taken.of(ModulePart::expert);
    bool all = true, any = false;
    for (const ModulePart part : outside_experts) {
      all = all && taken.of(part) == there.of(part);
      any = any || taken.of(part);
    }
    if (!any && !expert) continue;
    if (!all)
      found.refused = fmt::format(
          "takes {} of some MLPs and not of others: dense layers and shared experts have the same "
          "adapters here",
          name);
    found.targets.add(target);
    experts = experts || expert;
    without = without || (there.of(ModulePart::expert) && !expert);
  }
  if (experts && without)
    found.refused = "takes some matrices of experts alone and others of MLPs alone";
  if (experts) found.experts = ExpertAdapters::per_expert;
  return found;
}

}  // namespace foretrain
