// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "models/collectives/scheme.hpp"

/// Every algorithm, in the order in which lists show them: the registry line of NAME_scheme, which
/// stands, with its source, in the file of its name or family.
// clang-format off
#define FORETRAIN_COLLECTIVES(entry) \
  entry(ring) \
  entry(tree) \
  entry(single_tree) \
  entry(nvls) \
  entry(nvls_tree) \
  entry(collnet) \
  entry(hierarchical) \
  entry(halving_doubling) \
  entry(direct) \
  entry(pairwise)
// clang-format on

namespace foretrain {

#define FORETRAIN_DECLARE(name) extern const CollectiveScheme name##_scheme;
FORETRAIN_COLLECTIVES(FORETRAIN_DECLARE)
#undef FORETRAIN_DECLARE

/// Every algorithm, in the order of the list.
[[nodiscard]] std::span<const CollectiveScheme> collective_schemes();

/// Null: there is none of that name.
[[nodiscard]] const CollectiveScheme* find_scheme(std::string_view name);

/// What NCCL's algorithms of the cost model are here.
[[nodiscard]] const CollectiveScheme& scheme_of(CollectiveAlgorithm algorithm);

}  // namespace foretrain
