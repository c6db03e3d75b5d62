// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "models/base/require.hpp"
#include "planner/post_training/post_training_search.hpp"
#include "planner/serving/serving_search.hpp"
#include "planner/solve/internal/solve_parts.hpp"
#include "planner/solve/solve.hpp"
#include "planner/text/format.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

bool is_stopped(const std::atomic<bool>* stop) { return stop != nullptr && stop->load(); }

std::string goals_text(const ServingPlan& plan) {
  std::string text;
  for (const auto& [name, limit] :
       {std::pair{"TTFT", plan.goals.ttft}, std::pair{"TPOT", plan.goals.tpot}})
    if (limit)
      text += fmt::format("{}{} P{:g} <= {}", text.empty() ? "" : " and ", name,
                          plan.goals.percentile, seconds_text(*limit));
  return text;
}

/// What is reached where a goal is set, at its percentile.
void add_reached(const std::vector<GoalVerdict>& goals, std::vector<SolveValue>& values) {
  for (const GoalVerdict& goal : goals)
    values.push_back(solve_value(goal.name + "_s", goal.name == "ttft" ? "TTFT" : "TPOT",
                                 goal.reached.value(), seconds_text(goal.reached)));
}

std::string layout_of(const ServingPlan& plan) {
  std::string text = fmt::format("{} x {}", plan.layout.replicas, layout_text(plan.layout));
  if (plan.prefill.replicas > 0)
    text =
        fmt::format("{} x {} prefill + {}", plan.prefill.replicas, layout_text(plan.prefill), text);
  return text;
}

std::vector<SolveValue> deployment_row(const ServingPoint& point) {
  std::vector<SolveValue> row{solve_count("gpus", "", point.gpus),
                              solve_word("layout", "", layout_of(point.plan))};
  row.push_back(solve_value("ttft_p90_s", "", point.summary.ttft.p90,
                            seconds_text(Seconds{point.summary.ttft.p90})));
  row.push_back(solve_value("tpot_p90_s", "", point.summary.tpot.p90,
                            seconds_text(Seconds{point.summary.tpot.p90})));
  row.push_back(solve_word("keeps_goals", "", point.keeps_goals ? "yes" : "no"));
  return row;
}

/// The scenario's deployment under another rate of requests that come at random.
ServingReport under(const Scenario& scenario, double rate, const std::atomic<bool>* stop) {
  ServingPlan plan = *scenario.serving;
  plan.load.arrivals = ArrivalKind::poisson;
  plan.load.rate = rate;
  plan.load.trace.clear();
  constexpr int enough = 6000;  // of them the 99th percentile has sixty
  if (plan.load.requests == 0 || plan.load.requests > enough) plan.load.requests = enough;
  plan.warm_up = min(plan.warm_up, Seconds{0.1 * plan.load.requests / rate});
  plan.duration = Seconds{};
  return study_serving(scenario, ready_serving(scenario, plan, scenario.job.cluster), stop);
}

struct RateTrial {
  double rate = 0.0;
  ServingReport report;
};

std::vector<SolveValue> rate_row(const RateTrial& trial) {
  const ServingSummary& seen = trial.report.summary;
  return {solve_value("requests_per_s", "", trial.rate, significant_text(trial.rate)),
          solve_value("ttft_p90_s", "", seen.ttft.p90, seconds_text(Seconds{seen.ttft.p90})),
          solve_value("tpot_p90_s", "", seen.tpot.p90, seconds_text(Seconds{seen.tpot.p90})),
          solve_word("keeps_goals", "", trial.report.keeps_goals() ? "yes" : "no")};
}

/// Doubling and halving, then the middle of what is known, until it is known to 2 %.
std::optional<RateTrial> highest_rate(const Scenario& scenario, const std::atomic<bool>* stop,
                                      std::vector<RateTrial>& trials) {
  constexpr double least = 1e-4;
  constexpr double most = 1e6;
  std::optional<RateTrial> best;
  double low = 0.0;
  double high = 0.0;  // zero: not known
  double rate = scenario.serving->load.rate > 0.0 ? scenario.serving->load.rate : 1.0;
  while (rate >= least && rate <= most && (high <= 0.0 || low <= 0.0 || high / low > 1.02)) {
    trials.push_back({rate, under(scenario, rate, stop)});
    if (is_stopped(stop)) return best;
    if (trials.back().report.keeps_goals()) {
      low = rate;
      best = trials.back();
    } else {
      high = rate;
    }
    rate = high <= 0.0 ? 2.0 * low : low <= 0.0 ? 0.5 * high : std::sqrt(low * high);
  }
  return best;
}

