// SPDX-License-Identifier: Apache-2.0
#include "models/path_forecast.hpp"

#include "models/forecast.hpp"
#include "models/graph_build.hpp"
#include "models/step_costs.hpp"
#include "models/step_schedule.hpp"

namespace foretrain {

StepPath step_path(const Job& job, const StageLayout& layout, Detail detail) {
  const StepCosts costs = step_costs(job, layout);
  const Schedule schedule = step_schedule(costs);
  StepPath path;
  if (detail == Detail::op) {
    const PieceOperators operators = piece_operators(job, layout);
    path.graph = build_graph(costs, schedule, detail, &operators);
  } else {
    path.graph = build_graph(costs, schedule, detail);
  }
  path.timeline = longest_path(path.graph);
  path.jitter = costs.jitter;
  path.release = costs.release;
  return path;
}

StepForecast step_forecast(const StepPath& path) {
  return attribute(path.graph, path.timeline, path.jitter, path.release);
}

Prediction path_forecast(const Job& job, AttentionFlops convention) {
  Prediction prediction = forecast(job, convention, [](const Job& plan, const StageLayout& layout) {
    return step_forecast(step_path(plan, layout));
  });
  prediction.engine = EngineKind::path;
  return prediction;
}

}  // namespace foretrain
