// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "models/collectives/scheme.hpp"

namespace foretrain {

/// Every algorithm, in the order in which lists show them.
[[nodiscard]] std::span<const CollectiveScheme> collective_schemes();

/// Null: there is none of that name.
[[nodiscard]] const CollectiveScheme* find_scheme(std::string_view name);

/// What NCCL's algorithms of the cost model are here.
[[nodiscard]] const CollectiveScheme& scheme_of(CollectiveAlgorithm algorithm);

}  // namespace foretrain
