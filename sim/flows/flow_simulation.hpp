// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/quantity.hpp"
#include "sim/flows/flow_network.hpp"
#include "topologies/routes/routing.hpp"

namespace foretrain {

/// Who shares the links among flows.
enum class FlowBackend : std::uint8_t {
  plug_in,  ///< ours, as a model inside SimGrid's engine
  simgrid,  ///< SimGrid's own network model, as the reference; plain flows only
};
FORETRAIN_ENUM_NAMES(FlowBackend, {FlowBackend::plug_in, "plug-in"},
                     {FlowBackend::simgrid, "simgrid"});

/// Names a flow that was started.
struct FlowHandle {
  std::uint32_t slot = 0;
  std::uint64_t number = 0;
};

/// Bytes from one GPU of a fabric to another.
struct GpuFlow {
  int from = 0;
  int to = 0;
  RouteChoice choice;
  Bytes bytes;
  Seconds latency;
};

/// Flows and timers in simulated time. What starts and ends is the caller's; sharing is max-min
/// fair by weight (max_min.hpp).
///
/// A process has one SimGrid engine, which all simulations use in turn: not from two threads at
/// once, and not from within another one's run(). SimGrid ends the process with abort() on its own
/// errors, so a program that must survive runs this in a process of its own.
class FlowSimulation {
 public:
  using OnEvent = std::function<void(std::uint64_t tag)>;

  FlowSimulation() = default;
  FlowSimulation(const FlowSimulation&) = delete;
  FlowSimulation& operator=(const FlowSimulation&) = delete;
  virtual ~FlowSimulation() = default;

  /// Keeps a route for flows that come again and again: to start one then costs no memory.
  /// @return what Flow::kept is for these
  [[nodiscard]] virtual std::uint32_t keep(const std::vector<Hop>& route) = 0;
  /// No flow starts on a kept route any more; those under way end on it.
  virtual void drop(std::uint32_t kept) = 0;
  /// From now on; the event with `tag` comes when the last byte has crossed the route.
  virtual FlowHandle start(const Flow& flow, std::uint64_t tag) = 0;
  /// From one GPU of the network's fabric to another, on the way that route() gives now. The
  /// reference lets SimGrid ask for that way.
  /// @pre the network is a fabric, and a way is left
  virtual FlowHandle send(const GpuFlow& flow, std::uint64_t tag) = 0;
  /// Takes a flow off its links before it has ended; its event does not come. What has crossed the
  /// links counts.
  /// @return what is left of it; nothing if it has ended
  /// @pre plug-in back-end
  virtual Bytes stop(const FlowHandle& flow) = 0;
  /// An event with `tag` at that time. @pre time >= now()
  virtual void at(Seconds time, std::uint64_t tag) = 0;
  /// For flows under way and later ones. @pre capacity > 0
  virtual void set_capacity(std::uint32_t link, BytesPerSecond capacity) = 0;
  /// Zero before the first run().
  [[nodiscard]] virtual Seconds now() const = 0;
  /// Calls `on_event` for every event until none is left. It may start more. With the plug-in,
  /// events of the same time come in the order in which they were started.
  virtual void run(const OnEvent& on_event) = 0;
  /// By link id; complete after run().
  [[nodiscard]] virtual const std::vector<LinkRecord>& links() const = 0;
};

/// @pre every capacity is above zero.
[[nodiscard]] std::unique_ptr<FlowSimulation> make_flow_simulation(
    const FlowNetwork& network, FlowBackend backend = FlowBackend::plug_in);

}  // namespace foretrain
