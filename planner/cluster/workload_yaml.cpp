// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/cluster/workload_fit.hpp"
#include "planner/text/format.hpp"
#include "planner/text/internal/yaml_text.hpp"
#include "planner/version.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

/// Four digits in a unit that people use: "9.874 h".
std::string time_value(Seconds time) {
  if (time < 2.0 * minutes) return fmt::format("{:.4g} s", time.value());
  if (time < 2.0 * hours) return fmt::format("{:.4g} min", time / minutes);
  if (time < 4.0 * days) return fmt::format("{:.4g} h", time / hours);
  return fmt::format("{:.5g} days", time / days);
}

std::string shape_value(const char* name, const std::vector<double>& rates) {
  if (rates.empty()) return "";
  std::string text;
  for (const double rate : rates) text += fmt::format("{}{:.0f}", text.empty() ? "" : ", ", rate);
  return fmt::format(", {}: [{}]", name, text);
}

std::string arrivals_value(const ArrivalLaw& law) {
  return fmt::format("{{poisson: {:.5g} per day{}{}}}", law.rate * days,
                     shape_value("day", law.day), shape_value("week", law.week));
}

std::string duration_value(const DurationLaw& law) {
  switch (law.kind) {
    case DurationKind::fixed:
      return time_value(law.typical);
    case DurationKind::exponential:
      return fmt::format("{{exponential: {}}}", time_value(law.typical));
    case DurationKind::uniform:
      return fmt::format("{{uniform: {{from: {}, to: {}}}}}", time_value(law.least),
                         time_value(law.most));
    case DurationKind::lognormal:
    case DurationKind::gamma:
      return fmt::format("{{{}: {{mean: {}, cv: {:.4g}}}}}", name_of(law.kind),
                         time_value(law.typical), law.variation);
    case DurationKind::empirical:
      break;
  }
  std::string values;
  std::size_t column = 0;
  constexpr std::size_t line = 100;
  for (const Seconds value : law.values) {
    std::string text = (values.empty() ? "" : ",") + std::string(values.empty() ? "" : " ");
    if (column > line) {
      text = ",\n          ";
      column = 0;
    }
    text += time_value(value);
    column += text.size();
    values += text;
  }
  return fmt::format("\n        empirical: [{}]", values);
}

std::string sizes_lines(const std::vector<JobSize>& sizes) {
  if (sizes.size() == 1) return fmt::format("      hosts: {}\n", sizes.front().hosts);
  std::string text = "      sizes:\n";
  for (const JobSize& size : sizes)
    text += fmt::format("        - {{hosts: {}, weight: {:.0f}}}\n", size.hosts, size.weight);
  return text;
}

std::string class_lines(const FittedClass& fitted) {
  std::string text = fmt::format("    - name: {}\n", YamlText::quoted(fitted.name));
  if (!fitted.team.empty()) text += fmt::format("      team: {}\n", YamlText::quoted(fitted.team));
  text += fmt::format("      arrivals: {}\n", arrivals_value(fitted.arrivals.law));
  text += sizes_lines(fitted.sizes);
  const std::string duration = duration_value(fitted.duration);
  text += fmt::format("      duration:{}{}\n", duration.starts_with('\n') ? "" : " ", duration);
  if (fitted.limit.time) text += fmt::format("      limit: {}\n", time_value(*fitted.limit.time));
  if (fitted.limit.factor)
    text += fmt::format("      limit: {{factor: {:.4g}}}\n", *fitted.limit.factor);
  return text;
}

}  // namespace

std::string workload_yaml(const WorkloadFit& fit) {
  std::string text = fmt::format(
      "# Fitted by foretrain {} to {}: {} jobs over {} days.\n"
      "# The log does not show the policy, nor what the cluster is made of: write yours.\n"
      "schema: 1\nname: {}\ncluster: {{host: {}, hosts: {}}}\nworkload:\n  horizon: {} days\n"
      "  classes:\n",
      version, in_quotes(fit.request.source), with_thousands(fit.jobs),
      with_thousands(fit.horizon_days()), YamlText::quoted(fit.request.name),
      YamlText::quoted(fit.request.host), fit.hosts, fit.horizon_days());
  for (const FittedClass& fitted : fit.classes) text += class_lines(fitted);
  return text + "policy: {order: fifo, backfill: easy}\n";
}

}  // namespace foretrain
