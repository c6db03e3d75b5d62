// SPDX-License-Identifier: Apache-2.0
// Orders and bubbles as the papers of the schedules print them.
#include <catch2/catch.hpp>

#include "tests/models/schedules/schedule_simulator.hpp"

namespace foretrain {
namespace {

const PassTimes unit{1, 1, 1};
/// As measured: attention costs the input gradient more than the weight gradient.
const PassTimes uneven{10, 12, 8};

/// Time in which the first stage to start and the last to end do nothing.
double bubble(const ScheduleShape& shape, const PassTimes& times) {
  const double busy =
      shape.microbatches * times.all() * (shape.kind == ScheduleKind::dualpipe ? 1 : shape.chunks);
  return simulate_schedule(make_schedule(shape), times).makespan - busy;
}

/// Idle time between the first and the last pass of the worst stage, which is what arXiv 2401.10241
/// calls the bubble: it lets a stage begin its next step when it has ended this one.
double bubble_within_stages(const ScheduleShape& shape, const PassTimes& times) {
  return simulate_schedule(make_schedule(shape), times).longest_stage -
         shape.microbatches * times.all() * shape.chunks;
}

}  // namespace

TEST_CASE("GPipe: all forward passes, then the backward passes in reverse", "[models][schedule]") {
  // arXiv 1811.06965 figure 2c: 4 accelerators, 4 micro-batches.
  const Schedule schedule = make_schedule(shape_of(ScheduleKind::gpipe, 4, 4));
  CHECK(stage_text(schedule, 0) == "F0 F1 F2 F3 B3 B2 B1 B0");
  CHECK(stage_text(schedule, 3) == "F0 F1 F2 F3 B3 B2 B1 B0");
}

TEST_CASE("1F1B: one forward, one backward after a warm-up", "[models][schedule]") {
  // arXiv 2104.04473 figure 4, top: 4 devices, 8 micro-batches.
  const Schedule schedule = make_schedule(shape_of(ScheduleKind::one_f_one_b, 4, 8));
  CHECK(stage_text(schedule, 0) == "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7");
  CHECK(stage_text(schedule, 3) == "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7");
}

TEST_CASE("interleaving: Megatron's order of chunks and groups", "[models][schedule]") {
  // arXiv 2104.04473 figure 4, bottom: 4 devices of 2 chunks, 8 micro-batches.
  const Schedule schedule = make_schedule(shape_of(ScheduleKind::interleaved, 4, 8, 2));
  CHECK(stage_text(schedule, 0) ==
        "F0 F1 F2 F3 f0 f1 f2 f3 F4 F5 F6 b0 F7 b1 f4 b2 f5 b3 f6 B0 f7 B1 B2 B3 b4 b5 b6 b7 "
        "B4 B5 B6 B7");
  CHECK(stage_text(schedule, 3) ==
        "F0 F1 F2 F3 f0 b0 f1 b1 f2 b2 f3 b3 F4 B0 F5 B1 F6 B2 F7 B3 f4 b4 f5 b5 f6 b6 f7 b7 "
        "B4 B5 B6 B7");
}

TEST_CASE("ZB-H1: later stages hold back weight gradients", "[models][schedule]") {
  // arXiv 2401.10241 figure 3, top: 4 stages, 8 micro-batches.
  const Schedule schedule = make_schedule(shape_of(ScheduleKind::zb_h1, 4, 8));
  CHECK(stage_text(schedule, 0) ==
        "F0 F1 F2 F3 I0 W0 F4 I1 W1 F5 I2 W2 F6 I3 W3 F7 I4 W4 I5 W5 I6 W6 I7 W7");
  CHECK(stage_text(schedule, 3) ==
        "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 F5 I5 W2 F6 I6 W3 F7 I7 W4 W5 W6 W7");
}

TEST_CASE("ZB-H2: a warm-up that covers the way there and back", "[models][schedule]") {
  // arXiv 2401.10241 figure 3, bottom: 4 stages, 8 micro-batches; the first stage starts 7.
  const Schedule schedule = make_schedule(shape_of(ScheduleKind::zb_2p, 4, 8));
  CHECK(stage_text(schedule, 0) ==
        "F0 F1 F2 F3 F4 F5 F6 I0 W0 F7 I1 W1 I2 W2 I3 W3 I4 W4 I5 W5 I6 W6 I7 W7");
  CHECK(stage_text(schedule, 3) ==
        "F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 F5 I5 F6 I6 W0 F7 I7 W1 W2 W3 W4 W5 W6 W7");
}

TEST_CASE("ZB-V: down the stages with one chunk, back with the other", "[models][schedule]") {
  // arXiv 2401.10241 section 6: 4 stages.
  const Schedule schedule = make_schedule(shape_of(ScheduleKind::zb_v, 2, 4));
  CHECK(stage_text(schedule, 0) ==
        "F0 F1 F2 f0 i0 w0 f1 i1 w1 F3 I0 W0 f2 i2 w2 I1 W1 f3 i3 w3 I2 W2 I3 W3");
  CHECK(stage_text(schedule, 1) ==
        "F0 f0 F1 f1 i0 w0 F2 I0 W0 f2 i1 w1 F3 I1 W1 f3 i2 w2 I2 i3 I3 W2 w3 W3");
}

TEST_CASE("DualPipe: 8 ranks, 20 micro-batches from both ends", "[models][schedule]") {
  // arXiv 2412.19437 figure 5; micro-batches 10 to 19 come from the other end.
  const Schedule schedule = make_schedule(shape_of(ScheduleKind::dualpipe, 8, 20));
  CHECK(stage_text(schedule, 0) ==
        "F0 F1 F2 F3 F4 F5 F6 f10 i10 w10 f11 i11 w11 f12 i12 w12 f13 "
        "F7 b13 f14 B0 F8 b14 f15 B1 F9 b15 f16 B2 "
        "b16 f17 B3 b17 f18 B4 b18 f19 B5 b19 I6 W6 I7 W7 I8 W8 I9 W9");
  CHECK(stage_text(schedule, 3).substr(0, 41) == "F0 f10 F1 f11 F2 f12 F3 f13 F4 b10 f14 B0");
}

TEST_CASE("GPipe and 1F1B: a bubble of (p-1)(f+b)", "[models][schedule]") {
  // arXiv 2104.04473 section 2.2.1.
  for (const ScheduleKind kind : {ScheduleKind::gpipe, ScheduleKind::one_f_one_b})
    for (const int stages : {1, 2, 4, 8, 16})
      for (const int micros : {1, 3, 16, 64}) {
        INFO(name_of(kind) << " " << stages << " " << micros);
        CHECK(bubble(shape_of(kind, stages, micros), uneven) == (stages - 1) * uneven.all());
      }
}

TEST_CASE("naive model parallelism keeps one stage busy at a time", "[models][schedule]") {
  const SimulatedSchedule run =
      simulate_schedule(make_schedule(shape_of(ScheduleKind::naive, 4, 3)), uneven);
  CHECK(run.makespan == 3 * 4 * uneven.all());
}

TEST_CASE("interleaving divides the bubble by the chunks of a stage", "[models][schedule]") {
  // arXiv 2104.04473 section 2.2.2: (p-1)(f+b)/v, with the times of a stage = v chunks.
  for (const int stages : {2, 4, 8})
    for (const int chunks : {1, 2, 4})
      for (const int groups : {1, 2, 5}) {
        INFO(stages << " " << chunks << " " << groups);
        CHECK(bubble(shape_of(ScheduleKind::interleaved, stages, groups * stages, chunks),
                     uneven) == (stages - 1) * uneven.all());
      }
}

TEST_CASE("ZB-H1 leaves a third of 1F1B's bubble at equal times", "[models][schedule]") {
  // arXiv 2401.10241 table 2: (p-1)(f + b - w).
  for (const int stages : {1, 2, 4, 8, 16})
    for (const int micros : {stages, 2 * stages, 64})
      for (const PassTimes& times : {unit, uneven, PassTimes{10, 10, 6}, PassTimes{10, 11, 10}}) {
        INFO(stages << " " << micros << " " << times.input_gradient);
        CHECK(bubble(shape_of(ScheduleKind::zb_h1, stages, micros), times) ==
              (stages - 1) * (times.forward + times.input_gradient - times.weight_gradient));
      }
}

TEST_CASE("ZB-H2 leaves no stage idle at equal times", "[models][schedule]") {
  // arXiv 2401.10241 table 2: (p-1)(f + b - 2 w), idle time inside the stages.
  for (const int stages : {1, 2, 4, 8, 16})
    for (const int micros : {2 * stages - 1, 3 * stages, 64})
      for (const PassTimes& times : {unit, uneven, PassTimes{10, 10, 6}, PassTimes{10, 11, 10}}) {
        INFO(stages << " " << micros << " " << times.input_gradient);
        CHECK(bubble_within_stages(shape_of(ScheduleKind::zb_2p, stages, micros), times) ==
              (stages - 1) * (times.forward + times.input_gradient - 2 * times.weight_gradient));
      }
}

TEST_CASE("ZB-V leaves no stage idle at equal times, with half the memory", "[models][schedule]") {
  // arXiv 2401.10241 section 6.
  for (const int stages : {1, 2, 4, 8, 16})
    for (const int micros : {2 * stages - 1, 2 * stages, 3 * stages, 64}) {
      INFO(stages << " " << micros);
      CHECK(bubble_within_stages(shape_of(ScheduleKind::zb_v, stages, micros), unit) == 0);
    }
}

TEST_CASE("DualPipe: a bubble of (p/2-1)(F&B + B - 3W)", "[models][schedule]") {
  // arXiv 2412.19437 table 2, with F&B = F + B: the overlapped pair runs as one piece of work. The
  // formula holds while the input gradient takes at least as long as the forward pass.
  for (const int stages : {2, 4, 8, 16})
    for (const int micros : {2 * stages, 2 * stages + 4, 64})
      for (const PassTimes& times : {unit, uneven, PassTimes{10, 11, 10}}) {
        const Schedule schedule = make_schedule(shape_of(ScheduleKind::dualpipe, stages, micros));
        const double makespan = ScheduleSimulator(schedule, times, true).run().makespan;
        const double backward = times.input_gradient + times.weight_gradient;
        INFO(stages << " " << micros << " " << times.input_gradient);
        CHECK(makespan - micros * times.all() ==
              (stages / 2.0 - 1) * (times.forward + 2 * backward - 3 * times.weight_gradient));
      }
}

}  // namespace foretrain
