// SPDX-License-Identifier: Apache-2.0
#include "models/collectives/registry.hpp"

#include <array>

#include "models/base/require.hpp"
#include "models/collectives/exchange.hpp"
#include "models/collectives/halving_doubling.hpp"
#include "models/collectives/hierarchical.hpp"
#include "models/collectives/in_switch.hpp"
#include "models/collectives/ring.hpp"
#include "models/collectives/tree.hpp"

namespace foretrain {
namespace {

constexpr std::array schemes{
    ring_scheme,    tree_scheme,         single_tree_scheme,      nvls_scheme,   nvls_tree_scheme,
    collnet_scheme, hierarchical_scheme, halving_doubling_scheme, direct_scheme, pairwise_scheme,
};

}  // namespace

std::span<const CollectiveScheme> collective_schemes() { return schemes; }

const CollectiveScheme* find_scheme(std::string_view name) {
  for (const CollectiveScheme& scheme : schemes)
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
