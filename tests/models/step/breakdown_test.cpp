// SPDX-License-Identifier: Apache-2.0
// Where a step's time goes: what the closed form and the path say, and what it means.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "models/forecast/path_forecast.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/schedules/registry.hpp"
#include "models/step/data_loading.hpp"
#include "models/step/graph_build.hpp"
#include "models/step/path.hpp"
#include "models/step/step_exchanges.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/random_plans.hpp"
#include "tests/models/step/breakdown_parts.hpp"

using namespace foretrain;

namespace {

StepCosts costs_of(const Job& job) {
  return step_costs(job, stage_layout(job.model, job.parallel));
}

StepForecast path_step(const StepCosts& costs) {
  const TaskGraph graph = build_graph(costs, step_schedule(costs));
  return attribute(graph, longest_path(graph), costs.jitter, costs.release);
}

struct Shape {
  ScheduleKind kind = ScheduleKind::one_f_one_b;
  int stages = 4;
  int chunks = 1;
  int microbatches = 8;
};

/// Costs of a pipeline of equal chunks: f forward, i and w for the two halves of the backward pass.
StepCosts pipeline(const Shape& shape, double f, double i, double w) {
  StepCosts costs;
  const int group = shape.kind == ScheduleKind::interleaved ? shape.stages : 1;
  costs.shape = {shape.kind, shape.stages, shape.chunks, shape.microbatches, group};
  costs.staggered = traits_of(shape.kind).staggered;
  PieceTimes times;
  times.forward.compute = Seconds{f};
  times.input_gradient.compute = Seconds{i};
  times.weight_gradient.compute = Seconds{w};
  costs.chunks.assign(
      static_cast<std::size_t>(shape.stages) * static_cast<std::size_t>(shape.chunks), times);
  costs.stages.resize(static_cast<std::size_t>(shape.stages));
  return costs;
}

/// Mean over the stages of the time in which a stage runs no pass, of a timeline.
Seconds idle(const TaskGraph& graph, const Timeline& timeline) {
  Seconds busy;
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id)
    if (graph.tasks[id].kind == TaskKind::compute) busy += timeline.end[id] - timeline.start[id];
  return timeline.makespan - busy / static_cast<double>(graph.ranks);
}

}  // namespace

TEST_CASE("breakdown: the bubble of equal stages is the published one", "[models][breakdown]") {
  // SC21 (arXiv 2104.04473) section 2.2: (p-1)(f+b), interleaved over v chunks (p-1)(f+b)/v;
  // zero bubble (arXiv 2401.10241) sections 2.1 and 2.2: (p-1)(f+i-w) and (p-1)(f+i-2w).
  const double f = 1.0, i = 1.25, w = 0.5;
  const auto [shape, expected] = GENERATE_COPY(table<Shape, double>({
      {Shape{ScheduleKind::one_f_one_b, 4, 1, 8}, 3.0 * (f + i + w)},
      {Shape{ScheduleKind::gpipe, 4, 1, 8}, 3.0 * (f + i + w)},
      {Shape{ScheduleKind::naive, 4, 1, 8}, 3.0 * 8.0 * (f + i + w)},
      {Shape{ScheduleKind::interleaved, 4, 2, 8}, 3.0 * (f + i + w)},
      {Shape{ScheduleKind::one_f_one_b, 1, 1, 8}, 0.0},
  }));
  const StepCosts costs = pipeline(shape, f, i, w);
  CAPTURE(name_of(shape.kind));
  CHECK(step_time(costs).breakdown.bubble.value() == Approx(expected).margin(1e-12));
  CHECK(path_step(costs).breakdown.bubble.value() == Approx(expected).margin(1e-12));
}

TEST_CASE("breakdown: without transfers and traffic the bubble is the idle time of the chart",
          "[models][breakdown]") {
  // The mean over stages of what a chart leaves grey, whatever the schedule and however uneven.
  const auto kind = GENERATE(ScheduleKind::gpipe, ScheduleKind::one_f_one_b,
                             ScheduleKind::interleaved, ScheduleKind::zb_h1, ScheduleKind::zb_v,
                             ScheduleKind::v_half, ScheduleKind::v_min, ScheduleKind::dualpipe);
  const bool two = traits_of(kind).chunks != 1;
  StepCosts costs = pipeline({kind, 4, two ? 2 : 1, 12}, 1.0, 1.2, 0.7);
  costs.chunks.back().forward.compute = Seconds{1.6};
  costs.chunks.back().weight_gradient.compute = Seconds{1.1};
  const TaskGraph graph = build_graph(costs, step_schedule(costs));
  const Timeline timeline = longest_path(graph);
  const double expected = idle(graph, timeline).value();
  CAPTURE(name_of(kind));
  CHECK(expected > 0.0);
  CHECK(path_step(costs).breakdown.bubble.value() == Approx(expected).epsilon(1e-12));
  CHECK(step_time(costs).breakdown.bubble.value() == Approx(expected).epsilon(1e-9));
}

