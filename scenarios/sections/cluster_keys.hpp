// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "models/inputs/cluster.hpp"
#include "scenarios/fields/section_keys.hpp"

namespace foretrain {

/// The section `cluster` of a scenario; host, preset, domain and switch radix are read with the
/// catalog, whatever sizes a kind of fabric does not look at are read as well.
[[nodiscard]] const SectionTable<Cluster>& cluster_keys();

/// "0-2x4": switches 0 and 2, joined by four cables. Nothing where it is not that.
[[nodiscard]] std::optional<SwitchPair> switch_pair_in(const std::string& text);

}  // namespace foretrain
