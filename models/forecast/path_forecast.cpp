// SPDX-License-Identifier: Apache-2.0
#include "models/forecast/path_forecast.hpp"

#include <cmath>
#include <cstdint>
#include <optional>

#include "models/base/too_large.hpp"
#include "models/forecast/closed_form.hpp"
#include "models/schedules/schedule.hpp"
#include "models/step/graph_build.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_schedule.hpp"

namespace foretrain {

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
