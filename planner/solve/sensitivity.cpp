// SPDX-License-Identifier: Apache-2.0

#include "planner/solve/sensitivity.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <utility>

#include "models/base/require.hpp"
#include "models/forecast/closed_form.hpp"
#include "models/rules/plan_rules.hpp"
#include "planner/forecast/search_limits.hpp"
#include "planner/solve/internal/solve_parts.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

/// An input of the forecast.
struct Input {
  const char* key;
  const char* label;
  /// Moves it and says by how much really; 0: it cannot be moved.
  std::function<double(Job&, double)> move;
  const char* why_not;
};

double scale_host_bandwidth(Job& job, double factor) {
  if (job.cluster.hosts == 1) return 0.0;
  job.cluster.network.nic_link.bandwidth *= factor;
  return factor;
}

double scale_gpu_link(Job& job, double factor) {
  if (job.cluster.host.gpus == 1) return 0.0;
  job.cluster.host.gpu_link.bandwidth *= factor;
  return factor;
}

/// Path, software steps and launches of what crosses hosts.
double scale_latency(Job& job, double factor) {
  if (job.cluster.hosts == 1) return 0.0;
  Network& network = job.cluster.network;
  for (Seconds* part : {&network.path_latency, &network.step_latency, &network.nic_link.latency,
                        &job.site.across.per_step, &job.site.across.launch})
    *part *= factor;
  return factor;
}

double scale_kernels(Job& job, double factor) {
  for (auto& [precision, gemm] : job.device_profile.gemm) gemm.efficiency *= factor;
  job.device_profile.attention.rate *= factor;
  job.device_profile.attention.flash2_rate *= factor;
  return factor;
}

double scale_memory_rate(Job& job, double factor) {
  job.cluster.host.device.memory_bandwidth *= factor;
  return factor;
}

double scale_launch(Job& job, double factor) {
  StackTimes& times = job.stack.times;
  for (Seconds* part : {&times.launch_forward, &times.launch_backward, &times.launch_tensor})
    *part *= factor;
  return factor;
}

double scale_stragglers(Job& job, double factor) {
  if (job.cluster.hosts == 1 || job.stack.times.jitter == 0.0) return 0.0;
  job.stack.times.jitter *= factor;
  return factor;
}

double scale_price(Job& job, double factor) {
  if (!job.operations.price_per_gpu || !job.training.tokens) return 0.0;
  *job.operations.price_per_gpu *= factor;
  return factor;
}

double scale_failures(Job& job, double factor) {
  if (!job.operations.mean_time_between_interruptions) return 0.0;
  *job.operations.mean_time_between_interruptions *= 1.0 / factor;
  return factor;
}

double scale_restart(Job& job, double factor) {
  if (!job.operations.restart) return 0.0;
  *job.operations.restart *= factor;
  return factor;
}

/// To the nearest size in that direction that the plan divides.
double scale_batch(Job& job, double factor) {
  const int now = job.training.global_batch;
  const int unit = job.training.micro_batch * job.parallel.data;
  const auto wanted = static_cast<int>(std::lround(now * factor / unit)) * unit;
  const int direction = factor > 1.0 ? 1 : -1;
  int batch = wanted == now ? now + direction * unit : wanted;
  for (int tries = 0; batch >= unit && tries < 4 * job.parallel.pipeline;
       ++tries, batch += direction * unit) {
    job.training.global_batch = batch;
    if (broken_rules(job).empty()) return static_cast<double>(batch) / now;
  }
  job.training.global_batch = now;
  return 0.0;
}

const std::vector<Input>& inputs() {
  static const std::vector<Input> all{
      {"kernel_efficiency", "kernel efficiency", scale_kernels, ""},
      {"memory_bandwidth", "GPU memory bandwidth", scale_memory_rate, ""},
      {"host_bandwidth", "bandwidth between hosts", scale_host_bandwidth, "one host only"},
      {"gpu_link_bandwidth", "bandwidth inside hosts", scale_gpu_link, "one GPU per host"},
      {"host_latency", "latency between hosts", scale_latency, "one host only"},
      {"launch", "kernel launch cost", scale_launch, ""},
      {"stragglers", "stragglers", scale_stragglers, "one host, or a stack without them"},
      {"global_batch", "global batch", scale_batch, "no near size that the plan divides"},
      {"failure_rate", "failure rate", scale_failures,
       "operations.mean_time_between_interruptions is not given"},
      {"restart", "time to restart", scale_restart, "operations.restart is not given"},
      {"price", "price of a GPU-hour", scale_price,
       "operations.price or training.tokens is not given"}};
  return all;
}

