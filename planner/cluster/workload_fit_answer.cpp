// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "planner/answer/value_json.hpp"
#include "planner/cluster/workload_fit.hpp"
#include "planner/text/format.hpp"

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

const ValueTable<CycleTest> cycle_values =
    ValueTable<CycleTest>{}
        .add("periods", &CycleTest::periods)
        .add("f", &CycleTest::statistic)
        .add("probability", &CycleTest::probability, "p-value of the test.")
        .add("peak_over_mean", &CycleTest::peak)
        .add("taken", &CycleTest::taken);

const ValueTable<ArrivalFit> arrival_values =
    ValueTable<ArrivalFit>{}
        .add("per_day", [](const ArrivalFit& fit) { return fit.law.rate * days; })
        .add(
            "day", [](const ArrivalFit& fit) { return fit.law.day; },
            "Arrival rate by hour of day, relative to the mean.")
        .add(
            "week", [](const ArrivalFit& fit) { return fit.law.week; },
            "Arrival rate by weekday, relative to the mean.")
        .add("day_test", &ArrivalFit::day, cycle_values,
             "Test for a cycle in arrivals; null: the log is too short.")
        .add("week_test", &ArrivalFit::week, cycle_values,
             "Test for a cycle in arrivals; null: the log is too short.")
        .add("gaps", &ArrivalFit::gaps)
        .add("ks_distance",
             [](const ArrivalFit& fit) {
               return fit.gaps > 0 ? std::optional(fit.distance) : std::nullopt;
             })
        .add("dispersion", &ArrivalFit::dispersion,
             "1 of a Poisson process, more where jobs come in bursts.")
        .add("growth", &ArrivalFit::growth,
             "Second half of the log over the first, where chance does not "
             "give as much.");

const ValueTable<DurationFit> duration_fit_values =
    ValueTable<DurationFit>{}
        .add("law", [](const DurationFit& fit) { return fit.law.kind; })
        .add("mean_s", [](const DurationFit& fit) { return fit.law.mean(); })
        .add("cv", [](const DurationFit& fit) { return std::sqrt(fit.law.squared_variation()); })
        .add("aic", &DurationFit::aic)
        .add("ks_distance", &DurationFit::distance);

const ValueTable<LimitFit> limit_values =
    ValueTable<LimitFit>{}
        .add("told", &LimitFit::told, "Jobs with a time limit.")
        .add("reached", &LimitFit::reached, "Jobs that reached their time limit.")
        .add("time_s", &LimitFit::time, "Time limit, where all jobs have the same.")
        .add("factor", &LimitFit::factor, "Time limit over duration, median.");

const ValueTable<JobSize> job_size_values =
    ValueTable<JobSize>{}.add("hosts", &JobSize::hosts).add("jobs", [](const JobSize& size) {
      return std::llround(size.weight);
    });

const ValueTable<FittedClass> fitted_values =
    ValueTable<FittedClass>{}
        .add("name", &FittedClass::name)
        .add("team", [](const FittedClass& fitted) { return if_any(fitted.team); })
        .add("jobs", &FittedClass::jobs)
        .add("arrivals", &FittedClass::arrivals, arrival_values)
        .add("sizes", &FittedClass::sizes, job_size_values)
        .add("duration.law", [](const FittedClass& fitted) { return fitted.duration.kind; })
        .add("duration.mean_s", [](const FittedClass& fitted) { return fitted.duration.mean(); })
        .add("duration.cv",
             [](const FittedClass& fitted) {
               return std::sqrt(fitted.duration.squared_variation());
             })
        .add("duration.log_mean_s", &FittedClass::log_mean)
        .add("duration.ks_distance", &FittedClass::distance)
        .add("duration.n", &FittedClass::jobs)
        .add("duration.tried", &FittedClass::laws, duration_fit_values,
             "Distributions that were fitted, best first.")
        .add("limit", &FittedClass::limit, limit_values,
             "Time limits that jobs were submitted with.")
        .add("hosts_in_use.log", &FittedClass::log_hosts)
        .add("hosts_in_use.model", &FittedClass::model_hosts);

const ValueTable<WorkloadFit>& workload_fit_table() {
  using R = const WorkloadFit&;
  static const auto table =
      ValueTable<WorkloadFit>{"cluster-fit/1",
                              "foretrain cluster fit --json, schema cluster-fit/1; null is "
                              "unknown"}
          .add("name", [](R fit) { return fit.request.name; })
          .add("source", [](R fit) { return fit.request.source; })
          .add("cluster.host", [](R fit) { return fit.request.host; })
          .add("cluster.hosts", &WorkloadFit::hosts)
          .add("cluster.most_in_use", &WorkloadFit::most_in_use,
               "Most hosts in use at once; null: the log has no start times.")
          .add("window.from_s", [](R fit) { return fit.window.from; })
          .add("window.to_s", [](R fit) { return fit.window.to; })
          .add("jobs", &WorkloadFit::jobs)
          .add("left_out", &WorkloadFit::left_out, "Jobs that never ran.")
          .add("classes", &WorkloadFit::classes, fitted_values)
          .add("notes", &WorkloadFit::notes)
          .add("file", workload_yaml, "The cluster file of the model.");
  return table;
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
  return json_text(workload_fit_table(), fit);
}

const ValueRows& workload_fit_document() { return workload_fit_table().rows(); }

}  // namespace foretrain
