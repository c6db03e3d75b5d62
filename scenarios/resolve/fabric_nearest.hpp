// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// "; did you mean 'spine15'?" for a name that failed_links() does not know, or nothing: the word
/// that is spelt most alike, the number that comes closest, the nearest cable of the first node.
[[nodiscard]] std::string nearest_fabric_hint(const Fabric& fabric, std::string_view name);

/// A host written as "host3" or "3"; nothing where the fabric has none of that number.
[[nodiscard]] std::optional<int> fabric_host(const Fabric& fabric, std::string_view name);
[[nodiscard]] std::string nearest_host_hint(const Fabric& fabric, std::string_view name);

}  // namespace foretrain