/// Nothing for plans that do not run.
std::optional<SensitivityPoint> point_of(const Job& job, double factor) {
  const Prediction forecast = closed_form(job);
  if (!forecast.step) return std::nullopt;
  SensitivityPoint point;
  point.factor = factor;
  point.step = forecast.step->time;
  point.per_sequence = point.step / static_cast<double>(job.training.global_batch);
  point.run = run_duration(forecast);
  if (forecast.cost.price) point.price_usd = forecast.cost.price->value();
  return point;
}

/// What is compared; `runs`: whole runs, of which one may never end.
std::optional<double> metric_of(const SensitivityPoint& point, SensitivityMetric metric,
                                bool runs) {
  if (metric == SensitivityMetric::cost) return point.price_usd;
  if (!runs) return point.per_sequence.value();
  return point.run ? std::optional(point.run->value()) : std::nullopt;
}

/// The scenario with one input moved; nothing where it cannot be, or the plan would not run.
std::optional<SensitivityPoint> moved(const Job& job, const Input& input, double factor) {
  Job changed = job;
  const double really = input.move(changed, factor);
  if (really == 0.0) return std::nullopt;
  return point_of(changed, really);
}

}  // namespace

double SensitivityLever::swing() const {
  return std::max(std::abs(low_change), std::abs(high_change));
}

Sensitivity sensitivity(const Scenario& scenario, SensitivityMetric metric, double by) {
  FORETRAIN_REQUIRE(0.0 < by && by < 1.0);
  const Job& job = scenario.job;
  require_runs(scenario);
  const auto now = point_of(job, 1.0);
  FORETRAIN_REQUIRE(now.has_value());  // require_runs()
  Sensitivity result{job.name, metric, by, *now, {}, {}};
  if (metric == SensitivityMetric::cost && !result.base.price_usd)
    throw UsageError(job.name +
                     ": cost needs operations.price and training.tokens, for example --set "
                     "\"operations.price=2.5 USD/GPU-hour\"");
  const bool runs = result.base.run.has_value();
  const auto change = [&, base = metric_of(result.base, metric, runs)](
                          const std::optional<SensitivityPoint>& point) {
    const auto moved_to = point ? metric_of(*point, metric, runs) : std::nullopt;
    return moved_to && base ? std::optional(*moved_to / *base - 1.0) : std::nullopt;
  };
  for (const Input& input : inputs()) {
    const auto low = moved(job, input, 1.0 - by);
    const auto high = moved(job, input, 1.0 + by);
    const auto low_change = change(low);
    const auto high_change = change(high);
    if (low_change && high_change)
      result.levers.push_back({input.key, input.label, *low, *high, *low_change, *high_change});
    else
      result.unmoved.push_back(
          {input.key, input.label, low && high ? "the run would never end" : input.why_not});
  }
  std::ranges::stable_sort(result.levers,
                           [](const auto& a, const auto& b) { return a.swing() > b.swing(); });
  return result;
}

