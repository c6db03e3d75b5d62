// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "models/forecast/closed_form.hpp"
#include "planner/solve/internal/solve_parts.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

/// Beyond it no transfer takes time that could be seen.
constexpr double no_limit = 1e6;
constexpr double least_factor = 1e-4;
constexpr double resolution = 1e-3;

Seconds step_at(const Job& job, double factor) {
  Job changed = job;
  changed.cluster.network.nic_link.bandwidth *= factor;
  return closed_form(changed).step.value().time;
}

std::string rate_text(BytesPerSecond rate) {
  return fmt::format("{} Gbit/s", significant_text(rate.value() * 8.0 / 1e9));
}

}  // namespace

SolveAnswer needed_bandwidth(const Scenario& scenario, const SolveOptions& options) {
  const Job& job = scenario.job;
  if (job.cluster.hosts < 2)
    throw UsageError("one host sends nothing between hosts: its bandwidth is not needed");
  if (job.cluster.gpus() <= job.cluster.packing().domain)
    throw UsageError(
        "all hosts of the job share one scale-up domain, and no traffic passes a NIC: the "
        "bandwidth between hosts is not needed");
  require_runs(scenario);
  const BytesPerSecond now = job.cluster.network.nic_link.bandwidth;
  const Seconds ideal = step_at(job, no_limit);
  const auto exposed = [&](double factor) { return step_at(job, factor) / ideal - 1.0; };
  const auto factor = least_good(least_factor, no_limit, resolution,
                                 [&](double f) { return exposed(f) <= options.exposed; });
  SolveAnswer answer;
  answer.question = SolveFor::bandwidth;
  answer.name = job.name;
  answer.found = factor.has_value();
  const double needed = factor.value_or(no_limit);
  const BytesPerSecond rate = now * needed;
  answer.sentence = fmt::format(
      "{} per NIC: from there on a step is at most {} longer than with links of any speed; the "
      "scenario has {}, with which it is {} longer.",
      rate_text(rate), percent_text(options.exposed), rate_text(now), percent_text(exposed(1.0)));
  answer.values = {
      solve_value("nic_bandwidth_bytes_per_s", "needed per NIC", rate.value(), rate_text(rate)),
      solve_value("factor", "times what it has", needed, significant_text(needed)),
      solve_value("now_bytes_per_s", "now per NIC", now.value(), rate_text(now)),
      solve_value("exposed_now", "exposed now", exposed(1.0), percent_text(exposed(1.0))),
      solve_value("exposed_limit", "counts as none", options.exposed,
                  percent_text(options.exposed)),
      solve_value("step_now_s", "step now", step_at(job, 1.0).value(),
                  seconds_text(step_at(job, 1.0))),
      solve_value("step_unlimited_s", "step at any speed", ideal.value(), seconds_text(ideal))};
  answer.heads = {"per NIC", "step", "exposed"};
  for (const double f : {0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0})
    answer.rows.push_back(
        {solve_value("nic_bandwidth_bytes_per_s", "", (now * f).value(), rate_text(now * f)),
         solve_value("step_s", "", step_at(job, f).value(), seconds_text(step_at(job, f))),
         solve_value("exposed", "", exposed(f), percent_text(exposed(f)))});
  answer.notes = {
      fmt::format("datasheet rate of one of {} NICs per host; links deliver what the fabric and "
                  "site profiles say of it",
                  job.cluster.host.nics),
      "latency, software overhead and traffic inside a host stay as they are: they are in the step "
      "at any speed"};
  return answer;
}

