// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/serving_study.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/base/percentile.hpp"
#include "planner/serving/internal/goal_times.hpp"

namespace foretrain {
namespace {

using internal::queue_of;
using internal::tpot_of;
using internal::ttft_of;

}  // namespace

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
  const auto all = [&](const auto& keeps) {
    return std::all_of(goals.begin(), goals.end(), keeps);
  };
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
  return open && std::all_of(goals.begin(), goals.end(), [](const GoalVerdict& goal) {
           return goal.band.low <= goal.limit.value();
         });
}

std::optional<ServingCost> serving_cost(const Scenario& scenario, double gpus, double output_per_s,
                                        double prompt_per_s) {
  const auto& price = scenario.job.operations.price_per_gpu;
  if (!price || output_per_s <= 0.0) return std::nullopt;
  const double dollars_per_s = price->value() * gpus;
  return ServingCost{dollars_per_s * 3600.0, dollars_per_s / output_per_s * 1e6,
                     dollars_per_s / (output_per_s + prompt_per_s) * 1e6};
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
