// SPDX-License-Identifier: Apache-2.0
#include "models/forecast/memory_course.hpp"

#include <catch2/catch.hpp>

#include "models/memory/memory.hpp"
#include "models/schedules/registry.hpp"
#include "tests/models/example_job.hpp"
#include "tests/models/memory/memory_jobs.hpp"

namespace foretrain {
namespace {

/// The example job with the memory rules of its stack.
Job example(ScheduleKind schedule, int pipeline, int chunks) {
  Job job = test::llama2_70b_job();
  job.stack.memory = testing::megatron_core_rules();
  job.parallel.schedule = schedule;
  job.parallel.data = job.parallel.data * job.parallel.pipeline / pipeline;
  job.parallel.pipeline = pipeline;
  job.parallel.virtual_stages = chunks;
  return job;
}

/// Its course beside its account.
struct Both {
  MemoryCourse course;
  StageAccount account;
};

Both follow(const Job& job, int stage) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  return {memory_course(job, layout, step_path(job, layout), stage),
          account_stage(job, layout, activation_model(job), stage)};
}

}  // namespace

TEST_CASE("memory over time: the peak is that of the account where counts are exact",
          "[models][memory][property]") {
  struct Plan {
    ScheduleKind schedule;
    int pipeline;
    int chunks;
  };
  const auto plan =
      GENERATE(Plan{ScheduleKind::one_f_one_b, 8, 1}, Plan{ScheduleKind::gpipe, 4, 1},
               Plan{ScheduleKind::interleaved, 8, 2}, Plan{ScheduleKind::interleaved, 4, 5},
               Plan{ScheduleKind::one_f_one_b, 1, 1});
  Job job = example(plan.schedule, plan.pipeline, plan.chunks);
  job.memory.recompute.kind =
      GENERATE(RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full);
  for (int stage = 0; stage < plan.pipeline; ++stage) {
    const auto [course, account] = follow(job, stage);
    CAPTURE(name_of(plan.schedule), plan.pipeline, plan.chunks, stage);
    REQUIRE(course.points.size() > 4);
    CHECK(course.points[course.peak].total().value() == Approx(account.device).epsilon(1e-9));
  }
}

TEST_CASE("memory over time: a step ends with what it began with", "[models][memory][property]") {
  const auto schedule = GENERATE(ScheduleKind::one_f_one_b, ScheduleKind::zb_h1,
                                 ScheduleKind::zb_2p, ScheduleKind::dualpipe, ScheduleKind::zb_v,
                                 ScheduleKind::v_half, ScheduleKind::v_min);
  const int chunks = traits_of(schedule).placement == Placement::folded ? 2 : 1;
  Job job = example(schedule, 8, chunks);
  job.stack.memory.gradients_resident = GENERATE(true, false);
  const StageLayout layout = stage_layout(job.model, job.parallel);
  for (const int stage : {0, 3, 7}) {
    const auto [course, account] = follow(job, stage);
    CAPTURE(name_of(schedule), stage);
    const MemoryPoint& first = course.points.front();
    const MemoryPoint& last = course.points.back();
    CHECK(first.time == Seconds{});
    CHECK(first.total().value() == Approx(account.resident + account.outside.total()));
    CHECK(last.total().value() == Approx(first.total().value()).epsilon(1e-9));
    CHECK(last.alive == Approx(0.0).margin(1e-6));
  }
}

TEST_CASE("memory over time: points ascend, and stage 0 of 1F1B fills up to its stages",
          "[models][memory]") {
  const Job job = example(ScheduleKind::one_f_one_b, 8, 1);
  const auto [course, account] = follow(job, 0);
  double most = 0.0;
  for (std::size_t i = 1; i < course.points.size(); ++i) {
    REQUIRE(course.points[i].time >= course.points[i - 1].time);
    most = std::max(most, course.points[i].alive);
  }
  // Stage i of p holds p - i micro-batches (PipeDream-flush, arXiv 2006.09503).
  CHECK(most == Approx(8.0));
}

TEST_CASE("memory over time: ZB-H1 keeps part of each micro-batch for its weight gradients",
          "[models][memory]") {
  const Job plain = example(ScheduleKind::one_f_one_b, 8, 1);
  const Job split = example(ScheduleKind::zb_h1, 8, 1);
  const auto mean_alive = [](const MemoryCourse& course) {
    double area = 0.0;
    for (std::size_t i = 1; i < course.points.size(); ++i)
      area += 0.5 * (course.points[i].alive + course.points[i - 1].alive) *
              (course.points[i].time - course.points[i - 1].time).value();
    return area / course.points.back().time.value();
  };
  CHECK(mean_alive(follow(split, 7).course) > mean_alive(follow(plain, 7).course));
}

}  // namespace foretrain