namespace {

/// 10th and 90th percentile of a break-even price over its forecast: the errors of two machines
/// are apart, and their logarithms add as root of squares.
std::pair<double, double> break_even_band(const CostForecast& ours, const CostForecast& theirs) {
  const auto apart = [](double of_ours, double of_theirs) {
    return std::hypot(std::log(of_ours), std::log(of_theirs));
  };
  return {
      std::exp(-apart(*ours.low.price / *ours.price, *theirs.high.gpu_hours / *theirs.gpu_hours)),
      std::exp(apart(*ours.high.price / *ours.price, *theirs.low.gpu_hours / *theirs.gpu_hours))};
}

/// Of a side that runs to its end.
Prediction run_with_hours(const Scenario& side) {
  require_runs(side);
  Prediction forecast = closed_form(side.job);
  if (!run_duration(forecast) || !forecast.cost.gpu_hours)
    throw UsageError(side.job.name + (forecast.run.goodput
                                          ? ": with its interruptions the run never ends"
                                          : ": the price of a run needs its length: give "
                                            "training.tokens"));
  return forecast;
}

std::vector<SolveValue> side_row(const Scenario& side, const Prediction& forecast) {
  const Seconds duration = run_duration(forecast).value();
  return {
      solve_word("scenario", "", side.job.name), solve_count("gpus", "", side.job.cluster.gpus()),
      solve_value("step_s", "", forecast.step->time.value(), seconds_text(forecast.step->time)),
      solve_value("run_s", "", duration.value(), duration_text(duration)),
      solve_value("gpu_hours", "", *forecast.cost.gpu_hours, count_text(*forecast.cost.gpu_hours))};
}

}  // namespace

SolveAnswer break_even_price(const Scenario& scenario, const Scenario& other) {
  const Prediction ours = run_with_hours(scenario);
  const Prediction theirs = run_with_hours(other);
  if (!ours.cost.price)
    throw UsageError(scenario.job.name +
                     ": there is no price to break even with: give operations.price, for example "
                     "--set \"operations.price=2.5 USD/GPU-hour\"");
  // The cost of a run is a straight line over the price of a GPU-hour.
  const auto cost_at = [&](double per_second) {
    Job job = other.job;
    job.operations.price_per_gpu = DollarsPerSecond{per_second};
    return closed_form(job).cost.price.value().value();
  };
  constexpr double one_dollar = 1.0 / 3600.0;
  const double fixed = cost_at(0.0);
  const double per_dollar = cost_at(one_dollar) - fixed;
  // Of runs over as many tokens: a run half as long is no cheaper machine.
  const double tokens = ours.run.tokens.value();
  const double length = theirs.run.tokens.value() / tokens;
  const double price = (ours.cost.price->value() * length - fixed) / per_dollar;
  const auto dollars = [](double value) { return fmt::format("{:.2f} USD/GPU-hour", value); };
  SolveAnswer answer;
  answer.question = SolveFor::price;
  answer.name = scenario.job.name;
  answer.found = price > 0.0;
  const double own = scenario.job.operations.price_per_gpu->value() * 3600.0;
  const double per_billion = ours.cost.price->value() / tokens * 1e9;
  answer.sentence =
      answer.found
          ? fmt::format("At {} a token of {} costs as much as one of {} at {}: {} per billion.",
                        dollars(price), other.job.name, scenario.job.name, dollars(own),
                        dollars_text(Dollars{per_billion}))
          : fmt::format("A token of {} costs more than one of {} even with free GPUs.",
                        other.job.name, scenario.job.name);
  answer.values = {
      solve_value("price_usd_per_gpu_hour", "break-even price", price, dollars(price)),
      solve_value("ours_usd_per_gpu_hour", "price here", own, dollars(own)),
      solve_value("run_usd", "run here", ours.cost.price->value(), dollars_text(*ours.cost.price)),
      solve_value("usd_per_billion_tokens", "a billion tokens", per_billion,
                  dollars_text(Dollars{per_billion}))};
  if (answer.found && ours.cost.low.price && theirs.cost.low.gpu_hours) {
    const auto [down, up] = break_even_band(ours.cost, theirs.cost);
    answer.values.push_back(solve_value("price_low_usd_per_gpu_hour", "break-even, P10",
                                        price * down, dollars(price * down)));
    answer.values.push_back(solve_value("price_high_usd_per_gpu_hour", "break-even, P90",
                                        price * up, dollars(price * up)));
    answer.notes.emplace_back("between P10 and P90 the forecasts leave open which is cheaper");
  }
  answer.heads = {"scenario", "GPUs", "step", "run", "GPU-hours"};
  answer.rows = {side_row(scenario, ours), side_row(other, theirs)};
  answer.notes.emplace_back(
      "each with its own plan, in closed form; --search takes the best plan of each");
  return answer;
}

}  // namespace foretrain
