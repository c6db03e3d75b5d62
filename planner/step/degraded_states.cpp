// SPDX-License-Identifier: Apache-2.0
#include "planner/step/degraded_states.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/base/ranges.hpp"
#include "planner/step/event_report.hpp"
#include "planner/text/usage_error.hpp"
#include "sim/step/event_forecast.hpp"
#include "topologies/fabrics/placement.hpp"

namespace foretrain {
namespace {

EventOptions stopped_by(const GoodputOptions& options) {
  EventOptions how;
  how.on_progress = [stop = options.stop](const ReplayProgress&) {
    return stop == nullptr || !stop->load();
  };
  return how;
}

/// Hosts that ranks sit on, ascending.
std::vector<int> hosts_of(const Job& job, const Fabric& fabric) {
  const auto placed =
      place_ranks(fabric, {job.parallel.gpus(), job.simulation.placement, job.simulation.seed,
                           job.simulation.occupied, job.cluster.segment_hosts()});
  std::set<int> hosts;
  if (const auto* gpus = std::get_if<std::vector<int>>(&placed))
    for (const int gpu : *gpus) hosts.insert(gpu / fabric.spec.host.gpus);
  return {hosts.begin(), hosts.end()};
}

/// Plays states of a machine, each once.
class StatePlayer {
 public:
  StatePlayer(const EventReport& whole, EventOptions how)
      : whole_{whole},
        job_{whole.report.scenario.job},
        how_{std::move(how)},
        hosts_{hosts_of(job_, whole.fabric)} {}

  /// Of the job with 1, 2, ... NICs out.
  std::vector<double> nic_paces() {
    const int nics = whole_.fabric.count(NodeKind::nic);
    std::vector<double> paces;
    for (const int out : {1, 2, 4, 8}) {
      if (out > nics / 2) break;
      const double pace =
          pace_of(fmt::format("{} NIC{} out", out, out == 1 ? "" : "s"), out, nics_out(out));
      const double before = paces.empty() ? pace : paces.back();
      const int from = static_cast<int>(paces.size());
      for (int n = from + 1; n <= out; ++n)
        paces.push_back(before + (pace - before) * (n - from) / (out - from));
    }
    return paces;
  }

  /// Of the job with a switch out, in the mean over all of them.
  double switch_pace() {
    double sum = 0.0, switches = 0.0;
    for (const NodeKind level : {NodeKind::leaf, NodeKind::spine, NodeKind::core}) {
      const int count = whole_.fabric.count(level);
      if (count == 0) continue;
      const int one = level == NodeKind::leaf ? 0 : count / 2;
      const std::string name = node_name(whole_.fabric, whole_.fabric.node(level, one));
      sum += count * pace_of(name + " out", 1, {{down(name)}});
      switches += count;
    }
    return sum / switches;
  }

  /// Of the job with one host whose kernels have that pace.
  double straggler_pace(double kernels) {
    Disturbance slow;
    slow.kind = DisturbanceKind::straggler;
    slow.target = std::to_string(hosts_[hosts_.size() / 2]);
    slow.factor = kernels;
    return pace_of(fmt::format("a host at {:.3g} of its speed", kernels), 1, {{slow}});
  }

  [[nodiscard]] std::vector<DegradedState> states() && { return std::move(states_); }

 private:
  static Disturbance down(std::string name) {
    Disturbance lost;
    lost.kind = DisturbanceKind::node_down;
    lost.target = std::move(name);
    return lost;
  }

  /// What is out: one choice of several that are alike but for where they are.
  using Choices = std::vector<std::vector<Disturbance>>;

  /// On as many hosts, evenly spread, each on another rail; what one costs depends on its stage.
  [[nodiscard]] Choices nics_out(int out) const {
    constexpr int places = 3;
    Choices choices(places);
    for (int place = 0; place < places; ++place)
      for (int k = 0; k < out; ++k) {
        const double along = (k + (place + 0.5) / places) / out;
        const int host =
            hosts_[static_cast<std::size_t>(along * static_cast<double>(hosts_.size()))];
        const int nic = (k + place) % whole_.fabric.spec.host.nics;
        choices[index(place)].push_back(down(fmt::format("nic{}.{}", host, nic)));
      }
    return choices;
  }

  /// In the mean over the choices.
  double pace_of(const std::string& name, int out, const Choices& choices) {
    const auto known = std::find_if(states_.begin(), states_.end(),
                                    [&](const DegradedState& state) { return state.name == name; });
    if (known != states_.end()) return known->pace;
    Seconds step;
    for (const std::vector<Disturbance>& lost : choices) {
      const auto played = step_with(name, lost);
      if (!played) return 1.0;  // stopped from outside: nothing of it is shown
      step += *played / static_cast<double>(choices.size());
    }
    const double pace = whole_.report.prediction.step->time / step;
    states_.push_back({name, out, step, pace});
    return pace;
  }

  /// Nothing where it was stopped.
  [[nodiscard]] std::optional<Seconds> step_with(const std::string& name,
                                                 const std::vector<Disturbance>& lost) const {
    Job job = job_;
    job.simulation.disturbances.insert(job.simulation.disturbances.end(), lost.begin(), lost.end());
    const Prediction p = event_forecast(job, whole_.fabric, AttentionFlops::full, how_).prediction;
    if (!p.reasons.empty())
      throw UsageError(
          fmt::format("the job does not run on with {}: {}; leave degraded_for out, "
                      "or give operations.interruptions.components[].pace",
                      name, p.reasons.front().message));
    if (!p.step) return std::nullopt;
    return p.step->time;
  }

  const EventReport& whole_;
  const Job& job_;
  EventOptions how_;
  std::vector<int> hosts_;
  std::vector<DegradedState> states_;
};

bool plays(const ComponentFailures& part) {
  return part.degraded_for && !part.pace &&
         (part.per == ComponentKind::nic || part.per == ComponentKind::network_switch);
}

bool has_states(const Operations& operations) {
  const auto& parts = operations.interruptions.components;
  return operations.fail_slow.pace || std::any_of(parts.begin(), parts.end(), plays);
}

}  // namespace

GoodputStudy play_goodput(Scenario scenario, const GoodputOptions& options) {
  const bool degrades = has_states(scenario.job.operations);
  // States are told from the whole machine by what all replicas take.
  scenario.job.simulation.unfold = scenario.job.simulation.unfold || degrades;
  const EventOptions how = stopped_by(options);
  EventReport whole = evaluate_event(scenario, AttentionFlops::full, how);
  const bool known = whole.report.prediction.feasible() && whole.report.prediction.step;
  if (!known || !degrades) return study_goodput(std::move(whole.report), options);
  StatePlayer player{whole, how};
  Operations& operations = scenario.job.operations;
  for (ComponentFailures& part : operations.interruptions.components) {
    if (!plays(part)) continue;
    part.paces =
        part.per == ComponentKind::nic ? player.nic_paces() : std::vector{player.switch_pace()};
  }
  if (operations.fail_slow.pace)
    operations.fail_slow.job_pace = player.straggler_pace(*operations.fail_slow.pace);
  GoodputStudy study =
      study_goodput(evaluate_event(scenario, AttentionFlops::full, how).report, options);
  study.states = std::move(player).states();
  return study;
}

}  // namespace foretrain
