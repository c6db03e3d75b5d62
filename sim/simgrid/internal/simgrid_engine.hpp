// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/flows/flow_network.hpp"
#include "sim/flows/internal/flow_model.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/routes/routing.hpp"

namespace foretrain {

/// A network zone of SimGrid's that is one fabric of ours: a host per GPU, a link per direction of
/// a cable, under our names, and between two hosts the way that route() gives. A network that is no
/// fabric is two hosts, between which flows name their links.
///
/// SimGrid 3.32 seals its root zone when the engine first runs, and takes no more zones into it; so
/// every fabric is a zone beside the root, with the root's models.
class FabricZone final : public simgrid::kernel::routing::NetZoneImpl {
 public:
  using NetPoint = simgrid::kernel::routing::NetPoint;

  /// @param root the zone whose models it takes
  FabricZone(const std::string& name, const FlowNetwork& network,
             const simgrid::kernel::routing::NetZoneImpl& root);
  FabricZone(const FabricZone&) = delete;
  FabricZone& operator=(const FabricZone&) = delete;
  /// @pre no comm is on its links
  ~FabricZone() override = default;

  /// Whether it can stand for that network too: the same cables between the same nodes, or neither
  /// is a fabric. Rates are set link by link.
  [[nodiscard]] bool stands_for(const FlowNetwork& network) const;
  /// From here on routes come from this network's fabric. @pre stands_for(network)
  void serve(const FlowNetwork& network);

  /// Asks SimGrid for the way between two GPUs; it asks route() with that choice.
  /// @pre the network is a fabric, and a way is left
  [[nodiscard]] std::vector<Hop> way(int from, int to, const RouteChoice& choice);
  /// A comm over links that were decided before, between the GPUs that they join. Links that are
  /// no way between GPUs (a part of one, a reduction inside switches) count as links alone.
  simgrid::s4u::CommPtr send(const std::vector<Hop>& links, std::uint64_t size, void* data);

  /// One more link that is no part of the network. @return its number
  std::uint32_t add_link();
  void set_capacity(std::uint32_t link, double capacity);
  [[nodiscard]] std::size_t links() const { return links_.size(); }

  /// SimGrid's question.
  void get_local_route(const NetPoint* from, const NetPoint* to,
                       simgrid::kernel::routing::Route* into, double* latency) override;

 private:
  using HostPair = std::pair<simgrid::s4u::Host*, simgrid::s4u::Host*>;
  void add_fabric(const Fabric& fabric);
  void add_link(const std::string& name);
  /// Between which hosts links lead; any two where they are no way.
  [[nodiscard]] HostPair ends(const std::vector<Hop>& links) const;

  const Fabric* fabric_ = nullptr;
  std::vector<NodeId> from_;  ///< of the fabric that it was made of
  std::vector<NodeId> to_;
  std::vector<simgrid::s4u::Host*> hosts_;
  std::vector<simgrid::s4u::Link*> links_;
  const RouteChoice* choice_ = nullptr;        ///< while SimGrid is asked for a way
  const std::vector<Hop>* decided_ = nullptr;  ///< while a comm starts
  std::vector<LinkId> route_;
};

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