namespace {

constexpr double too_small_to_show = 5e-5;

std::string change_text(double share) {
  if (std::abs(share) < too_small_to_show) return "0.00 %";
  return fmt::format("{:+.2f} %", 100.0 * share);
}

double widest(const Sensitivity& result) {
  double swing = 0.0;
  for (const SensitivityLever& lever : result.levers) swing = std::max(swing, lever.swing());
  return swing;
}

std::string base_text(const Sensitivity& result) {
  std::string text = seconds_text(result.base.step) + " per step";
  if (result.base.run) text += ", " + duration_text(*result.base.run) + " in all";
  if (result.base.price_usd) text += ", " + dollars_text(Dollars{*result.base.price_usd});
  return text;
}

/// Both changes on one axis; less than nothing goes to the left.
AnswerBar bar_of(const SensitivityLever& lever, double scale) {
  const auto at = [&](double change) {
    const bool shown = scale > 0.0 && std::abs(change) >= too_small_to_show;
    return shown ? 0.5 + 0.5 * change / scale : 0.5;
  };
  AnswerBar bar{at(std::min({lever.low_change, lever.high_change, 0.0})),
                at(std::max({lever.low_change, lever.high_change, 0.0}))};
  bar.axis = 0.5;
  return bar;
}

AnswerTable tornado_table(const Sensitivity& result) {
  AnswerTable table{{words_column("input"),
                     number_column(fmt::format("-{:.0f} %", 100.0 * result.by)),
                     number_column(fmt::format("+{:.0f} %", 100.0 * result.by)),
                     words_column("change, less to the left")}};
  const double scale = widest(result);
  for (const SensitivityLever& lever : result.levers)
    table.add({lever.label, change_text(lever.low_change), change_text(lever.high_change),
               bar_of(lever, scale)});
  return table;
}

Json point_tree(const SensitivityPoint& point) {
  return {{"factor", point.factor},
          {"step_s", number_or_null(point.step.value())},
          {"per_sequence_s", number_or_null(point.per_sequence.value())},
          {"run_s", number_or_null(point.run ? std::optional(point.run->value()) : std::nullopt)},
          {"price_usd", number_or_null(point.price_usd)}};
}

AnswerHead sensitivity_head(const Sensitivity& result) {
  AnswerHead head;
  head.subject = result.name;
  head.words =
      fmt::format("{} when an input moves by {}", name_of(result.metric), percent_text(result.by));
  head.sentence = "As it is: " + base_text(result) + ".";
  for (std::size_t i = 0; i < std::min<std::size_t>(3, result.levers.size()); ++i) {
    const SensitivityLever& lever = result.levers[i];
    head.figures.push_back(
        {lever.label, change_text(lever.low_change) + " to " + change_text(lever.high_change)});
  }
  return head;
}

}  // namespace

Answer sensitivity_answer(const Sensitivity& result) {
  Answer answer{sensitivity_head(result)};
  answer.add("", tornado_table(result));
  AnswerSection notes;
  for (const SensitivityLever& lever : result.levers)
    if (std::abs(lever.high.factor - 1.0 - result.by) > 1e-9 ||
        std::abs(lever.low.factor - 1.0 + result.by) > 1e-9)
      notes.blocks.emplace_back(
          AnswerLine{fmt::format("{}: moved to {:.3f} and {:.3f} times, which the plan can divide.",
                                 lever.label, lever.low.factor, lever.high.factor)});
  for (const UnmovedInput& input : result.unmoved)
    notes.blocks.emplace_back(
        AnswerLine{fmt::format("{}: not moved, {}.", input.label, input.why)});
  notes.blocks.emplace_back(
      AnswerLine{"One input at a time, plan and everything else equal, closed form; interactions "
                 "are not shown."});
  answer.add(std::move(notes));
  return answer;
}

std::string sensitivity_json(const Sensitivity& result) {
  Json levers = Json::array();
  for (const SensitivityLever& lever : result.levers)
    levers.push_back({{"key", lever.key},
                      {"label", lever.label},
                      {"low", point_tree(lever.low)},
                      {"high", point_tree(lever.high)},
                      {"low_change", number_or_null(lever.low_change)},
                      {"high_change", number_or_null(lever.high_change)},
                      {"swing", number_or_null(lever.swing())}});
  Json unmoved = Json::array();
  for (const UnmovedInput& input : result.unmoved)
    unmoved.push_back({{"key", input.key}, {"label", input.label}, {"why", input.why}});
  return dump({{"schema", "sensitivity/1"},
               {"foretrain_version", version},
               {"name", result.name},
               {"metric", name_of(result.metric)},
               {"by", result.by},
               {"base", point_tree(result.base)},
               {"levers", std::move(levers)},
               {"unmoved", std::move(unmoved)}});
}

}  // namespace foretrain
