// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/simulation.hpp"
#include "models/step/task_graph.hpp"
#include "sim/step/event_engine.hpp"
#include "sim/step/internal/step_channels.hpp"
#include "sim/step/internal/step_traffic.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// Why a disturbance of the simulation cannot be: it names nothing, or its numbers make no sense.
[[nodiscard]] std::optional<Infeasible> refuse_disturbances(const Fabric& fabric,
                                                            const Simulation& simulation);

/// Whether anything but compute is disturbed.
[[nodiscard]] bool disturbs_network(const Simulation& simulation);

/// What hosts of the job exchange with those that store while steps go on.
struct StorageTraffic {
  std::vector<int> hosts;  ///< of the job, by number in the fabric
  Bytes bytes;             ///< of all of them
  BytesPerSecond rate;     ///< of all of them
};

struct StorageTraffics {
  StorageTraffic written;  ///< a checkpoint
  StorageTraffic read;     ///< the input of a step
};

/// Losses, slow links and other jobs' traffic as they come and go.
class NetworkDisturbances final : public NetworkEvents {
 public:
  /// @param capacity by link, undisturbed
  /// @pre refuse_disturbances() has nothing; all outlive this
  NetworkDisturbances(const Fabric& fabric, const Simulation& simulation, StorageTraffics storage,
                      const std::vector<double>& capacity, StepTraffic& traffic);

  [[nodiscard]] Seconds next() override;
  bool apply(FlowSimulation& simulation) override;
  [[nodiscard]] const std::vector<bool>& down() const override { return down_; }
  void finish(FlowSimulation& simulation) override;
  /// Share of a step's input that was not read when the step ended. @pre finish() was called
  [[nodiscard]] double input_left() const;

 private:
  /// Bytes from one GPU of the fabric to another, or over one link, while they are on the way.
  struct Stream {
    int from = 0, to = 0;
    std::optional<LinkId> only;
    BytesPerSecond rate;
    Bytes left;
    FlowHandle flow;
    std::vector<LinkId> way;  ///< empty: none, or waiting for one
  };

  /// One disturbance, which is on or off.
  struct Switch {
    const Disturbance* what = nullptr;
    LinkSet links;
    Seconds next;       ///< when it turns over
    Seconds turned_on;  ///< last
    Seconds reroutes;   ///< a loss: when switches have routes round it
    bool on = false;
    bool rerouted = false;
    std::vector<Stream> streams;  ///< background, checkpoint, input
  };

  void turn(Switch& one, FlowSimulation& simulation);
  void set_links(const Switch& one, FlowSimulation& simulation);
  void lose_links(Switch& one, FlowSimulation& simulation);
  void route_round(Switch& one, bool round);
  [[nodiscard]] std::vector<Stream> streams_of(const Disturbance& what) const;
  [[nodiscard]] static std::vector<Stream> loads_of(const Switch& one);
  void start_streams(Switch& one, FlowSimulation& simulation);
  void stop_streams(Switch& one, FlowSimulation& simulation);
  void change_routes(FlowSimulation& simulation);

  const Fabric& fabric_;
  const Simulation& simulation_;
  StorageTraffics storage_;
  const std::vector<double>& capacity_;
  StepTraffic& traffic_;
  std::vector<Switch> switches_;
  std::vector<int> losses_;     ///< by link: disturbances that take it down
  std::vector<int> avoided_;    ///< by link: of these, those that routes go round
  std::vector<double> factor_;  ///< by link: rate that is left
  LinkSet down_;
};

/// How much longer compute takes on slow hosts.
class Stragglers {
 public:
  Stragglers(const Fabric& fabric, const Simulation& simulation, const RankMap& ranks,
             const TaskGraph& graph);

  [[nodiscard]] bool any() const { return any_; }
  /// Of a task of a data replica that starts now. Ranks of a replica and stage wait for the slowest
  /// of them.
  [[nodiscard]] Seconds duration(int replica, std::uint32_t task, Seconds now) const;

 private:
  const Simulation& simulation_;
  const TaskGraph& graph_;
  bool any_ = false;
  std::vector<std::vector<const Disturbance*>> at_;  ///< by replica * stages + stage
};

}  // namespace foretrain
