// SPDX-License-Identifier: Apache-2.0

#include "models/forecast/path_forecast.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "models/base/too_large.hpp"
#include "models/forecast/closed_form.hpp"
#include "models/schedules/schedule.hpp"
#include "models/step/graph_build.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_exchanges.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {
namespace {

constexpr double slow_network = 0.5;  // of the rate expected where nobody measured
// All-reduce of 512 MiB by four and eight GPUs of a host without peer-to-peer transfers: 5.2 and
// 1.45 GB/s, where pairs have 20 (nccl_sweeps.csv, ar_l40sx*_half_aic).
constexpr double slow_pcie_four = 0.22;
constexpr double slow_pcie_eight = 0.06;
constexpr double slow_host = 2.0;     // launches: one generation of processors
constexpr double slow_routing = 1.5;  // kernels around experts, fused or not
constexpr double slow_grouped = 1.1;  // products of few tokens per expert

}  // namespace

SlowerStep::SlowerStep(const Job& job)
    : job_{job}, layout_{stage_layout(job.model, job.parallel)}, expected_{seconds(job)} {}

double SlowerStep::network() const {
  Job slow = job_;
  for (double* share : {&slow.site.across.share, &slow.site.lone_share, &slow.site.send_share})
    *share *= slow_network;
  return longer(slow);
}

double SlowerStep::pcie() const {
  const Host& host = job_.cluster.host;
  if (host.scale_up != ScaleUpKind::pcie || host.gpus <= 2) return 0.0;
  Job slow = job_;
  slow.cluster.host.gpu_link.bandwidth *= host.gpus <= 4 ? slow_pcie_four : slow_pcie_eight;
  return longer(slow);
}

double SlowerStep::launches() const {
  Job slow = job_;
  StackTimes& times = slow.stack.times;
  for (Seconds* time : {&times.launch_forward, &times.launch_backward, &times.launch_tensor,
                        &times.layer_fixed, &times.head_fixed, &times.expert_latency})
    *time *= slow_host;
  return longer(slow);
}

double SlowerStep::experts() const {
  if (!job_.model.moe) return 0.0;
  Job slow = job_;
  slow.stack.times.expert_elementwise *= slow_routing;
  slow.stack.times.grouped_product *= slow_grouped;
  return longer(slow);
}

double SlowerStep::routing() const {
  if (!job_.model.moe) return 0.0;
  Job forced = job_;
  forced.training.moe_imbalance = 1.0;
  return std::max(0.0, 1.0 - seconds(forced) / expected_);
}

Seconds SlowerStep::seconds(const Job& job) const { return step_seconds(step_costs(job, layout_)); }

double SlowerStep::longer(const Job& slow) const {
  return std::max(0.0, seconds(slow) / expected_ - 1.0);
}

namespace {

/// Steps of more passes than this are folded.
constexpr std::int64_t most_passes = 500'000;

std::int64_t passes_of(const ScheduleShape& shape) {
  return std::int64_t{2} * shape.stages * shape.chunks * shape.microbatches;
}

StepPath path_of(const StepCosts& costs, Detail detail = Detail::pass,
                 const PieceOperators* operators = nullptr,
                 const StepExchanges* exchanges = nullptr) {
  StepPath path;
  path.graph = build_graph(costs, step_schedule(costs), detail, operators, exchanges);
  path.timeline = longest_path(path.graph);
  path.jitter = costs.jitter;
  path.release = costs.release;
  return path;
}

/// `part` + `times` (`part` - `less`); what differs by rounding alone does not grow.
Seconds continued(Seconds part, Seconds less, double times) {
  constexpr double rounding = 1e-11;
  const Seconds more = part - less;
  if (std::abs(more.value()) <= rounding * std::abs(part.value())) return part;
  return max(Seconds{}, part + times * more);
}

}  // namespace

StepPath step_path(const Job& job, const StageLayout& layout, Detail detail) {
  const StepCosts costs = step_costs(job, layout);
  refuse_too_large(passes_of(costs.shape), costs.shape);
  const PieceOperators operators = piece_operators(job);
  const StepExchanges exchanges = step_exchanges(job, layout, operators);
  return path_of(costs, detail, &operators, &exchanges);
}

StepForecast step_forecast(const StepPath& path) {
  return attribute(path.graph, path.timeline, path.jitter, path.release);
}

StepForecast path_step(const Job& job, const StageLayout& layout) {
  StepCosts costs = step_costs(job, layout);
  const auto fold =
      passes_of(costs.shape) > most_passes ? fold_of(costs.shape) : std::optional<ScheduleFold>{};
  if (!fold) return step_forecast(path_of(costs));
  costs.shape = fold->longer;
  StepForecast step = step_forecast(path_of(costs));
  costs.shape = fold->shorter;
  const StepForecast less = step_forecast(path_of(costs));
  for (const auto part : time_parts)
    step.breakdown.*part = continued(step.breakdown.*part, less.breakdown.*part, fold->times);
  step.updating = continued(step.updating, less.updating, fold->times);
  step.time = step.breakdown.total();
  step.low = step.high = step.time;
  return step;
}

Prediction path_forecast(const Job& job, AttentionFlops convention) {
  Prediction prediction = forecast(job, convention, [](const Job& plan, const StageLayout& layout) {
    return path_step(plan, layout);
  });
  prediction.engine = EngineKind::path;
  return prediction;
}

}  // namespace foretrain
