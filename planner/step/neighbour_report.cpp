// SPDX-License-Identifier: Apache-2.0
#include "planner/step/neighbour_report.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "planner/forecast/report.hpp"
#include "planner/network/fabric_text.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/text_table.hpp"
#include "planner/version.hpp"

namespace foretrain {
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

Json job_tree(const std::string& name, const BesideSteps& job) {
  Json steps = Json::array();
  for (const Seconds step : job.steps) steps.push_back(number_or_null(step.value()));
  return {{"name", name},
          {"alone_s", number_or_null(job.alone.value())},
          {"steps_s", std::move(steps)},
          {"slowdown",
           {{"mean", number_or_null(job.mean_slowdown())},
            {"least", number_or_null(job.slowdown(0.0))},
            {"median", number_or_null(job.slowdown(0.5))},
            {"p90", number_or_null(job.slowdown(0.9))},
            {"most", number_or_null(job.slowdown(1.0))}}}};
}

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
  Json links = Json::array();
  for (const SharedCable& cable : report.run.busiest)
    links.push_back({{"name", cable.name},
                     {"use", {number_or_null(cable.use[0]), number_or_null(cable.use[1])}}});
  return dump(
      {{"schema", "neighbour/1"},
       {"foretrain_version", version},
       {"fabric_hosts", report.hosts},
       {"jobs",
        {job_tree(report.first, report.run.jobs[0]), job_tree(report.other, report.run.jobs[1])}},
       {"shared_links", report.run.shared_cables},
       {"busiest", std::move(links)}});
}

}  // namespace foretrain
