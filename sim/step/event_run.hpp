// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/inputs/job.hpp"
#include "models/step/path.hpp"
#include "models/step/task_graph.hpp"
#include "sim/flows/link_load.hpp"
#include "sim/step/event_engine.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

struct EventOptions {
  FlowBackend backend = FlowBackend::plug_in;
  std::optional<Detail> detail{};  ///< absent: event_detail()
  std::function<bool(const ReplayProgress& progress)> on_progress{};
  int watched_links = 0;  ///< so many of the busiest get their use over time
  int frames = 0;         ///< of on_frame, evenly spread over the step
  /// Called in order with the share of its datasheet rate that every link moves at that moment, by
  /// LinkId; not at all where routes change during the step.
  std::function<void(const std::vector<double>& use)> on_frame{};
  bool explain_links = false;              ///< the busiest of each kind get their exchanges
  std::optional<LinkId> explained_link{};  ///< in place of these
};

/// What crosses a link, the most bytes first.
struct ExplainedLink {
  LinkId link = 0;
  std::vector<LinkExchange> exchanges;
};

/// One step of a job on its fabric.
struct EventRun {
  /// Of the replica that the others wait for, with what every task really took: its waiting for
  /// other replicas and for other traffic included.
  TaskGraph graph;
  Timeline timeline;
  double jitter = 0.0;                   ///< as in StepPath
  double release = 1.0;                  ///< as in StepPath
  int replica = 0;                       ///< which it is
  int played = 1;                        ///< data replicas that were simulated
  bool folded = false;                   ///< they stand for all
  double longer_folded = 0.0;            ///< share of the step, at most, that meeting the replicas
                                         ///< that were not played in lock step made it longer
  std::vector<double> link_bytes;        ///< by LinkId
  std::vector<LinkUseSeries> link_use;   ///< of watched links that played replicas use; none where
                                         ///< routes changed during the step
  std::vector<ExplainedLink> explained;  ///< none where routes changed during the step
  std::uint64_t events = 0;
  std::uint64_t exchanges = 0;  ///< played
  std::uint64_t slowed = 0;     ///< of these, by other traffic or by flows of their own
  double input_left = 0.0;      ///< share of the next step's input that was not read at its end
  bool stopped = false;         ///< by on_progress: what had not ended has no times
};

/// How far passes are taken apart so that all traffic between hosts is on the fabric: whole passes
/// where their own exchanges stay within hosts, else single operators.
[[nodiscard]] Detail event_detail(const Job& job);

/// The job without what the closed form assumes of the fabric's sharing. The engine lets flows
/// meet instead.
[[nodiscard]] Job uncontended(const Job& job);

/// Why steps of a job are not played on any fabric; nothing where they are.
[[nodiscard]] std::optional<Infeasible> refuse_on_fabric(const Job& job);

/// Plays one step. Two data replicas stand for all of them where nothing tells replicas apart:
/// ranks packed, no disturbances, and the job's simulation does not ask for all.
/// @return the reason where the ranks do not fit on the fabric, a disturbance names nothing, or
///   failures cut ranks off
/// @pre broken_rules(job) and not_modelled(job) are empty.
[[nodiscard]] std::variant<EventRun, Infeasible> run_step(const Job& job, const StageLayout& layout,
                                                          const Fabric& fabric,
                                                          const EventOptions& options = {});

/// Time and breakdown of the step, without a band.
[[nodiscard]] StepForecast step_forecast(const EventRun& run);

/// Links by their use, the busiest first; at most `most`, none without traffic. Utilisation is of
/// the datasheet rate over the played step.
[[nodiscard]] std::vector<LinkUse> busiest_links(const EventRun& run, const Fabric& fabric,
                                                 std::size_t most);

}  // namespace foretrain
