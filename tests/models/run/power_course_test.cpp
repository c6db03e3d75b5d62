// SPDX-License-Identifier: Apache-2.0
// Watts over a step: what the course adds up to, what meters see of it, what hosts add.
#include "models/run/power_course.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <numeric>

#include "models/forecast/path_forecast.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/example_job.hpp"
#include "tests/models/random_plans.hpp"

using namespace foretrain;

namespace {

const GpuPower table{Watts{700.0}, Watts{500.0}, Watts{600.0}, Watts{300.0},
                     Watts{100.0}, Watts{100.0}, true,         true};

/// One stage: a pass of 4 s (2.5 s of kernels, 1 s of exchanges, half a second of launches), and an
/// optimizer of 1 s from second 6 to 7.
TaskGraph pass_and_update() {
  TaskGraph graph;
  graph.ranks = 1;
  TaskCost pass;
  pass.duration = Seconds{4.0};
  pass.parts.compute = Seconds{2.0};
  pass.parts.recompute = Seconds{0.5};
  pass.parts.launch = Seconds{0.5};
  pass.parts.tensor = Seconds{1.0};
  TaskCost update;
  update.duration = Seconds{1.0};
  graph.costs = {pass, update};
  Task forward;
  forward.micro = 0;
  Task optimizer;
  optimizer.role = TaskRole::optimizer;
  optimizer.cost = 1;
  graph.tasks = {forward, optimizer};
  graph.first = {0, 0, 0};
  return graph;
}

Timeline times() {
  return {{Seconds{0.0}, Seconds{6.0}}, {Seconds{4.0}, Seconds{7.0}}, Seconds{7.0}};
}

Watts mean_of(const std::vector<Watts>& course) {
  return std::accumulate(course.begin(), course.end(), Watts{}) /
         static_cast<double>(course.size());
}

}  // namespace

TEST_CASE("power: kernels, optimizer and waiting draw their own watts", "[models][power]") {
  const GpuCourse course =
      gpu_course(pass_and_update(), times(), 1.0, Seconds{8.0}, table, Seconds{1.0});
  REQUIRE(course.samples() == 8);
  // A pass draws (2.5 x 700 + 600 + 0.5 x 100) / 4 W.
  const double expected[] = {600.0, 600.0, 600.0, 600.0, 300.0, 300.0, 500.0, 300.0};
  for (std::size_t i = 0; i < 8; ++i) CHECK(course.stages[0][i].value() == Approx(expected[i]));
}

TEST_CASE("power: stretches are no longer than asked and keep the step's energy",
          "[models][power]") {
  const GpuCourse course =
      gpu_course(pass_and_update(), times(), 1.0, Seconds{8.0}, table, Seconds{0.3});
  CHECK(course.samples() == 27);
  CHECK(course.sample.value() * 27.0 == Approx(8.0));
  // 4 s of a pass, 1 s of the optimizer, 3 s of waiting.
  CHECK(mean_of(course.stages[0]).value() * 8.0 == Approx(4.0 * 600.0 + 500.0 + 3.0 * 300.0));
}

TEST_CASE("power: a step of years has as many samples as one of minutes", "[models][power]") {
  const Seconds longest{GENERATE(1e4, 1e9, 1e33)};
  const GpuCourse course =
      gpu_course(pass_and_update(), times(), 1.0, longest, table, Seconds{1e-3});
  CHECK(course.samples() == 2'000'000);
  CHECK(course.sample.value() * 2e6 == Approx(longest.value()));
  // Beyond waiting: 4 s of a pass, 1 s of the optimizer.
  if (longest == Seconds{1e4}) {
    CHECK((mean_of(course.stages[0]).value() - 300.0) * 1e4 == Approx(4.0 * 300.0 + 200.0));
  }
}

TEST_CASE("power: what release adds stretches tasks, what stragglers add is waiting",
          "[models][power]") {
  const GpuCourse course =
      gpu_course(pass_and_update(), times(), 2.0, Seconds{16.0}, table, Seconds{1.0});
  CHECK(course.stages[0][7].value() == Approx(600.0));
  CHECK(course.stages[0][8].value() == Approx(300.0));
  CHECK(course.stages[0][13].value() == Approx(500.0));
  CHECK(course.stages[0][15].value() == Approx(300.0));
}

