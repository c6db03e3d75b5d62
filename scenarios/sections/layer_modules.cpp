// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/layer_modules.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "models/base/require.hpp"

namespace foretrain {
namespace {

struct Module {
  std::string_view name;
  bool LayerModules::*member;
};

constexpr auto modules = std::to_array<Module>({
    {"core-attention", &LayerModules::core_attention},
    {"attention-norm", &LayerModules::attention_norm},
    {"mlp-norm", &LayerModules::mlp_norm},
    {"qkv-linear", &LayerModules::qkv_linear},
    {"attention-projection", &LayerModules::attention_projection},
    {"mla-up-projection", &LayerModules::mla_up_projection},
    {"activation", &LayerModules::activation},
    {"expert-fc1", &LayerModules::expert_fc1},
    {"mlp", &LayerModules::mlp},
    {"moe", &LayerModules::moe},
    {"shared-experts", &LayerModules::shared_experts},
});

}  // namespace

std::vector<std::string> layer_module_names() {
  std::vector<std::string> names;
  names.reserve(std::size(modules));
  for (const Module& module : modules) names.emplace_back(module.name);
  return names;
}

std::vector<std::string> layer_module_names(const LayerModules& set) {
  std::vector<std::string> names;
  for (const Module& module : modules)
    if (set.*(module.member)) names.emplace_back(module.name);
  return names;
}

LayerModules layer_modules_of(const std::vector<std::string>& names) {
  LayerModules result;
  for (const std::string& name : names) {
    const auto found = std::find_if(modules.begin(), modules.end(),
                                    [&](const Module& module) { return module.name == name; });
    FORETRAIN_REQUIRE(found != modules.end());
    result.*(found->member) = true;
  }
  return result;
}

}  // namespace foretrain
