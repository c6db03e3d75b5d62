// SPDX-License-Identifier: Apache-2.0
// The closed form and the longest path through the task graph read one table of costs.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include "models/base/too_large.hpp"
#include "models/forecast/path_forecast.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/step/graph_build.hpp"
#include "models/step/path.hpp"
#include "models/step/step_exchanges.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/random_plans.hpp"

using namespace foretrain;

namespace {

StepCosts costs_of(const Job& job) {
  return step_costs(job, stage_layout(job.model, job.parallel));
}

Seconds path_seconds(const StepCosts& costs, Detail detail = Detail::pass) {
  const TaskGraph graph = build_graph(costs, step_schedule(costs), detail);
  return longest_path(graph).makespan * (1.0 + costs.jitter) * costs.release;
}

/// Costs of a pipeline whose stages take what is given for a forward and a backward pass.
StepCosts pipeline(ScheduleKind kind, int microbatches, const std::vector<double>& forward,
                   const std::vector<double>& backward) {
  StepCosts costs;
  costs.shape = {kind, static_cast<int>(forward.size()), 1, microbatches, 1};
  for (std::size_t s = 0; s < forward.size(); ++s) {
    PieceTimes times;
    times.forward.compute = Seconds{forward[s]};
    times.input_gradient.compute = Seconds{backward[s] / 2.0};
    times.weight_gradient.compute = Seconds{backward[s] / 2.0};
    costs.chunks.push_back(times);
    costs.stages.emplace_back();
  }
  return costs;
}

std::string plan_text(const Job& job) {
  const Parallel& plan = job.parallel;
  return std::string(name_of(plan.schedule)) + " t" + std::to_string(plan.tensor) + " p" +
         std::to_string(plan.pipeline) + " v" + std::to_string(plan.virtual_stages) + " d" +
         std::to_string(plan.data) + " z" + std::to_string(plan.zero) + " m" +
         std::to_string(job.microbatches()) + " layers " + std::to_string(job.model.layers);
}

}  // namespace

TEST_CASE("evaluators: closed form and path agree within 1 % on 10,000 random legal plans",
          "[models][path][property]") {
  test::RandomPlans plans{20261121};
  double worst = 0.0;
  std::string worst_plan;
  for (int i = 0; i < 10'000; ++i) {
    const Job job = plans.next();
    const StepCosts costs = costs_of(job);
    const double error = std::abs(step_seconds(costs) / path_seconds(costs) - 1.0);
    if (error > worst) {
      worst = error;
      worst_plan = plan_text(job);
    }
    if (error > 0.01) FAIL_CHECK(plan_text(job) << ": " << error);
  }
  INFO(worst_plan << ": " << worst);
  CHECK(worst < 0.01);
}

TEST_CASE("evaluators: the formulas are exact for equal stages", "[models][path]") {
  const int stages = GENERATE(1, 2, 5, 16);
  const int microbatches = GENERATE(1, 3, 16, 40);
  const auto kind = GENERATE(ScheduleKind::naive, ScheduleKind::gpipe, ScheduleKind::one_f_one_b);
  const auto count = static_cast<std::size_t>(stages);
  StepCosts costs = pipeline(kind, microbatches, std::vector<double>(count, 1.0),
                             std::vector<double>(count, 2.0));
  const double p = stages, m = microbatches;
  const double expected = kind == ScheduleKind::naive ? 3.0 * p * m : 3.0 * (m + p - 1.0);
  CHECK(step_seconds(costs).value() == Approx(expected).epsilon(1e-12));
  CHECK(path_seconds(costs).value() == Approx(expected).epsilon(1e-12));
  // Transfers: exact where nothing waits for two things at once.
  for (StageCosts& stage : costs.stages) stage.transfer = Seconds{0.09};
  const double close = kind == ScheduleKind::one_f_one_b ? 0.005 : 1e-12;
  CHECK(step_seconds(costs).value() == Approx(path_seconds(costs).value()).epsilon(close));
}

TEST_CASE("evaluators: both are monotone in every bandwidth and peak", "[models][path][property]") {
  test::RandomPlans plans{11};
  for (int i = 0; i < 300; ++i) {
    const Job job = plans.next();
    const StepCosts before = costs_of(job);
    for (int what = 0; what < 5; ++what) {
      Job faster = job;
      if (what == 0) faster.cluster.host.device.peak[Precision::bf16] *= 1.3;
      if (what == 1) faster.cluster.host.device.memory_bandwidth *= 1.3;
      if (what == 2) faster.cluster.host.gpu_link.bandwidth *= 1.3;
      if (what == 3) faster.cluster.network.nic_link.bandwidth *= 1.3;
      if (what == 4) faster.device_profile.attention.rate *= 1.3;
      const StepCosts after = costs_of(faster);
      INFO(plan_text(job) << " what " << what);
      // A zero-bubble order is fitted to the times; its heuristic may find a slightly worse one for
      // better times. For one order the path is monotone.
      const double slack = schedule_times(before).places.empty() ? 1e-9 : 0.01;
      CHECK(step_seconds(after) <= step_seconds(before) * (1.0 + slack));
      const Schedule order = step_schedule(before);
      CHECK(longest_path(build_graph(after, order)).makespan <=
            longest_path(build_graph(before, order)).makespan * (1.0 + 1e-9));
    }
  }
}