TEST_CASE("power: over a step the course adds up to the mean of forecasts", "[models][power]") {
  Job job = test::llama2_70b_job();
  job.cluster.host.device.power_limit = Watts{700.0};
  job.operations.power.pue = 1.2;
  job.operations.power.network = Watts{300.0};
  const StageLayout layout = stage_layout(job.model, job.parallel);
  for (const Detail detail : {Detail::pass, Detail::layer, Detail::op}) {
    const StepPath path = step_path(job, layout, detail);
    const StepForecast step = step_forecast(path);
    const GpuCourse gpus =
        gpu_course(path.graph, path.timeline, path.release, step.time, gpu_power(job), 1.0 * ms);
    const PowerCourse course = power_course(job, gpus);
    CHECK(mean_of(course.site).value() == Approx(training_power(job, step).value()).epsilon(1e-9));
    const Watts closed = training_power(job, step_time(job, layout));
    CHECK(mean_of(course.site).value() == Approx(closed.value()).epsilon(0.003));
  }
}

TEST_CASE("power: course and closed form have the same energy for random plans",
          "[models][power]") {
  test::RandomPlans plans{20261128};
  for (int i = 0; i < 40; ++i) {
    Job job = plans.next();
    job.cluster.host.device.power_limit = Watts{700.0};
    const StageLayout layout = stage_layout(job.model, job.parallel);
    const StepPath path = step_path(job, layout);
    const StepForecast step = step_forecast(path);
    const GpuCourse gpus = gpu_course(path.graph, path.timeline, path.release, step.time,
                                      gpu_power(job), step.time / 200.0);
    CAPTURE(i);
    CHECK(mean_of(power_course(job, gpus).site).value() ==
          Approx(training_power(job, step).value()).epsilon(1e-9));
    // What kernels take does not depend on how passes are put together.
    const Joules here =
        step.time * mean_power(gpu_power(job), step) - step.time * gpu_power(job).waiting;
    const StepForecast closed = step_time(job, layout);
    const Joules there =
        closed.time * mean_power(gpu_power(job), closed) - closed.time * gpu_power(job).waiting;
    CHECK(here.value() == Approx(there.value()).epsilon(1e-9));
  }
}

TEST_CASE("power: a meter sees means of its window, over the end of a step into the next",
          "[models][power]") {
  const std::vector<Watts> course{Watts{10.0}, Watts{20.0}, Watts{60.0}};
  const auto two = seen_by_meter(course, Seconds{0.5}, Seconds{1.0});
  CHECK(two == std::vector<Watts>{Watts{15.0}, Watts{40.0}, Watts{35.0}});
  // Seven samples: two whole steps and one more.
  const auto seven = seen_by_meter(course, Seconds{0.5}, Seconds{3.5});
  CHECK(seven[2].value() == Approx((2.0 * 90.0 + 60.0) / 7.0));
}

TEST_CASE("power: a host draws its own between idle and load, and floors fill the waits",
          "[models][power]") {
  Job job = test::llama2_70b_job();
  job.cluster.host.gpus = 8;
  PowerFacts& facts = job.operations.power;
  facts.gpu_busy = Watts{700.0};
  facts.gpu_waiting = Watts{300.0};
  facts.gpu_idle = Watts{100.0};
  facts.host = Watts{1600.0};
  facts.host_idle = Watts{1000.0};
  CHECK(one_host(job, Watts{5600.0}).value() == Approx(7200.0));
  CHECK(one_host(job, Watts{800.0}).value() == Approx(1800.0));
  CHECK(one_host(job, Watts{3200.0}).value() == Approx(3200.0 + 1300.0));
  facts.floor = 0.7;
  CHECK(gpu_power(job).waiting.value() == Approx(490.0));
  CHECK(gpu_power(job).memory.value() == Approx(490.0));
  CHECK(gpu_power(job).idle.value() == Approx(100.0));
}

