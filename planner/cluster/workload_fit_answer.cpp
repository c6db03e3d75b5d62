// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "planner/cluster/workload_fit.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

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

AnswerFacts log_facts(const WorkloadFit& fit) {
  AnswerFacts facts;
  std::string log =
      fmt::format("{}: {} jobs submitted over {}", fit.request.source, with_thousands(fit.jobs),
                  duration_text(Seconds{fit.window.seconds()}));
  if (fit.left_out > 0)
    log += fmt::format("; {} never ran, and are left out", with_thousands(fit.left_out));
  facts.add("Log", std::move(log));
  facts.add("Cluster", fmt::format("{} hosts of {}", with_thousands(fit.hosts), fit.request.host));
  return facts;
}

AnswerHead fit_head(const WorkloadFit& fit) {
  const double log_hosts = hosts_wanted_by(fit, &FittedClass::log_hosts);
  const double model_hosts = hosts_wanted_by(fit, &FittedClass::model_hosts);
  AnswerHead head;
  head.subject = fit.request.name + ", workload model of a log";
  head.words = fmt::format("{} CLASSES", fit.classes.size());
  head.sentence =
      fmt::format("The log's jobs take {} hosts on average, the model's {}: {} of the cluster.",
                  significant_text(log_hosts), significant_text(model_hosts),
                  percent_text(model_hosts / fit.hosts));
  head.figures = {{"jobs", with_thousands(fit.jobs)},
                  {"hosts", with_thousands(fit.hosts)},
                  {"load", percent_text(model_hosts / fit.hosts), "",
                   "log: " + percent_text(log_hosts / fit.hosts)}};
  return head;
}

AnswerSection arrivals_section(const WorkloadFit& fit) {
  AnswerTable table{{words_column("class"), number_column("jobs"), number_column("per day"),
                     number_column("day"), number_column("week"), number_column("bursts"),
                     number_column("KS"), number_column("gaps")}};
  for (const FittedClass& each : fit.classes) {
    const ArrivalFit& arrivals = each.arrivals;
    table.add({each.name, with_thousands(each.jobs), significant_text(arrivals.law.rate * days),
               cycle_text(arrivals.day), cycle_text(arrivals.week),
               arrivals.dispersion ? fmt::format("{:.1f}", *arrivals.dispersion) : "?",
               arrivals.gaps > 0 ? fmt::format("{:.3f}", arrivals.distance) : "?",
               with_thousands(arrivals.gaps)});
  }
  return {"Arrivals, as a Poisson process",
          {std::move(table),
           AnswerLine{fmt::format("day, week: highest rate over the mean where there is a cycle "
                                  "(chance below {}; - none, ? log too short). bursts: variance of "
                                  "jobs per day over the model's. KS: of gaps, as below.",
                                  cycle_chance)}}};
}

