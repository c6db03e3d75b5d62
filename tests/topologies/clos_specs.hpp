// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <variant>

#include "topologies/fabrics/clos.hpp"

namespace foretrain {

inline const Link ndr{"ndr", "400 Gbit/s", 400 * Gbps, 0.6 * us, 1.0};

inline ClosSpec clos_spec(FabricKind kind, int hosts, int nics, int radix, double ratio = 1.0) {
  return {kind, hosts, nics, nics, radix, ratio, ndr};
}

/// The sized network of a spec that is known to have one.
inline ClosNetwork sized(const ClosSpec& spec) { return std::get<ClosNetwork>(clos_network(spec)); }

}  // namespace foretrain
