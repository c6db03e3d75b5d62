// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/quantity.hpp"
#include "topologies/routes/routing.hpp"

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

/// How a task uses the network.
struct TaskTraffic {
  static constexpr std::uint32_t none = ~0U;

  std::uint32_t channel = none;  ///< where its bytes go; none: the task is a timer
  int together = 1;              ///< so many consecutive replicas run the task as one
  Seconds latency;               ///< before the first byte moves
  double amount = 1.0;           ///< times the bytes of the channel's flows
};

/// What the tasks of a graph put on the network. A task with a channel starts all flows of that
/// channel at once and ends with the last of them: one flow with shares for a coupled collective,
/// several for one taken apart.
class TrafficSource {
 public:
  TrafficSource() = default;
  TrafficSource(const TrafficSource&) = delete;
  TrafficSource& operator=(const TrafficSource&) = delete;
  virtual ~TrafficSource() = default;

  [[nodiscard]] virtual TaskTraffic of(std::uint32_t task) const = 0;
  /// Flows of a channel for the replicas from group * together on. A flow without route lasts as
  /// long as its max_rate needs. Valid until the next call.
  [[nodiscard]] virtual const std::vector<Flow>& flows(std::uint32_t channel, int group) = 0;
  /// The channel's flows start, and have moved `amount` of their bytes; one after the other.
  virtual void started(std::uint32_t channel, int group, Seconds now) = 0;
  virtual void moved(std::uint32_t channel, int group, double amount, Seconds now) = 0;
};

/// Traffic written down task by task, every pattern a channel.
struct TrafficMap {
  static constexpr std::uint32_t none = ~0U;

  std::vector<std::vector<Flow>> patterns;  ///< none of them without flows
  std::vector<std::uint32_t> of_task;       ///< pattern by task id, or `none`; empty: none for all
};

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
