// SPDX-License-Identifier: Apache-2.0
#include "sim/step/event_forecast.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "models/forecast/closed_form.hpp"
#include "models/forecast/path_forecast.hpp"

namespace foretrain {
namespace {

constexpr std::size_t listed_links = 32;

/// The time of a step that was not played to its end is not known.
void forget_time(Prediction& prediction) {
  prediction.step.reset();
  prediction.efficiency.reset();
  prediction.run = {};
  prediction.cost = {};
}

/// Links that are lost while the step runs, and nobody said how long switches look for new routes.
bool reroutes_at_once(const Simulation& simulation) {
  if (simulation.rerouting) return false;
  for (const Disturbance& what : simulation.disturbances) {
    const bool down =
        what.kind == DisturbanceKind::link_down || what.kind == DisturbanceKind::node_down;
    if (what.kind == DisturbanceKind::nic_flap || (down && what.from > Seconds{})) return true;
  }
  return false;
}

void tell_network(const Job& job, const EventRun& run, std::vector<Warning>& warnings) {
  if (reroutes_at_once(job.simulation))
    warnings.push_back({"unknown-rerouting",
                        "how long traffic of a lost link waits until switches have new routes is "
                        "not said (simulation.rerouting): it goes round the link at once"});
  if (run.input_left > 0.0)
    warnings.push_back(
        {"input-bound",
         "beside the traffic of the step, " +
             std::to_string(std::lround(std::ceil(100.0 * run.input_left))) +
             " % of the next step's input is not read when the step ends: training waits for it, "
             "and how long is not in the step"});
}

}  // namespace

EventForecast event_forecast(const Job& job, const Fabric& fabric, AttentionFlops convention,
                             const EventOptions& options) {
  EventForecast result;
  std::optional<Infeasible> refused;
  const auto step = [&](const Job& plan, const StageLayout& layout) {
    auto played = run_step(plan, layout, fabric, options);
    if (const auto* reason = std::get_if<Infeasible>(&played)) refused = *reason;
    if (auto* run = std::get_if<EventRun>(&played)) result.run = std::move(*run);
    const bool known = result.run && !result.run->stopped;
    // Something to divide by; what follows from it is forgotten below.
    return known ? step_forecast(*result.run) : path_step(plan, layout);
  };
  result.prediction = forecast(job, convention, step);
  result.prediction.engine = EngineKind::event;
  if (refused) result.prediction.reasons.push_back(*refused);
  if (refused || (result.run && result.run->stopped)) forget_time(result.prediction);
  if (result.run) result.prediction.links = busiest_links(*result.run, fabric, listed_links);
  if (result.run) tell_network(job, *result.run, result.prediction.warnings);
  if (result.run && result.run->folded && result.run->slowed > 0)
    result.prediction.warnings.push_back(
        {"folded-replicas",
         "two data replicas stand for all, and their exchanges meet those of the others at the "
         "worst moment: the step is too long by up to " +
             std::to_string(std::lround(std::ceil(100.0 * result.run->longer_folded))) +
             " %; --unfold plays all of them"});
  return result;
}

}  // namespace foretrain