/// Digits that a command line repeats, and no more than what was found.
std::string rounded_down(double rate) {
  const double unit = std::pow(10.0, std::floor(std::log10(rate)) - 2.0);
  return fmt::format("{:.6g}", std::floor(rate / unit + 1e-9) * unit);
}

/// Under the scenario's whole load, as `foretrain serve` simulates it; less of it until that keeps
/// the goals, too.
std::optional<RateTrial> confirmed_rate(const Scenario& scenario, const RateTrial& found,
                                        const std::atomic<bool>* stop,
                                        std::vector<RateTrial>& trials) {
  constexpr double less = 0.97;
  constexpr int most_tries = 24;
  ServingPlan plan = *scenario.serving;
  plan.load.arrivals = ArrivalKind::poisson;
  double rate = found.rate;
  for (int tried = 0; tried < most_tries && !is_stopped(stop); ++tried, rate *= less) {
    plan.load.rate = std::strtod(rounded_down(rate).c_str(), nullptr);
    trials.push_back(
        {plan.load.rate,
         study_serving(scenario, ready_serving(scenario, plan, scenario.job.cluster), stop)});
    if (trials.back().report.keeps_goals()) return trials.back();
  }
  return std::nullopt;
}

std::vector<SolveValue> machine_row(int gpus, const PostTrainingSearch& search, Seconds limit) {
  if (search.splits.empty())
    return {solve_count("gpus", "", gpus), solve_word("step_s", "", "-"),
            solve_word("division", "", search.refused), solve_word("within", "", "no")};
  const PostTrainingSplit& best = search.splits.front();
  const Seconds step = best.report.forecast.step.time;
  return {solve_count("gpus", "", gpus),
          solve_value("step_s", "", step.value(), seconds_text(step)),
          solve_word("division", "", division_text(best.report)),
          solve_word("within", "", step <= limit ? "yes" : "no")};
}

void add_machine(const PostTrainingSearch& search, int hosts, int gpus, Seconds limit,
                 SolveAnswer& answer) {
  const PostTrainingSplit& best = search.splits.front();
  const BandedTime& step = best.report.forecast.step;
  answer.found = true;
  answer.sentence =
      fmt::format("{} GPUs: a step takes {} ({} to {}), at most {} was asked.",
                  with_thousands(gpus), seconds_text(step.time), seconds_text(step.low),
                  seconds_text(step.high), seconds_text(limit));
  answer.values = {solve_count("gpus", "GPUs", gpus),
                   solve_value("step_s", "Step", step.time.value(), seconds_text(step.time)),
                   solve_value("samples_per_s", "Samples", best.report.forecast.samples_per_s,
                               significant_text(best.report.forecast.samples_per_s) + " /s")};
  if (best.report.cost)
    answer.values.push_back(solve_value("usd_per_step", "Cost per step", best.report.cost->per_step,
                                        dollars_text(Dollars{best.report.cost->per_step})));
  answer.settings = best.settings;
  answer.settings.insert(answer.settings.begin(), fmt::format("cluster.hosts={}", hosts));
}

}  // namespace

SolveAnswer fewest_serving_gpus(const Scenario& scenario, const std::atomic<bool>* stop) {
  const ServingSearch search = fewest_gpus(scenario, stop);
  SolveAnswer answer;
  answer.question = SolveFor::gpus;
  answer.name = scenario.job.name;
  answer.heads = {"GPUs", "layout", "TTFT P90", "TPOT P90", "keeps goals"};
  for (const ServingPoint& point : search.points) answer.rows.push_back(deployment_row(point));
  answer.notes = {
      "every layout of one replica was tried with as many replicas as it takes; the "
      "best under the whole load"};
  const std::string goals = goals_text(*scenario.serving);
  if (search.points.empty() || !search.points.front().keeps_goals) {
    answer.sentence =
        search.stopped
            ? fmt::format("Not finished: nothing was found yet that keeps {}.", goals)
            : fmt::format("No deployment of up to {} GPUs keeps {}{}.",
                          with_thousands(most_serving_gpus), goals,
                          search.refused.empty() ? "" : ": " + search.refused.back().reason);
    return answer;
  }
  const ServingPoint& best = search.points.front();
  answer.found = true;
  answer.sentence =
      fmt::format("{} GPU{} keep{} {}: {}.", with_thousands(best.gpus), best.gpus == 1 ? "" : "s",
                  best.gpus == 1 ? "s" : "", goals, layout_of(best.plan));
  answer.values = {solve_count("gpus", "GPUs", best.gpus)};
  add_reached(best.goals, answer.values);
  answer.values.push_back(solve_value("output_tokens_per_s_per_gpu", "Output per GPU",
                                      best.gpu_tokens_per_s(),
                                      significant_text(best.gpu_tokens_per_s()) + " tokens/s"));
  if (best.cost)
    answer.values.push_back(solve_value("usd_per_million_output_tokens", "Cost per million out",
                                        best.cost->per_million_output,
                                        dollars_text(Dollars{best.cost->per_million_output})));
  answer.settings = overrides_of(best, *scenario.serving);
  return answer;
}

