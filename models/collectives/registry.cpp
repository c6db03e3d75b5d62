// SPDX-License-Identifier: Apache-2.0
#include "models/collectives/registry.hpp"

#include <array>

#include "models/base/require.hpp"

namespace foretrain {

std::span<const CollectiveScheme> collective_schemes() {
#define FORETRAIN_ENTRY(name) name##_scheme,
  static const auto schemes =
      std::to_array<CollectiveScheme>({FORETRAIN_COLLECTIVES(FORETRAIN_ENTRY)});
#undef FORETRAIN_ENTRY
  return schemes;
}

const CollectiveScheme* find_scheme(std::string_view name) {
  for (const CollectiveScheme& scheme : collective_schemes())
    if (scheme.name == name) return &scheme;
  return nullptr;
}

const CollectiveScheme& scheme_of(CollectiveAlgorithm algorithm) {
  const auto name = [&]() -> std::string_view {
    switch (algorithm) {
      case CollectiveAlgorithm::ring:
        return "ring";
      case CollectiveAlgorithm::tree:
        return "tree";
      case CollectiveAlgorithm::direct:
        return "direct";
      case CollectiveAlgorithm::in_switch:
        return "nvls";
      case CollectiveAlgorithm::in_switch_tree:
        return "nvls-tree";
    }
    return "";
  }();
  const CollectiveScheme* const found = find_scheme(name);
  FORETRAIN_REQUIRE(found != nullptr);
  return *found;
}

}  // namespace foretrain