TEST_CASE("power: peak, ramp and swing of a step", "[models][power]") {
  Job job = test::llama2_70b_job();
  job.cluster.host.device.power_limit = Watts{700.0};
  StepForecast step;
  step.time = Seconds{4.0};
  step.breakdown.compute = Seconds{3.0};
  step.breakdown.bubble = Seconds{1.0};
  const Watts busy = at_the_meter(job, gpu_power(job).busy);
  const Watts waiting = at_the_meter(job, gpu_power(job).waiting);
  PowerCourse course;
  course.sample = Seconds{0.5};
  course.site = {busy, busy, busy, busy, busy, busy, waiting, waiting};
  const PowerForecast power = power_forecast(job, step, course);
  CHECK(power.peak == busy);
  CHECK(power.mean.value() == Approx(0.75 * busy.value() + 0.25 * waiting.value()));
  CHECK(power.peak_over_mean == Approx(power.peak / power.mean));
  CHECK(power.meter_peak.value() == Approx(busy.value()));
  CHECK(power.ramp.value() == Approx((busy - waiting).value()));  // a second to the next
  CHECK(power.swing.value() == Approx((busy - waiting).value()));
  CHECK(power.low < power.mean);
  CHECK(power.high > power.mean);
}

TEST_CASE("power: limited ramps burn on the way down and hold work up on the way up",
          "[models][power]") {
  // 4 s at 400 W, 4 s at 100 W, 100 W a second: down over 200 and 100 W in 100 W steps.
  std::vector<Watts> course(4, Watts{400.0});
  course.resize(8, Watts{100.0});
  const WattsPerSecond slope = Watts{100.0} / Seconds{1.0};
  const RampedCourse slow = ramped(course, Seconds{1.0}, slope, Watts{300.0});
  CHECK(slow.burnt.value() == Approx(200.0 + 100.0));
  CHECK(slow.held.value() == Approx((200.0 + 100.0) / 300.0));
  const RampedCourse fast = ramped(course, Seconds{1.0}, 3.0 * slope, Watts{300.0});
  CHECK(fast.burnt == Joules{});
  CHECK(fast.held == Seconds{});
}

TEST_CASE("power: floors cost energy, caps time, and both lower what they are for",
          "[models][power]") {
  Job job = test::llama2_70b_job();
  job.cluster.host.device.power_limit = Watts{700.0};
  StepForecast step;
  step.time = Seconds{4.0};
  step.breakdown.compute = Seconds{3.0};
  step.breakdown.bubble = Seconds{1.0};
  GpuCourse gpus{Seconds{0.5}, {std::vector<Watts>(8, gpu_power(job).busy)}};
  const auto levers = power_levers(job, step, gpus);
  REQUIRE(levers.size() == 9);
  const PowerLever& now = levers[0];
  CHECK(now.energy.value() == Approx(4.0 * training_power(job, step).value()));
  CHECK(levers[3].step == now.step);                               // a floor of 0.9
  const double fill = 1024.0 * 1.0 * (0.9 - 0.49 / 0.98) * 686.0;  // 1 s of waiting
  CHECK((levers[3].energy - now.energy).value() > fill);           // and what hosts add
  CHECK((levers[3].energy - now.energy).value() < 1.2 * fill);
  CHECK(levers[6].step.value() == Approx(4.0 * std::sqrt(1.0 / 0.7)));
  CHECK(levers[6].peak < now.peak);
  CHECK(levers[6].energy < now.energy);
  CHECK(levers[8].energy == now.energy);  // a level course has no ramps
}

TEST_CASE("power: hosts of one stage move together, those of a pipeline less", "[models][power]") {
  Job job = test::llama2_70b_job();
  job.cluster.host.device.power_limit = Watts{700.0};
  const Watts busy = gpu_power(job).busy;
  const Watts waiting = gpu_power(job).waiting;
  GpuCourse apart{Seconds{1.0}, {}};
  GpuCourse together{Seconds{1.0}, {}};
  for (int stage = 0; stage < job.parallel.pipeline; ++stage) {
    std::vector<Watts> course(static_cast<std::size_t>(job.parallel.pipeline), busy);
    together.stages.push_back(course);
    together.stages.back()[0] = waiting;
    course[static_cast<std::size_t>(stage)] = waiting;
    apart.stages.push_back(course);
  }
  CHECK(power_course(job, together).coherence == Approx(1.0));
  CHECK(power_course(job, apart).coherence == Approx(0.0).margin(1e-6));
}
