// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <simgrid/s4u.hpp>

#include "sim/flows/flow_simulation.hpp"
#include "sim/flows/internal/flow_model.hpp"

namespace foretrain {

class FlowModelAdapter;
class GivenRouteZone;

/// SimGrid's engine with two hosts, a pool of links between them, CM02 sharing without SimGrid's
/// corrections, and a place for one flow model of ours. There can be only one in a process.
class SimgridEngine {
 public:
  static SimgridEngine& instance();

  struct Callbacks {
    std::function<void()> on_advance;  ///< all models have moved to the time
    std::function<void(const simgrid::s4u::Comm& comm)> on_comm_completed;
  };
  /// Drives `model` together with SimGrid's comms until neither has anything to do.
  void run(FlowModel& model, const Callbacks& callbacks);

  static constexpr std::size_t max_links = 4096;
  /// Of a pooled link, in bytes per second. @pre link < max_links
  void set_capacity(std::uint32_t link, double capacity);
  /// A comm over pooled links; `data` comes back on completion.
  simgrid::s4u::CommPtr send(const std::vector<Hop>& route, std::uint64_t size, void* data);
  /// Takes a comm off its links before it has ended.
  void abandon(simgrid::s4u::CommPtr comm);

 private:
  SimgridEngine();

  simgrid::s4u::Engine engine_;
  std::shared_ptr<FlowModelAdapter> adapter_;
  GivenRouteZone* zone_ = nullptr;  ///< the engine's
  simgrid::s4u::Host* from_ = nullptr;
  simgrid::s4u::Host* to_ = nullptr;
  std::vector<simgrid::s4u::Link*> links_;
  std::vector<simgrid::s4u::CommPtr> abandoned_;  ///< SimGrid still has pointers to them
  const Callbacks* callbacks_ = nullptr;          ///< while running
};

/// SimGrid's own model as a back-end.
[[nodiscard]] std::unique_ptr<FlowSimulation> make_reference(const FlowNetwork& network);

}  // namespace foretrain