AnswerSection durations_section(const WorkloadFit& fit) {
  AnswerTable table{{words_column("class"), words_column("law"), number_column("mean"),
                     number_column("in the log"), number_column("cv"), number_column("KS"),
                     number_column("n")}};
  for (const FittedClass& each : fit.classes)
    table.add({each.name, std::string(name_of(each.duration.kind)),
               short_time(each.duration.mean()), short_time(each.log_mean),
               fmt::format("{:.2f}", std::sqrt(each.duration.squared_variation())),
               fmt::format("{:.3f}", each.distance), with_thousands(each.jobs)});
  return {
      "Durations, the best law by AIC",
      {std::move(table),
       AnswerLine{"KS: largest gap between the shares of jobs, in the log and by the law, that "
                  "are done within a time. Chance alone seldom gives more than 1.4 / sqrt(n)."}}};
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

AnswerTable sizes_table(const WorkloadFit& fit) {
  AnswerTable table{{words_column("class"), number_column("log uses"), number_column("model"),
                     number_column("limit"), number_column("reached"),
                     words_column("hosts of a job")}};
  for (const FittedClass& each : fit.classes)
    table.add({each.name, significant_text(each.log_hosts), significant_text(each.model_hosts),
               limit_words(each.limit),
               each.limit.told > 0 ? percent_text(static_cast<double>(each.limit.reached) /
                                                  static_cast<double>(each.limit.told))
                                   : "-",
               size_list(each)});
  return table;
}

Json cycle_tree(const std::optional<CycleTest>& test) {
  if (!test) return nullptr;
  return {{"periods", test->periods},
          {"f", test->statistic},
          {"probability", test->probability},
          {"peak_over_mean", test->peak},
          {"taken", test->taken}};
}

Json arrivals_tree(const ArrivalFit& fit) {
  return {{"per_day", fit.law.rate * days},
          {"day", fit.law.day},
          {"week", fit.law.week},
          {"day_test", cycle_tree(fit.day)},
          {"week_test", cycle_tree(fit.week)},
          {"gaps", fit.gaps},
          {"ks_distance", fit.gaps > 0 ? Json(fit.distance) : Json(nullptr)},
          {"dispersion", number_or_null(fit.dispersion)},
          {"growth", number_or_null(fit.growth)}};
}

Json tried_tree(const DurationFit& fit) {
  return {{"law", std::string(name_of(fit.law.kind))},
          {"mean_s", fit.law.mean().value()},
          {"cv", std::sqrt(fit.law.squared_variation())},
          {"aic", fit.aic},
          {"ks_distance", fit.distance}};
}

Json duration_tree(const FittedClass& fitted) {
  Json tried = Json::array();
  for (const DurationFit& fit : fitted.laws) tried.push_back(tried_tree(fit));
  return {{"law", std::string(name_of(fitted.duration.kind))},
          {"mean_s", fitted.duration.mean().value()},
          {"cv", std::sqrt(fitted.duration.squared_variation())},
          {"log_mean_s", fitted.log_mean.value()},
          {"ks_distance", fitted.distance},
          {"n", fitted.jobs},
          {"tried", std::move(tried)}};
}

Json limit_tree(const LimitFit& limit) {
  return {{"told", limit.told},
          {"reached", limit.reached},
          {"time_s", limit.time ? Json(limit.time->value()) : Json(nullptr)},
          {"factor", number_or_null(limit.factor)}};
}

Json fitted_tree(const FittedClass& fitted) {
  Json sizes = Json::array();
  for (const JobSize& size : fitted.sizes)
    sizes.push_back({{"hosts", size.hosts}, {"jobs", std::llround(size.weight)}});
  return {{"name", fitted.name},
          {"team", fitted.team.empty() ? Json(nullptr) : Json(fitted.team)},
          {"jobs", fitted.jobs},
          {"arrivals", arrivals_tree(fitted.arrivals)},
          {"sizes", std::move(sizes)},
          {"duration", duration_tree(fitted)},
          {"limit", limit_tree(fitted.limit)},
          {"hosts_in_use", {{"log", fitted.log_hosts}, {"model", fitted.model_hosts}}}};
}

}  // namespace

Answer workload_fit_answer(const WorkloadFit& fit) {
  Answer answer{fit_head(fit)};
  answer.add("", log_facts(fit));
  answer.add(arrivals_section(fit));
  answer.add(durations_section(fit));
  answer.add("Hosts in use, time limits (x: times the duration), sizes", sizes_table(fit));
  AnswerSection notes{"Notes"};
  for (const std::string& note : fit.notes) notes.blocks.emplace_back(AnswerLine{note});
  answer.add(std::move(notes));
  return answer;
}

std::string workload_fit_json(const WorkloadFit& fit) {
  Json classes = Json::array();
  for (const FittedClass& fitted : fit.classes) classes.push_back(fitted_tree(fitted));
  const Json tree{{"schema", "cluster-fit/1"},
                  {"foretrain_version", version},
                  {"name", fit.request.name},
                  {"source", fit.request.source},
                  {"cluster",
                   {{"host", fit.request.host},
                    {"hosts", fit.hosts},
                    {"most_in_use", fit.most_in_use ? Json(*fit.most_in_use) : Json(nullptr)}}},
                  {"window", {{"from_s", fit.window.from}, {"to_s", fit.window.to}}},
                  {"jobs", fit.jobs},
                  {"left_out", fit.left_out},
                  {"classes", std::move(classes)},
                  {"notes", fit.notes},
                  {"file", workload_yaml(fit)}};
  return tree.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace foretrain