TEST_CASE("breakdown: waiting for a stage with more work is bubble", "[models][breakdown]") {
  // Stage 1 takes twice as long: 3 for each of ten micro-batches. Stage 0 works 10 x 1.5 = 15, the
  // step lasts 0.5 (first forward pass) + 30 + 1 (last backward pass): 31.5 - (15 + 30) / 2.
  StepCosts costs = pipeline({ScheduleKind::one_f_one_b, 2, 1, 10}, 0.5, 0.5, 0.5);
  for (TimeParts* part : {&costs.chunks[1].forward, &costs.chunks[1].input_gradient,
                          &costs.chunks[1].weight_gradient})
    part->compute = Seconds{1.0};
  for (const StepForecast& step : {step_time(costs), path_step(costs)}) {
    CHECK(step.time.value() == Approx(31.5));
    CHECK(step.breakdown.bubble.value() == Approx(31.5 - 22.5));
    CHECK(step.breakdown.imbalance == Seconds{});
  }
}

TEST_CASE("breakdown: neither links nor data-parallel traffic change the bubble",
          "[models][breakdown][property]") {
  // It is what the order of passes leaves idle; what links add is told beside it.
  test::AllPlans plans{3};
  for (int n = 0; n < 100; ++n) {
    const Job job = plans.next();
    const StepCosts costs = costs_of(job);
    if (!schedule_times(costs).places.empty()) continue;  // links change a fitted order
    StepCosts other = costs;
    for (StageCosts& stage : other.stages) stage.transfer *= 0.9;
    for (ChunkTraffic& chunk : other.traffic) {
      chunk.gradients *= 3.0;
      chunk.weights *= 3.0;
    }
    CAPTURE(test::plan_text(job));
    const double bubble = path_step(costs).breakdown.bubble.value();
    CHECK(path_step(other).breakdown.bubble.value() == Approx(bubble).epsilon(1e-12));
    CHECK(step_time(other).breakdown.bubble.value() ==
          Approx(step_time(costs).breakdown.bubble.value()).epsilon(1e-9).margin(1e-9));
  }
}

TEST_CASE("breakdown: faster links shorten transfers alone", "[models][breakdown]") {
  StepCosts costs = pipeline({ScheduleKind::one_f_one_b, 4, 1, 8}, 1.0, 1.0, 1.0);
  for (StageCosts& stage : costs.stages) stage.transfer = Seconds{0.05};
  costs.traffic.resize(4);
  costs.traffic[0].gradients = Seconds{0.7};
  costs.stages[1].optimizer = Seconds{0.2};
  costs.constant = Seconds{0.1};
  costs.jitter = 0.01;
  costs.release = 1.1;
  for (const StepForecast& step : {step_time(costs), path_step(costs)}) {
    const TimeBreakdown& parts = step.breakdown;
    CHECK(parts.compute.value() == Approx(1.1 * 24.0));
    CHECK(parts.bubble.value() == Approx(1.1 * 9.0));
    CHECK(parts.pipeline > Seconds{1.1 * 2.0 * 3.0 * 0.05 * 0.999});
    CHECK(parts.optimizer.value() == Approx(1.1 * 0.2));
    CHECK(parts.launch.value() == Approx(1.1 * 0.1));
    CHECK(parts.imbalance.value() == Approx(0.01 / 1.01 * step.time.value()));
    CHECK(parts.data.value() == Approx(1.1 * 0.7));
  }
}

TEST_CASE("breakdown: closed form and path agree within 1 % of the step on 2,000 random plans",
          "[models][breakdown][property]") {
  test::AllPlans plans{20261122};
  double worst = 0.0;
  std::string worst_part;
  for (int n = 0; n < 2000; ++n) {
    const Job job = plans.next();
    const StepCosts costs = costs_of(job);
    const auto [error, part] = test::largest_difference(step_time(costs), path_step(costs));
    const std::string text = test::plan_text(job) + ": " + part + " " + std::to_string(error);
    if (error > worst) {
      worst = error;
      worst_part = text;
    }
    if (error > 0.01) FAIL_CHECK(text);
  }
  INFO(worst_part);
  CHECK(worst < 0.01);
  for (const ScheduleKind kind : test::pipelined_schedules) {
    CAPTURE(name_of(kind));
    CHECK(plans.drawn(kind) > 40);
  }
  CHECK(plans.with_context > 200);
  CHECK(plans.with_experts > 150);
  CHECK(plans.with_data > 1000);
  CHECK(plans.without_data > 200);
}

TEST_CASE("breakdown: parts are never negative and add up to the step to the last bit",
          "[models][breakdown][property]") {
  test::AllPlans plans{7};
  for (int n = 0; n < 500; ++n) {
    const Job job = plans.next();
    const StepCosts costs = costs_of(job);
    CAPTURE(test::plan_text(job));
    const StepForecast closed = step_time(costs);
    CHECK(closed.time == step_seconds(costs));
    StepForecast waiting = closed;
    Job hungry = job;
    hungry.operations.loading = {1, 1e3, std::nullopt};
    std::vector<Warning> warnings;
    add_input(hungry, waiting, warnings);
    for (const StepForecast& step : {closed, path_step(costs), waiting}) {
      for (const auto& [name, part] : test::breakdown_parts) {
        CAPTURE(name);
        CHECK(step.breakdown.*part >= Seconds{});
      }
      CHECK(step.breakdown.total() == step.time);
    }
    CHECK((waiting.breakdown.input > Seconds{}) == !warnings.empty());
  }
}
