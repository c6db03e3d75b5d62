// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/quantity.hpp"

namespace foretrain {

/// How switches choose among equal paths: by a hash of the flow, the least loaded for a flow, or
/// packet by packet over all cables of the first leaf.
enum class RoutingKind : std::uint8_t { ecmp, adaptive, spray };
FORETRAIN_ENUM_NAMES(RoutingKind, {RoutingKind::ecmp, "ecmp"}, {RoutingKind::adaptive, "adaptive"},
                     {RoutingKind::spray, "spray"});

/// Which host a job's n-th group of ranks sits on: in order, one per leaf in turn, or shuffled by
/// the seed.
enum class PlacementKind : std::uint8_t { packed, spread, scrambled };
FORETRAIN_ENUM_NAMES(PlacementKind, {PlacementKind::packed, "packed"},
                     {PlacementKind::spread, "spread"}, {PlacementKind::scrambled, "scrambled"});

enum class DisturbanceKind : std::uint8_t {
  link_down,      ///< `target` carries nothing; traffic is routed around it
  link_degraded,  ///< `target` keeps `factor` of its rate
  node_down,      ///< a switch or NIC with all its links
  nic_flap,       ///< NIC `target` is down for `lasts` every `period`
  straggler,   ///< GPUs of host `target` compute at `factor` of their rate, give or take `jitter`
  background,  ///< another job sends at `rate` from host `target` to host `to`
  checkpoint,  ///< the job writes its checkpoint to the storage hosts `target` to `to`
  input        ///< the job reads a step's input from the storage hosts `target` to `to`
};
FORETRAIN_ENUM_NAMES(DisturbanceKind, {DisturbanceKind::link_down, "link-down"},
                     {DisturbanceKind::link_degraded, "link-degraded"},
                     {DisturbanceKind::node_down, "node-down"},
                     {DisturbanceKind::nic_flap, "nic-flap"},
                     {DisturbanceKind::straggler, "straggler"},
                     {DisturbanceKind::background, "background"},
                     {DisturbanceKind::checkpoint, "checkpoint"},
                     {DisturbanceKind::input, "input"});

/// Its target is a host, not a part of the fabric.
[[nodiscard]] constexpr bool names_hosts(DisturbanceKind kind) {
  return kind == DisturbanceKind::straggler || kind == DisturbanceKind::background ||
         kind == DisturbanceKind::checkpoint || kind == DisturbanceKind::input;
}

/// One thing that is wrong in the machine during the simulated step.
struct Disturbance {
  DisturbanceKind kind = DisturbanceKind::link_down;
  std::string target;   ///< link or node by its name in the fabric ("leaf5-spine7", "nic3.2");
                        ///< a host by number for straggler, background, checkpoint and input
  std::string to;       ///< background: the receiving host; checkpoint and input: the last one
  double factor = 1.0;  ///< of the rate that is left, above 0 and at most 1
  double jitter = 0.0;  ///< straggler: standard deviation of each task's time, as a share of it
  BytesPerSecond rate;  ///< background; checkpoint and input: of the whole job, 0: as its storage
                        ///< allows
  Seconds from;         ///< after the step's start
  Seconds lasts;        ///< 0: until its end
  Seconds period;       ///< nic_flap: from one loss to the next
  int line = 0;         ///< in the scenario file, for messages
};

/// What only the event engine looks at.
struct Simulation {
  std::uint64_t seed = 1;  ///< of ECMP hashes, jitter and shuffles
  RoutingKind routing = RoutingKind::adaptive;
  PlacementKind placement = PlacementKind::packed;
  /// Flows that two ranks on different hosts spread their bytes over, each with its own ECMP hash:
  /// NCCL opens two channels per NIC, each with one queue pair; more where the site asks for it.
  int connections = 2;
  bool expand_collectives = false;  ///< every flow of a collective on its own, not in lock step
  bool unfold = false;              ///< every data-parallel replica, not two that stand for all
  std::vector<int> occupied;        ///< hosts of the fabric that other jobs hold
  std::vector<Disturbance> disturbances;
  /// From a loss in the step until switches have new routes; what would cross the link waits.
  /// Absent: not known, and routes change at once.
  std::optional<Seconds> rerouting{};
};

}  // namespace foretrain
