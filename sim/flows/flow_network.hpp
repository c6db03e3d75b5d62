// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "models/base/quantity.hpp"

namespace foretrain {

struct Fabric;

/// One-way links; a full-duplex cable is two. A link has no latency: flows carry their own.
struct FlowNetwork {
  std::vector<BytesPerSecond> links;  ///< capacity by link id, above zero
  /// Whose links the first ones are, by LinkId; outlives what is made of the network. Null: they
  /// are no fabric's, or only some of its links.
  const Fabric* fabric = nullptr;
  /// Counts what crosses each link. A caller that knows it anyway saves the time.
  bool metered = true;
};

/// One link that a flow crosses, one step of its route.
struct Hop {
  std::uint32_t link = 0;
  double share = 1.0;  ///< of the flow's bytes that cross this link, above zero
};

/// Bytes that cross all links of a route at one rate. With shares other than one it is a coupled
/// activity, e.g. a collective that loads its links unevenly but moves in step, so that its
/// slowest link sets the pace on all of them.
struct Flow {
  std::vector<Hop> route;  ///< no link twice; empty only for a flow without bytes
  Bytes bytes;
  Seconds latency;      ///< from start() until the first byte asks for a link
  double weight = 1.0;  ///< what it gets of a shared link, relative to other flows
  /// It never goes faster, whatever its links would give: what one queue pair or one collective
  /// reaches by itself. Above zero.
  BytesPerSecond max_rate{std::numeric_limits<double>::infinity()};
  /// A route that FlowSimulation::keep() has, in place of `route`, which is then empty.
  std::uint32_t kept = not_kept;

  static constexpr std::uint32_t not_kept = ~0U;
};

/// What has crossed a link, and for how long at least one flow was on it.
struct LinkRecord {
  Bytes bytes;
  Seconds busy;
};

}  // namespace foretrain