SolveAnswer most_requests(const Scenario& scenario, const std::atomic<bool>* stop) {
  FORETRAIN_REQUIRE(scenario.serving && scenario.serving->goals.any());
  SolveAnswer answer;
  answer.question = SolveFor::rate;
  answer.name = scenario.job.name;
  answer.heads = {"requests/s", "TTFT P90", "TPOT P90", "keeps goals"};
  std::vector<RateTrial> trials;
  auto best = highest_rate(scenario, stop, trials);
  if (best) best = confirmed_rate(scenario, *best, stop, trials);
  std::ranges::sort(trials, [](const RateTrial& a, const RateTrial& b) { return a.rate < b.rate; });
  constexpr std::size_t shown = 12;  // those around the answer
  const auto near = [&](const RateTrial& trial) {
    return trials.size() <= shown ||
           (best && trial.rate > 0.5 * best->rate && trial.rate < 2.0 * best->rate);
  };
  for (const RateTrial& trial : trials)
    if (near(trial)) answer.rows.push_back(rate_row(trial));
  answer.notes = {
      "requests come at random; the rate is searched to 2 % with 6,000 of them, then lowered by 3 "
      "% "
      "until the scenario's whole load keeps the goals"};
  const std::string goals = goals_text(*scenario.serving);
  if (!best) {
    const auto& reasons =
        trials.empty() ? std::vector<Infeasible>{} : trials.front().report.ready.reasons;
    answer.sentence = is_stopped(stop)
                          ? "Not finished: no rate was found yet that keeps " + goals + "."
                      : reasons.empty() ? "No rate keeps " + goals + "."
                                        : "It cannot run: " + reasons.front().message + ".";
    return answer;
  }
  const std::string rate = rounded_down(best->rate);
  const int gpus = best->report.ready.gpus();
  answer.found = true;
  answer.sentence = fmt::format("Up to {} requests/s on {} GPU{} keep {}.", rate,
                                with_thousands(gpus), gpus == 1 ? "" : "s", goals);
  answer.values = {solve_value("requests_per_s", "Requests", best->rate, rate + " /s"),
                   solve_value("requests_per_min", "Per minute", 60.0 * best->rate,
                               significant_text(60.0 * best->rate))};
  add_reached(best->report.goals, answer.values);
  answer.settings = {"serving.requests.arrivals=poisson",
                     "serving.requests.rate=" + rate + " per s"};
  return answer;
}

SolveAnswer fewest_post_training_gpus(const Scenario& scenario, Seconds step, int most_gpus,
                                      const std::atomic<bool>* stop) {
  SolveAnswer answer;
  answer.question = SolveFor::gpus;
  answer.name = scenario.job.name;
  answer.heads = {"GPUs", "step", "generate + train", "short enough"};
  answer.notes = {"every number of hosts was searched from one on, with all divisions of `plan`"};
  const int each = scenario.job.cluster.host.whole_gpus > 0 ? scenario.job.cluster.host.whole_gpus
                                                            : scenario.job.cluster.host.gpus;
  const int most = most_gpus > 0 ? most_gpus / each : 16 * whole_hosts(scenario);
  bool stopped = false;
  for (int hosts = 1; hosts <= most && !answer.found && !stopped; ++hosts) {
    const PostTrainingSearch search = search_splits_on(scenario, hosts, stop);
    stopped = search.stopped;
    answer.rows.push_back(machine_row(hosts * each, search, step));
    if (!search.splits.empty() && search.splits.front().report.forecast.step.time <= step)
      add_machine(search, hosts, hosts * each, step, answer);
  }
  constexpr std::size_t shown = 12;
  if (answer.rows.size() > shown)
    answer.notes.push_back(
        fmt::format("{} smaller machines are not listed", answer.rows.size() - shown));
  if (answer.rows.size() > shown)
    answer.rows.erase(answer.rows.begin(), answer.rows.end() - static_cast<std::ptrdiff_t>(shown));
  if (!answer.found)
    answer.sentence = stopped ? "Not finished: no machine that was tried has so short a step."
                              : fmt::format("No machine of up to {} GPUs has a step of {} or less.",
                                            with_thousands(most * each), seconds_text(step));
  return answer;
}

}  // namespace foretrain
