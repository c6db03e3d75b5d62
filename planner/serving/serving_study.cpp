// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/serving_study.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "models/base/percentile.hpp"
#include "models/base/quantity.hpp"
#include "models/base/too_large.hpp"
#include "sim/serving/serving_run.hpp"

namespace foretrain {
namespace {

double ttft_of(const ServedRequest& request) { return request.first_token - request.submitted; }
double queue_of(const ServedRequest& request) { return request.started - request.submitted; }
double tpot_of(const ServedRequest& request) { return request.per_token(); }

/// Of the counted requests, the time that the share `percentile` (0 to 100) does not exceed.
Seconds reached(const ServingSample& sample, double percentile,
                double (*value)(const ServedRequest&)) {
  std::vector<float> values;
  for (const ServedRequest& request : sample.requests) {
    const double seconds = value(request);
    if (seconds > 0.0) values.push_back(static_cast<float>(seconds));
  }
  if (values.empty()) return {};
  return Seconds{percentile_of(values, percentile / 100.0)};
}

ServingEnd end_of(const ReadyServing& ready, double pace, const std::atomic<bool>* stop) {
  const ServingSample sample = simulate_serving(serving_model(ready, pace), {60, stop});
  const ServingGoals& goals = ready.plan.goals;
  return {summary_of(sample, {goals.ttft, goals.tpot}), reached(sample, goals.percentile, ttft_of),
          reached(sample, goals.percentile, queue_of)};
}

/// Where so many wait that it is not played to its end, the saturated forecast slowed down.
ServingEnd slow_end(const ReadyServing& ready, const ServingSummary& forecast, double share,
                    const std::atomic<bool>* stop) {
  try {
    return end_of(ready, 1.0 / share, stop);
  } catch (const TooLarge&) {
    ServingEnd end{forecast};
    end.summary.overloaded = true;
    end.summary.output_tokens_per_s *= share;
    return end;
  }
}

/// @param keeps_goals whether the forecast itself does
/// @pre ready.reasons is empty @throws TooLarge
ServingEnds serving_ends(const ReadyServing& ready, const ServingSummary& forecast,
                         const ServingBands& bands, bool keeps_goals,
                         const std::atomic<bool>* stop) {
  ServingEnds ends;
  ends.asked = ready.plan.load.arrivals != ArrivalKind::closed;
  if (!ends.asked) return ends;
  const ResidualBand& band = bands.throughput;
  if (!forecast.overloaded && band.low < 1.0) ends.slow = slow_end(ready, forecast, band.low, stop);
  if (!keeps_goals && band.high > 1.0) ends.fast = end_of(ready, 1.0 / band.high, stop);
  ends.unbounded = forecast.overloaded || (ends.slow && ends.slow->summary.overloaded);
  return ends;
}

/// Dollars where the scenario has a price and tokens came.
std::optional<ServingCost> serving_cost(const Scenario& scenario, double gpus, double output_per_s,
                                        double prompt_per_s) {
  const auto& price = scenario.job.operations.price_per_gpu;
  if (!price || output_per_s <= 0.0) return std::nullopt;
  const double dollars_per_s = price->value() * gpus;
  return ServingCost{dollars_per_s * 3600.0, dollars_per_s / output_per_s * 1e6,
                     dollars_per_s / (output_per_s + prompt_per_s) * 1e6};
}

}  // namespace

Banded rate_band(double rate, const ServingBands& bands, const ServingEnds& ends,
                 const ServingSummary& forecast) {
  const double output = forecast.output_tokens_per_s;
  const auto share = [&](const ServingEnd& end) {
    return output > 0.0 ? end.summary.output_tokens_per_s / output : 1.0;
  };
  // Requests at random differ a little from run to run.
  const double low = ends.slow ? std::min(1.0, share(*ends.slow)) : bands.throughput.low;
  const double high = ends.fast    ? std::max(1.0, share(*ends.fast))
                      : ends.asked ? 1.0
                                   : bands.throughput.high;
  return {rate * std::min(1.0, low), rate, rate * std::max(1.0, high)};
}

Banded ttft_band(const FirstToken& forecast, const ServingBands& bands, const ServingEnds& ends,
                 const FirstToken& slow, const FirstToken& fast) {
  Banded band{forecast.ttft * std::min(1.0, bands.ttft.low), forecast.ttft,
              forecast.ttft * std::max(1.0, bands.ttft.high)};
  if (ends.slow) band.high += std::max(0.0, slow.queue - forecast.queue);
  if (ends.fast) band.low = std::min(band.low, fast.ttft);
  if (ends.unbounded) band.high = std::numeric_limits<double>::infinity();
  return band;
}

namespace {

std::vector<GoalVerdict> verdicts(const ServingGoals& goals, const ServingSample& sample) {
  std::vector<GoalVerdict> result;
  const auto judge = [&](const char* name, const std::optional<Seconds>& limit,
                         double (*value)(const ServedRequest&)) {
    if (limit) result.push_back({name, *limit, reached(sample, goals.percentile, value)});
  };
  judge("ttft", goals.ttft, ttft_of);
  judge("tpot", goals.tpot, tpot_of);
  return result;
}

/// A decode step with the sequences that run on average.
ServingStepExample decode_example(const ReadyServing& ready, const ServingSample& sample) {
  const RequestLoad& load = ready.plan.load;
  ServingStepExample example;
  example.sequences = std::max(1.0, std::round(sample.mean_running / ready.plan.layout.replicas));
  const double prompt = mean_prompt(load);
  example.context = prompt + (mean_request(load) - prompt) / 2.0;
  const double part = example.sequences / ready.serve.deployment.layout.pipeline;
  example.time = step_time(ready.serve.deployment,
                           {{}, std::max(1.0, part), std::max(1.0, part) * example.context, 0.0});
  return example;
}

Seconds prompt_example(const ReadyServing& ready) {
  const ReadyPool& pool = ready.prefill ? *ready.prefill : ready.serve;
  const RequestLoad& load = ready.plan.load;
  const double prompt = mean_prompt(load);
  const double cached =
      load.shared_prefix + load.prefix_reuse * std::max(0.0, prompt - load.shared_prefix);
  Seconds time{};
  for (double from = std::min(cached, prompt - 1.0); from < prompt;) {
    const double tokens = std::min<double>(pool.scheduler.chunk_tokens, prompt - from);
    const PrefillChunk chunk{tokens, from};
    from += tokens;
    time += step_time(pool.deployment, {{&chunk, 1}, 0.0, 0.0, from >= prompt ? 1.0 : 0.0}).total();
  }
  return time;
}

Banded tpot_band(double tpot, const ServingBands& bands) {
  return {tpot * std::min(1.0, bands.tpot.low), tpot, tpot * std::max(1.0, bands.tpot.high)};
}

void set_goal_bands(ServingReport& report) {
  const auto end = [](const std::optional<ServingEnd>& at) {
    return at ? FirstToken{at->ttft.value(), at->queue.value()} : FirstToken{};
  };
  for (GoalVerdict& goal : report.goals) {
    const double value = goal.reached.value();
    const double percentile = report.ready.plan.goals.percentile;
    const FirstToken forecast{value, reached(report.sample, percentile, queue_of).value()};
    goal.band = goal.name == "ttft" ? ttft_band(forecast, report.bands, report.ends,
                                                end(report.ends.slow), end(report.ends.fast))
                                    : tpot_band(value, report.bands);
  }
}

/// The forecast alone.
ServingReport forecast_of(const Scenario& scenario, const ReadyServing& ready,
                          const std::atomic<bool>* stop) {
  ServingReport report;
  report.name = scenario.job.name;
  report.model = scenario.job.model.name;
  report.machine = scenario.job.cluster.host.title;
  report.device = scenario.job.cluster.host.device.name;
  report.ready = ready;
  if (!ready.reasons.empty()) return report;
  report.sample = simulate_serving(serving_model(ready), {60, stop});
  report.stopped = !report.sample.complete;
  report.summary = summary_of(report.sample, {ready.plan.goals.ttft, ready.plan.goals.tpot});
  report.goals = verdicts(ready.plan.goals, report.sample);
  report.cost = serving_cost(scenario, report.paid_gpus(), report.summary.output_tokens_per_s,
                             report.summary.prompt_tokens_per_s);
  report.decode = decode_example(ready, report.sample);
  report.bands =
      serving_bands(ready.serve.deployment, report.decode.sequences, report.decode.context);
  report.prompt = prompt_example(ready);
  set_goal_bands(report);
  return report;
}

}  // namespace

ServingVerdict ServingReport::verdict() const {
  const auto all = [&](const auto& keeps) { return std::ranges::all_of(goals, keeps); };
  const auto by_low = [](const GoalVerdict& goal) { return goal.band.low <= goal.limit.value(); };
  const auto by_high = [](const GoalVerdict& goal) { return goal.band.high <= goal.limit.value(); };
  if (!ready.reasons.empty()) return ServingVerdict::infeasible;
  if (summary.requests == 0) return ServingVerdict::nothing_counted;
  if (sample.rejected > 0) return ServingVerdict::refuses_requests;
  if (summary.overloaded)
    return ends.fast && !ends.fast->summary.overloaded ? ServingVerdict::likely_overloaded
                                                       : ServingVerdict::overloaded;
  if (!all([](const GoalVerdict& goal) { return goal.kept(); }))
    return all(by_low) ? ServingVerdict::likely_misses : ServingVerdict::misses_goals;
  return ends.unbounded || !all(by_high) ? ServingVerdict::at_risk : ServingVerdict::ok;
}

bool ServingReport::keeps_goals() const { return verdict() <= ServingVerdict::at_risk; }

double ServingReport::mean_gpus() const {
  if (!ready.plan.autoscaling.on()) return ready.gpus();
  return sample.mean_replicas * ready.plan.layout.gpus();
}

double ServingReport::paid_gpus() const {
  if (ready.plan.autoscaling.on()) return mean_gpus();
  const int each = ready.serve.deployment.cluster.host.gpus;
  return static_cast<double>((ready.gpus() + each - 1) / each) * each;
}

bool ServingReport::may_keep_goals() const {
  if (keeps_goals()) return true;
  const ServingVerdict now = verdict();
  const bool open =
      now == ServingVerdict::likely_misses || now == ServingVerdict::likely_overloaded;
  return open && std::ranges::all_of(goals, [](const GoalVerdict& goal) {
           return goal.band.low <= goal.limit.value();
         });
}

ServingReport study_with_ends(const Scenario& scenario, const ReadyServing& ready,
                              const std::atomic<bool>* stop) {
  ServingReport report = forecast_of(scenario, ready, stop);
  if (!report.ready.reasons.empty() || report.stopped) return report;
  report.ends =
      serving_ends(report.ready, report.summary, report.bands, report.keeps_goals(), stop);
  set_goal_bands(report);
  return report;
}

ServingReport study_serving(const Scenario& scenario, const std::atomic<bool>* stop) {
  ServingReport report = study_with_ends(scenario, ready_serving(scenario), stop);
  if (report.ready.reasons.empty() && report.summary.requests > 0 && !report.stopped)
    report.chance = chance_of_goals(report, stop);
  return report;
}

ServingReport study_serving(const Scenario& scenario, const ReadyServing& ready,
                            const std::atomic<bool>* stop) {
  return forecast_of(scenario, ready, stop);
}

}  // namespace foretrain
