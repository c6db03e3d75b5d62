// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "models/base/names.hpp"
#include "models/base/quantity.hpp"

namespace foretrain {

/// How a collective library marks data as arrived: flags inside every 8 or 128 bytes (NCCL's LL and
/// LL128), or one flag per chunk (Simple). From least latency to most bandwidth.
enum class Protocol : std::uint8_t { ll, ll128, simple };
FORETRAIN_ENUM_NAMES(Protocol, {Protocol::ll, "ll"}, {Protocol::ll128, "ll128"},
                     {Protocol::simple, "simple"});
inline constexpr std::size_t protocol_count = EnumNames<Protocol>::names.size();

/// Cost of a collective in one protocol within a host: base + steps * step + (traffic + own * a
/// rank's own part) / (share * link rate), traffic and rate those of bus bandwidth.
struct ProtocolLine {
  Seconds base;
  Seconds step;
  double share = 0.0;
};
using ProtocolLines = std::array<ProtocolLine, protocol_count>;

/// Measured cost lines of one device's scale-up links; models/collectives/README.md, "Collective
/// library".
struct CollectiveProtocols {
  ProtocolLines gather;      ///< rings of all-gather and reduce-scatter
  ProtocolLines all_reduce;  ///< rings
  ProtocolLines exchange;    ///< every rank sends to every other: all-to-all
  ProtocolLine in_switch;    ///< all-reduce of 8 ranks in the switch; share 0: there is none
  /// What a rank's own part, which never crosses a link, costs the engines that copy and add, over
  /// as much traffic on the link.
  double gather_own = 0.0;
  double all_reduce_own = 0.0;
  double exchange_own = 0.0;
};

/// One protocol between hosts.
struct HostCrossing {
  Seconds hop;             ///< one step between hosts, switches not included
  double nic_share = 0.0;  ///< of what the NIC delivers to large messages
};

/// Measured cost of collectives over one fabric; models/collectives/README.md, "Collective
/// library".
struct FabricProtocols {
  std::array<HostCrossing, protocol_count> crossing;
  Seconds exchange_post;        ///< all-to-all: per remote rank
  Seconds in_switch_tree_base;  ///< reduction in the hosts' switches and a tree between them
};

}  // namespace foretrain
