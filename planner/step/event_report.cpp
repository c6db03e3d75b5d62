// SPDX-License-Identifier: Apache-2.0

#include "planner/step/event_report.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "models/base/require.hpp"
#include "planner/answer/value_json.hpp"
#include "planner/forecast/report.hpp"
#include "planner/network/fabric_chart.hpp"
#include "planner/network/fabric_text.hpp"
#include "planner/text/format.hpp"
#include "planner/text/text_table.hpp"
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

namespace {

constexpr std::array parts{0.0, 0.5, 0.9, 1.0};

std::optional<Infeasible> refuse_alone(const Scenario& scenario) {
  Report report = evaluate(scenario, AttentionFlops::full, EngineKind::path);
  if (report.prediction.feasible()) return std::nullopt;
  Infeasible reason = report.prediction.reasons.front();
  reason.message = scenario.job.name + ": " + reason.message;
  return reason;
}

std::vector<TextCell> row(const std::string& name, const BesideSteps& job) {
  std::vector<TextCell> cells{name, seconds_text(job.alone), std::to_string(job.steps.size()),
                              fmt::format("{:.4f}", job.mean_slowdown())};
  for (const double part : parts) cells.emplace_back(fmt::format("{:.4f}", job.slowdown(part)));
  return cells;
}

struct JobShown {
  std::string name;
  const BesideSteps& job;
};

const ValueTable<JobShown>& beside_values() {
  const auto slowdown = [](double part) {
    return [part](const JobShown& shown) { return shown.job.slowdown(part); };
  };
  static const auto table =
      ValueTable<JobShown>{}
          .add("name", &JobShown::name)
          .add("alone_s", [](const JobShown& shown) { return shown.job.alone; })
          .add("steps_s", [](const JobShown& shown) { return shown.job.steps; })
          .add("slowdown.mean", [](const JobShown& shown) { return shown.job.mean_slowdown(); })
          .add("slowdown.least", slowdown(parts[0]))
          .add("slowdown.median", slowdown(parts[1]))
          .add("slowdown.p90", slowdown(parts[2]))
          .add("slowdown.most", slowdown(parts[3]));
  return table;
}

const ValueTable<SharedCable> cable_values =
    ValueTable<SharedCable>{}
        .add("name", &SharedCable::name)
        .add("use", &SharedCable::use, "Utilisation of the link by each job alone.");

const ValueTable<NeighbourReport> neighbour_table =
    ValueTable<NeighbourReport>{"neighbour/1",
                                "foretrain simulate --beside --json, schema neighbour/1"}
        .add("fabric_hosts", &NeighbourReport::hosts)
        .add(
            "jobs",
            [](const NeighbourReport& report) {
              return std::vector<JobShown>{{report.first, report.run.jobs[0]},
                                           {report.other, report.run.jobs[1]}};
            },
            beside_values())
        .add("shared_links", [](const NeighbourReport& report) { return report.run.shared_cables; })
        .add(
            "busiest", [](const NeighbourReport& report) { return report.run.busiest; },
            cable_values);

}  // namespace

std::variant<NeighbourReport, Infeasible> evaluate_neighbours(const Scenario& first,
                                                              const Scenario& other,
                                                              const NeighbourOptions& options) {
  for (const Scenario* scenario : {&first, &other})
    if (auto refused = refuse_alone(*scenario)) return *refused;
  const Fabric fabric = fabric_of(first);
  auto played = run_neighbours({&first.job, &other.job}, fabric, options);
  if (const auto* refused = std::get_if<Infeasible>(&played)) return *refused;
  return NeighbourReport{first.job.name, other.job.name, fabric.spec.hosts,
                         std::get<NeighbourRun>(std::move(played))};
}

std::string neighbour_text(const NeighbourReport& report, const TextStyle& style) {
  const NeighbourRun& run = report.run;
  std::string text = hanging(
      "",
      fmt::format("{} beside {} on one fabric of {} hosts: steps, one after the other, over "
                  "the step alone",
                  report.first, report.other,
                  with_thousands(static_cast<std::int64_t>(report.hosts))),
      style);
  using Align = TextTable::Align;
  TextTable table{{Align::left, Align::right, Align::right, Align::right, Align::right,
                   Align::right, Align::right, Align::right}};
  table.add({"job", "alone", "steps", "mean", "least", "median", "p90", "most"});
  table.add(row(report.first, run.jobs[0]));
  table.add(row(report.other, run.jobs[1]));
  text += table.text(style);
  if (run.shared_cables == 0) return text + "They share no link.\n";
  text += fmt::format("They share {} links; the busiest, by each job's own step:\n",
                      with_thousands(static_cast<std::int64_t>(run.shared_cables)));
  for (const SharedCable& cable : run.busiest)
    text += fmt::format("  {}  {} and {} of its rate\n", pad_right(cable.name, 28),
                        percent_text(cable.use[0]), percent_text(cable.use[1]));
  return text;
}

std::string neighbour_json(const NeighbourReport& report) {
  return json_text(neighbour_table, report);
}

const ValueRows& neighbour_document() { return neighbour_table.rows(); }

}  // namespace foretrain