TEST_CASE("evaluators: finer graphs take the same time, but for buckets that wait with their pass",
          "[models][path][property]") {
  test::RandomPlans plans{13};
  for (int i = 0; i < 200; ++i) {
    Job job = plans.next();
    const double coarse = path_seconds(costs_of(job)).value();
    INFO(plan_text(job));
    CHECK(path_seconds(costs_of(job), Detail::layer).value() == Approx(coarse).epsilon(0.01));
    job.communication.overlap.gradients = false;
    const StepCosts costs = costs_of(job);
    const PieceOperators operators = piece_operators(job);
    const StageLayout layout = stage_layout(job.model, job.parallel);
    const StepExchanges exchanges = step_exchanges(job, layout, operators);
    const Schedule order = step_schedule(costs);
    const TaskGraph kernels = build_graph(costs, order, Detail::op, &operators, &exchanges);
    const double exact = path_seconds(costs).value();
    CHECK(path_seconds(costs, Detail::layer).value() == Approx(exact).epsilon(1e-9));
    CHECK((longest_path(kernels).makespan * (1.0 + costs.jitter) * costs.release).value() ==
          Approx(exact).epsilon(1e-6));
  }
}

TEST_CASE("path: the critical path has no gaps and ends with the step", "[models][path]") {
  test::RandomPlans plans{17};
  for (int i = 0; i < 50; ++i) {
    const StepCosts costs = costs_of(plans.next());
    const TaskGraph graph = build_graph(costs, step_schedule(costs), Detail::layer);
    const Timeline timeline = longest_path(graph);
    Seconds clock;
    for (const std::uint32_t id : critical_path(graph, timeline)) {
      CHECK(timeline.start[id] == clock);
      clock = timeline.end[id];
    }
    CHECK(clock == *std::max_element(timeline.end.begin(), timeline.end.end()));
  }
}

TEST_CASE("graph: ids are in topological order and streams never run two tasks at once",
          "[models][path][property]") {
  test::RandomPlans plans{19};
  for (int i = 0; i < 50; ++i) {
    const StepCosts costs = costs_of(plans.next());
    const TaskGraph graph = build_graph(costs, step_schedule(costs), Detail::layer);
    const Timeline timeline = longest_path(graph);
    REQUIRE(graph.first.size() == graph.tasks.size() + 1);
    std::vector<Seconds> free(static_cast<std::size_t>(graph.ranks) * 6);
    for (std::uint32_t id = 0; id < graph.tasks.size(); ++id) {
      for (const std::uint32_t before : graph.before(id)) REQUIRE(before < id);
      const Task& task = graph.tasks[id];
      Seconds& stream =
          free[static_cast<std::size_t>(task.rank) * 6 + static_cast<std::size_t>(task.stream)];
      REQUIRE(timeline.start[id] >= stream);
      stream = timeline.end[id];
    }
  }
}

TEST_CASE("evaluators: a folded path is the path, part by part", "[models][path][property]") {
  test::RandomPlans plans{20261122};
  for (int i = 0; i < 8; ++i) {
    Job job = plans.next();
    const StageLayout layout = stage_layout(job.model, job.parallel);
    // Past the number of passes from which a step is folded, in whole periods of any schedule.
    const int pieces = job.parallel.pipeline * costs_of(job).shape.chunks;
    const int periods = 2 * job.parallel.pipeline * costs_of(job).shape.group;
    const int microbatches = (300'000 / pieces / periods + 1) * periods;
    job.training.global_batch = microbatches * job.training.micro_batch * job.parallel.data;
    CAPTURE(plan_text(job));
    const StepForecast folded = path_step(job, layout);
    const StepForecast whole = step_forecast(step_path(job, layout));
    CHECK(folded.time.value() == Approx(whole.time.value()).epsilon(1e-6));
    CHECK(folded.breakdown.total().value() == Approx(folded.time.value()).epsilon(1e-12));
    const double close = 1e-6 * whole.time.value();
    CHECK(folded.breakdown.compute.value() ==
          Approx(whole.breakdown.compute.value()).margin(close));
    CHECK(folded.breakdown.bubble.value() == Approx(whole.breakdown.bubble.value()).margin(close));
    CHECK(folded.breakdown.data.value() == Approx(whole.breakdown.data.value()).margin(close));
    CHECK(folded.breakdown.pipeline.value() ==
          Approx(whole.breakdown.pipeline.value()).margin(close));
  }
}

TEST_CASE("evaluators: a step of a billion sequences takes no more memory than one of thousands",
          "[models][path]") {
  test::RandomPlans plans{1};
  Job job = plans.next();
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const int periods = 2 * job.parallel.pipeline * costs_of(job).shape.group;
  const int once = periods * job.training.micro_batch * job.parallel.data;
  job.training.global_batch = 1'000'000'000 / once * once;
  CHECK(path_step(job, layout).time.value() ==
        Approx(step_seconds(costs_of(job)).value()).epsilon(0.01));
  CHECK_THROWS_AS(step_path(job, layout), TooLarge);
}
