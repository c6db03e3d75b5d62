// SPDX-License-Identifier: Apache-2.0
// Schedules against published runs that give the time of every stage (arXiv 2411.05288, artifact).
#include <yaml-cpp/yaml.h>
#include <catch2/catch.hpp>

#include <cmath>
#include <string>

#include "models/step/graph_build.hpp"
#include "models/step/path.hpp"
#include "models/step/step_time.hpp"

using namespace foretrain;

namespace {

/// One micro-batch through each stage as measured, and nothing else: no transfers, no optimizer.
StepCosts measured_stages(const YAML::Node& run) {
  const YAML::Node forward = run["measured"]["stage_forward_us"];
  const YAML::Node backward = run["measured"]["stage_backward_us"];
  StepCosts costs;
  costs.shape.kind = ScheduleKind::one_f_one_b;
  costs.shape.stages = static_cast<int>(forward.size());
  costs.shape.microbatches = run["grad_accum"].as<int>();
  for (std::size_t stage = 0; stage < forward.size(); ++stage) {
    PieceTimes times;
    times.forward.compute = forward[stage].as<double>() * us;
    times.input_gradient.compute = backward[stage].as<double>() * us;
    costs.chunks.push_back(times);
    costs.stages.emplace_back();
  }
  return costs;
}

}  // namespace

TEST_CASE("schedules: 1F1B of the measured stage times gives the measured iteration within 2 %",
          "[models][schedule][measured]") {
  const YAML::Node file = YAML::LoadFile(FORETRAIN_SOURCE_DIR "/calibration/measured/runs.yaml");
  int checked = 0;
  for (const YAML::Node& run : file["runs"]) {
    const auto id = run["id"].as<std::string>();
    // `base` and `redis` run plain 1F1B; the others put vocabulary passes between its passes.
    if (id.rfind("vocabpar-base", 0) != 0 && id.rfind("vocabpar-redis", 0) != 0) continue;
    const StepCosts costs = measured_stages(run);
    const auto measured = run["measured"]["iteration_s"].as<double>();
    CAPTURE(id, measured);
    CHECK(step_seconds(costs).value() == Approx(measured).epsilon(0.02));
    const TaskGraph graph = build_graph(costs, make_schedule(costs.shape));
    CHECK(longest_path(graph).makespan.value() == Approx(measured).epsilon(0.02));
    ++checked;
  }
  CHECK(checked == 16);
}
