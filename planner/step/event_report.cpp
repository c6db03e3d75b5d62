// SPDX-License-Identifier: Apache-2.0
#include "planner/step/event_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "models/base/require.hpp"
#include "planner/network/fabric_chart.hpp"
#include "planner/network/fabric_text.hpp"
#include "planner/text/format.hpp"
#include "sim/step/event_forecast.hpp"

namespace foretrain {

StepPath played_path(const EventRun& run) {
  return {run.graph, run.timeline, run.jitter, run.release};
}

EventReport evaluate_event(const Scenario& scenario, AttentionFlops convention,
                           const EventOptions& options) {
  Fabric fabric = fabric_of(scenario);
  EventForecast forecast = event_forecast(scenario.job, fabric, convention, options);
  if (const auto larger = on_larger_gpus(scenario.job, forecast.prediction))
    add_if_it_fit(event_forecast(*larger, fabric, convention, options).prediction,
                  forecast.prediction);
  std::optional<StepPath> played;
  if (forecast.run && !forecast.run->stopped) played = played_path(*forecast.run);
  return {report_on(scenario, std::move(forecast.prediction), played ? &*played : nullptr),
          std::move(fabric), std::move(forecast.run)};
}

std::string played_text(const EventReport& report) {
  FORETRAIN_REQUIRE(report.run.has_value());
  const EventRun& run = *report.run;
  const Job& job = report.report.scenario.job;
  const std::string replicas = run.folded
                                   ? fmt::format("{} of {} data replicas, which stand for all",
                                                 run.played, with_thousands(job.parallel.data))
                                   : fmt::format("{} data replica{}", with_thousands(run.played),
                                                 run.played == 1 ? "" : "s");
  const auto count = [](std::uint64_t number) {
    return with_thousands(static_cast<std::int64_t>(number));
  };
  return fmt::format("{}; {} events, {} exchanges, {} of them slowed", replicas, count(run.events),
                     count(run.exchanges), count(run.slowed));
}

std::vector<TraceCounter> link_counters(const EventReport& report) {
  FORETRAIN_REQUIRE(report.run.has_value());
  std::vector<TraceCounter> counters;
  for (const LinkUseSeries& series : report.run->link_use) {
    TraceCounter counter;
    counter.name = link_name(report.fabric, series.link);
    counter.unit = "percent";
    // Protocols can get a little more out of a link than large copies do, which is its full rate.
    for (const auto& [time, share] : series.points)
      counter.points.push_back({time, 100.0 * std::min(share, 1.0)});
    counters.push_back(std::move(counter));
  }
  return counters;
}

Scene heat_chart(const EventReport& report, const std::string& caption) {
  FORETRAIN_REQUIRE(report.run.has_value());
  const Scenario& scenario = report.report.scenario;
  FabricReport picture;
  picture.caption = caption;
  picture.name = scenario.job.name + ": use of links over one optimizer step";
  picture.title = scenario.job.cluster.network.title;
  picture.kind = scenario.job.cluster.network.kind;
  if (const auto* clos = std::get_if<ClosShape>(&report.fabric.spec.network))
    picture.switch_radix = clos->switch_radix;
  picture.fabric = report.fabric;
  picture.down.assign(static_cast<std::size_t>(report.fabric.links()), false);
  const double seconds = report.run->timeline.makespan.value();
  for (std::size_t link = 0; link < picture.down.size(); ++link)
    picture.use.push_back(report.run->link_bytes[link] / (report.fabric.capacity[link] * seconds));
  return fabric_sheet(picture);
}

std::string stopped_text(const EventReport& report, const ReplayProgress& progress,
                         const TextStyle& style) {
  std::string text =
      progress.ended == 0
          ? fmt::format("{}: stopped before its first task, while routes were laid out\n",
                        report.report.scenario.job.name)
          : fmt::format("{}: stopped after {} of {} tasks\n", report.report.scenario.job.name,
                        with_thousands(static_cast<std::int64_t>(progress.ended)),
                        with_thousands(static_cast<std::int64_t>(progress.tasks)));
  text += labelled("step", "at least " + seconds_text(progress.now) + ", not simulated to its end",
                   style);
  if (const auto& memory = report.report.prediction.memory)
    text += labelled("memory",
                     fmt::format("{} of {}", bytes_text(memory->peak), bytes_text(memory->usable)),
                     style);
  return text;
}

}  // namespace foretrain
