// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep_metrics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "planner/forecast/internal/prediction_tree.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {
namespace {

using Number = std::optional<double>;

template <Seconds TimeBreakdown::*part>
Number breakdown(const Prediction& p) {
  return p.step ? Number((p.step->breakdown.*part).value()) : Number{};
}
template <Seconds StepForecast::*member>
Number step(const Prediction& p) {
  return p.step ? Number(((*p.step).*member).value()) : Number{};
}
template <Bytes MemoryForecast::*member>
Number memory(const Prediction& p) {
  return p.memory ? Number(((*p.memory).*member).value()) : Number{};
}
template <double Efficiency::*member>
Number efficiency(const Prediction& p) {
  return p.efficiency ? Number((*p.efficiency).*member) : Number{};
}
template <std::optional<double> RunForecast::*member>
Number run_number(const Prediction& p) {
  return p.run.*member;
}
template <std::optional<Seconds> RunForecast::*member>
Number run_time(const Prediction& p) {
  return p.run.*member ? Number((p.run.*member)->value()) : Number{};
}

/// Kept equal to the JSON by a test.
constexpr std::array<std::pair<std::string_view, Number (*)(const Prediction&)>, 34> direct = {{
    {"memory.capacity_bytes", memory<&MemoryForecast::capacity>},
    {"memory.usable_bytes", memory<&MemoryForecast::usable>},
    {"memory.peak_bytes", memory<&MemoryForecast::peak>},
    {"memory.peak_stage",
     [](const Prediction& p) { return p.memory ? Number(p.memory->peak_stage) : Number{}; }},
    {"step.time_s", step<&StepForecast::time>},
    {"step.low_s", step<&StepForecast::low>},
    {"step.high_s", step<&StepForecast::high>},
    {"step.breakdown.compute_s", breakdown<&TimeBreakdown::compute>},
    {"step.breakdown.recompute_s", breakdown<&TimeBreakdown::recompute>},
    {"step.breakdown.tensor_s", breakdown<&TimeBreakdown::tensor>},
    {"step.breakdown.context_s", breakdown<&TimeBreakdown::context>},
    {"step.breakdown.expert_s", breakdown<&TimeBreakdown::expert>},
    {"step.breakdown.pipeline_s", breakdown<&TimeBreakdown::pipeline>},
    {"step.breakdown.bubble_s", breakdown<&TimeBreakdown::bubble>},
    {"step.breakdown.data_s", breakdown<&TimeBreakdown::data>},
    {"step.breakdown.optimizer_s", breakdown<&TimeBreakdown::optimizer>},
    {"step.breakdown.input_s", breakdown<&TimeBreakdown::input>},
    {"step.breakdown.launch_s", breakdown<&TimeBreakdown::launch>},
    {"step.breakdown.imbalance_s", breakdown<&TimeBreakdown::imbalance>},
    {"flops.model_per_step",
     [](const Prediction& p) {
       return p.flops ? Number(p.flops->model_per_step.value()) : Number{};
     }},
    {"flops.hardware_per_step",
     [](const Prediction& p) {
       return p.flops ? Number(p.flops->hardware_per_step.value()) : Number{};
     }},
    {"mfu", efficiency<&Efficiency::mfu>},
    {"hfu", efficiency<&Efficiency::hfu>},
    {"tokens_per_s", efficiency<&Efficiency::tokens_per_s>},
    {"tokens_per_s_per_gpu", efficiency<&Efficiency::tokens_per_s_per_gpu>},
    {"model_tflops_per_gpu", efficiency<&Efficiency::model_tflops_per_gpu>},
    {"run.tokens", run_number<&RunForecast::tokens>},
    {"run.steps", run_number<&RunForecast::steps>},
    {"run.ideal_s", run_time<&RunForecast::ideal>},
    {"run.expected_s", run_time<&RunForecast::expected>},
    {"run.goodput", run_number<&RunForecast::goodput>},
    {"cost.gpu_hours", [](const Prediction& p) { return p.cost.gpu_hours; }},
    {"cost.usd",
     [](const Prediction& p) { return p.cost.price ? Number(p.cost.price->value()) : Number{}; }},
    {"cost.co2_kg", [](const Prediction& p) { return p.cost.co2_kg; }},
}};

/// "memory.stages.12.peak_bytes" -> "memory.stages.0.peak_bytes": a path of any plan.
std::string of_any_stage(const std::string& path) {
  constexpr std::string_view stages = "memory.stages.";
  if (!path.starts_with(stages)) return path;
  const std::size_t end = path.find('.', stages.size());
  const std::string number = path.substr(stages.size(), end - stages.size());
  const bool digits =
      !number.empty() && number.size() < 6 &&
      std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
      (number.size() == 1 || number.front() != '0');
  return digits && end != std::string::npos ? std::string(stages) + "0" + path.substr(end) : path;
}

Number from_tree(const Json& tree, const std::string& path) {
  const Json* value = find_path(tree, path);
  return value != nullptr && value->is_number() ? Number(value->get<double>()) : Number{};
}

}  // namespace

bool more_is_better(std::string_view path) {
  constexpr std::array<std::string_view, 6> names{"mfu",
                                                  "hfu",
                                                  "tokens_per_s",
                                                  "tokens_per_s_per_gpu",
                                                  "model_tflops_per_gpu",
                                                  "run.meets_deadline"};
  return std::find(names.begin(), names.end(), path) != names.end() ||
         path.starts_with("run.goodput");
}

std::vector<std::string> default_metrics() {
  return {"step.time_s",       "step.low_s",  "step.high_s",    "mfu",     "tokens_per_s",
          "memory.peak_bytes", "run.ideal_s", "cost.gpu_hours", "cost.usd"};
}

std::vector<std::string> split_metrics(const std::string& list) {
  std::vector<std::string> names(1);
  for (const char c : list) {
    if (c == ',')
      names.emplace_back();
    else if (c != ' ')
      names.back() += c;
  }
  if (std::find(names.begin(), names.end(), "") != names.end())
    throw UsageError("--metrics: a name is empty; write for example step.time_s,mfu");
  return names;
}

SweepMetrics::SweepMetrics(std::vector<std::string> paths) : paths_(std::move(paths)) {
  if (paths_.empty()) throw UsageError("--metrics: no name is given");
  const std::vector<std::string> known = number_paths();
  for (const std::string& path : paths_) {
    if (std::find(known.begin(), known.end(), of_any_stage(path)) == known.end())
      throw UsageError("--metrics: " + in_quotes(path) +
                       " is not a number of the forecast (foretrain explain SCENARIO lists them)" +
                       nearest_hint(path, known));
    if (std::count(paths_.begin(), paths_.end(), path) > 1)
      throw UsageError("--metrics: " + path + " is listed twice");
    const auto found = std::find_if(direct.begin(), direct.end(),
                                    [&](const auto& entry) { return entry.first == path; });
    getters_.push_back(found == direct.end() ? nullptr : found->second);
  }
}

std::vector<std::optional<double>> SweepMetrics::of(const Prediction& prediction) const {
  std::vector<Number> result;
  std::optional<Json> tree;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (getters_[i] == nullptr && !tree) {
      Report report;
      report.prediction = prediction;
      tree = known_tree(report);
    }
    Number value = getters_[i] ? getters_[i](prediction) : from_tree(*tree, paths_[i]);
    if (value && !std::isfinite(*value)) value.reset();
    result.push_back(value);
  }
  return result;
}

}  // namespace foretrain
