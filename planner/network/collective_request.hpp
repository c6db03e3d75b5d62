// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/collectives/price.hpp"
#include "models/inputs/cluster.hpp"
#include "models/inputs/job.hpp"
#include "models/inputs/simulation.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// Element types as nccl-tests names them.
enum class ElementType : std::uint8_t { int8, half, bfloat16, float32, float64 };
FORETRAIN_ENUM_NAMES(ElementType, {ElementType::int8, "int8"}, {ElementType::half, "half"},
                     {ElementType::bfloat16, "bf16"}, {ElementType::float32, "float"},
                     {ElementType::float64, "double"});
[[nodiscard]] int bytes_of(ElementType type);

/// A machine to run collectives on, by catalog names or from a scenario. Empty: the scenario's
/// value, or without a scenario a DGX H100 with the fabric that its NICs are made for.
struct MachineWish {
  std::optional<Scenario> scenario;
  std::string host;
  std::string fabric;
  std::optional<int> hosts;
  std::optional<FabricKind> kind;
  std::optional<double> oversubscription;
  std::optional<Transport> transport;
  LoadOptions load;
};

/// The machine with everything that prices and links are made of.
struct CollectiveMachine {
  Cluster cluster;
  DeviceProfile device;
  SiteProfile site;
  std::string transport_note;  ///< where the figures of another transport come from
};

/// @throws ScenarioError for unknown names, UsageError where a transport cannot be had
[[nodiscard]] CollectiveMachine collective_machine(const MachineWish& wish);

/// What `foretrain collective` is asked.
struct CollectiveRequest {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::vector<Bytes> sizes;
  ElementType type = ElementType::float32;
  CollectiveMachine machine;
  std::vector<std::vector<int>> groups;  ///< ranks of groups that run at the same time
  int root = 0;                          ///< position in every group
  Backend backend = Backend::nccl;
  CollectiveWish wish;
  /// Routing, seed, placement and disturbances; a scenario's, or with adaptive routing.
  Simulation simulation = adaptive();
  std::vector<std::string> down;
  bool step_by_step = false;

  [[nodiscard]] static Simulation adaptive() {
    Simulation simulation;
    simulation.routing = RoutingKind::adaptive;
    return simulation;
  }
};

/// An operation as nccl-tests or this program writes it: all_reduce, all-reduce, alltoall,
/// sendrecv. @throws UsageError
[[nodiscard]] CollectiveOp parse_collective_op(const std::string& text);

/// "8B:16GiB" in steps of `factor`, "1MiB,3MB", or one size; ascending or as listed.
/// @throws UsageError unless every size holds whole elements and there are at most 256
[[nodiscard]] std::vector<Bytes> parse_sizes(const std::string& text, double factor, int element);

/// Which GPUs make groups that run at the same time.
struct GroupWish {
  int hosts = 1;
  int gpus_per_host = 8;  ///< of the machine
  int used_per_host = 8;  ///< the first of each host
  int per_host = 1;       ///< groups that every host takes part in, members in turn
  /// "0-7,16", "0-63:8", or "size=8,stride=8": every group of that shape; empty: as above
  std::string ranks;
};
/// @throws UsageError where the text cannot be read or the numbers do not divide
[[nodiscard]] std::vector<std::vector<int>> parse_groups(const GroupWish& wish);

}  // namespace foretrain
