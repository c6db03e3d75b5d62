// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <simgrid/s4u.hpp>

#include "sim/flows/flow_simulation.hpp"
#include "sim/flows/internal/flow_model.hpp"
#include "sim/simgrid/internal/fabric_zone.hpp"

namespace foretrain {

class FlowModelAdapter;

/// SimGrid's engine with CM02 sharing without SimGrid's corrections, zones of fabrics, and a place
/// for one flow model of ours. There can be only one in a process.
class SimgridEngine {
 public:
  static SimgridEngine& instance();

  struct Callbacks {
    std::function<void()> on_advance;  ///< all models have moved to the time
    std::function<void(const simgrid::s4u::Comm& comm)> on_comm_completed;
  };
  /// Drives `model` together with SimGrid's comms until neither has anything to do.
  void run(FlowModel& model, const Callbacks& callbacks);

  /// The zone that stands for a network: one that is there already, where it fits. SimGrid keeps
  /// some memory of every link that it gives up, so the last zone is kept for the next simulation.
  /// @pre at most `max_links` links
  [[nodiscard]] std::shared_ptr<FabricZone> zone_of(const FlowNetwork& network);
  static constexpr std::size_t max_links = 1U << 18U;

  /// Takes a comm off the links of its zone before it has ended.
  void abandon(simgrid::s4u::CommPtr comm, const std::shared_ptr<FabricZone>& zone);

 private:
  SimgridEngine();

  simgrid::s4u::Engine engine_;
  std::shared_ptr<FlowModelAdapter> adapter_;
  simgrid::s4u::NetZone* root_ = nullptr;  ///< the engine's
  std::vector<std::shared_ptr<FabricZone>> zones_;
  int zones_made_ = 0;
  /// SimGrid still has pointers to them, and they to their links.
  std::vector<std::pair<simgrid::s4u::CommPtr, std::shared_ptr<FabricZone>>> abandoned_;
  const Callbacks* callbacks_ = nullptr;  ///< while running
};

/// SimGrid's own model as a back-end.
[[nodiscard]] std::unique_ptr<FlowSimulation> make_reference(const FlowNetwork& network);

}  // namespace foretrain
