// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "planner/cluster/workload_fit.hpp"
#include "planner/text/format.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

using Align = TextTable::Align;

constexpr int name_columns = 20;

/// As short as a cell: "9.87 h".
std::string short_time(Seconds time) {
  if (time < 1.0 * minutes) return significant_text(time.value()) + " s";
  if (time < 1.0 * hours) return significant_text(time / minutes) + " min";
  if (time < 2.0 * days) return significant_text(time / hours) + " h";
  return significant_text(time / days) + " d";
}

/// Peak over mean of a cycle that is taken.
std::string cycle_text(const std::optional<CycleTest>& test) {
  if (!test) return "?";
  return test->taken ? fmt::format("x{:.1f}", test->peak) : "-";
}

double hosts_wanted_by(const WorkloadFit& fit, double FittedClass::*hosts) {
  double sum = 0.0;
  for (const FittedClass& each : fit.classes) sum += each.*hosts;
  return sum;
}

std::string fit_head(const WorkloadFit& fit, const TextStyle& style) {
  std::string text = toned(cut(fit.request.name, style.width - 40), Tone::strong, style) +
                     fmt::format(": workload model of a log (foretrain {})\n\n", version);
  std::string log =
      fmt::format("{}: {} jobs submitted over {}", fit.request.source, with_thousands(fit.jobs),
                  duration_text(Seconds{fit.window.seconds()}));
  if (fit.left_out > 0)
    log += fmt::format("; {} never ran, and are left out", with_thousands(fit.left_out));
  text += labelled("Log", log, style);
  const double log_hosts = hosts_wanted_by(fit, &FittedClass::log_hosts);
  const double model_hosts = hosts_wanted_by(fit, &FittedClass::model_hosts);
  text += labelled(
      "Cluster", fmt::format("{} hosts of {}", with_thousands(fit.hosts), fit.request.host), style);
  text += labelled("Load",
                   fmt::format("the log's jobs take {} hosts on average, the model's {}: {} of the "
                               "cluster",
                               significant_text(log_hosts), significant_text(model_hosts),
                               percent_text(model_hosts / fit.hosts)),
                   style);
  return text;
}

std::string arrivals_table(const WorkloadFit& fit, const TextStyle& style) {
  TextTable table{{Align::left, Align::right, Align::right, Align::right, Align::right,
                   Align::right, Align::right, Align::right}};
  table.add({"class", "jobs", "per day", "day", "week", "bursts", "KS", "gaps"});
  for (const FittedClass& each : fit.classes) {
    const ArrivalFit& arrivals = each.arrivals;
    table.add({cut(each.name, name_columns), with_thousands(each.jobs),
               significant_text(arrivals.law.rate * days), cycle_text(arrivals.day),
               cycle_text(arrivals.week),
               arrivals.dispersion ? fmt::format("{:.1f}", *arrivals.dispersion) : "?",
               arrivals.gaps > 0 ? fmt::format("{:.3f}", arrivals.distance) : "?",
               with_thousands(arrivals.gaps)});
  }
  return "\n" + toned("Arrivals, as a Poisson process", Tone::strong, style) + "\n" +
         table.text(style) +
         hanging("  ",
                 fmt::format("day, week: highest rate over the mean where there is a cycle "
                             "(chance below {}; - none, ? log too short). bursts: variance of jobs "
                             "per day over the model's. KS: of gaps, as below.",
                             cycle_chance),
                 style);
}

std::string durations_table(const WorkloadFit& fit, const TextStyle& style) {
  TextTable table{{Align::left, Align::left, Align::right, Align::right, Align::right, Align::right,
                   Align::right}};
  table.add({"class", "law", "mean", "in the log", "cv", "KS", "n"});
  for (const FittedClass& each : fit.classes)
    table.add({cut(each.name, name_columns), std::string(name_of(each.duration.kind)),
               short_time(each.duration.mean()), short_time(each.log_mean),
               fmt::format("{:.2f}", std::sqrt(each.duration.squared_variation())),
               fmt::format("{:.3f}", each.distance), with_thousands(each.jobs)});
  return "\n" + toned("Durations, the best law by AIC", Tone::strong, style) + "\n" +
         table.text(style) +
         hanging("  ",
                 "KS: largest gap between the shares of jobs, in the log and by the law, that are "
                 "done within a time. Chance alone seldom gives more than 1.4 / sqrt(n).",
                 style);
}

std::string size_list(const FittedClass& fitted) {
  if (fitted.sizes.size() == 1) return fmt::format("{}", fitted.sizes.front().hosts);
  std::string text;
  for (const JobSize& size : fitted.sizes) {
    constexpr std::size_t longest = 26;
    const std::string one =
        fmt::format("{}{} ({})", text.empty() ? "" : ", ", size.hosts,
                    percent_text(size.weight / static_cast<double>(fitted.jobs)));
    if (text.size() + one.size() > longest) return text + ", ...";
    text += one;
  }
  return text;
}

std::string limit_words(const LimitFit& limit) {
  if (limit.time) return short_time(*limit.time);
  if (limit.factor) return fmt::format("x{:.2f}", *limit.factor);
  return "-";
}

std::string sizes_table(const WorkloadFit& fit, const TextStyle& style) {
  TextTable table{
      {Align::left, Align::right, Align::right, Align::right, Align::right, Align::left}};
  table.add({"class", "log uses", "model", "limit", "reached", "hosts of a job"});
  for (const FittedClass& each : fit.classes)
    table.add({cut(each.name, name_columns), significant_text(each.log_hosts),
               significant_text(each.model_hosts), limit_words(each.limit),
               each.limit.told > 0 ? percent_text(static_cast<double>(each.limit.reached) /
                                                  static_cast<double>(each.limit.told))
                                   : "-",
               size_list(each)});
  return "\n" +
         toned("Hosts in use, time limits (x: times the duration), sizes", Tone::strong, style) +
         "\n" + table.text(style);
}

}  // namespace

std::string workload_fit_text(const WorkloadFit& fit, const TextStyle& style) {
  std::string text = fit_head(fit, style) + arrivals_table(fit, style) +
                     durations_table(fit, style) + sizes_table(fit, style);
  text += "\n" + toned("Notes", Tone::strong, style) + "\n";
  for (const std::string& note : fit.notes) text += hanging("  ", note, style);
  return text;
}

}  // namespace foretrain
