// SPDX-License-Identifier: Apache-2.0
// V-Min and V-Half as arXiv 2405.15362 and its authors' scheduler describe them.
#include <algorithm>
#include <catch2/catch.hpp>

#include "models/schedules/in_flight.hpp"
#include "tests/models/schedules/schedule_simulator.hpp"

namespace foretrain {
namespace {

const PassTimes unit_pass{1, 1, 1};

/// Chunk activations on the fullest stage: two make a micro-batch's.
int most_chunks(const ScheduleShape& shape) {
  int most = 0;
  for (int stage = 0; stage < shape.stages; ++stage)
    most =
        std::max(most, live_passes(shape, stage, 0).held() + live_passes(shape, stage, 1).held());
  return most;
}

/// Idle time of the worst stage from its first pass to its last.
double idle(const ScheduleShape& shape, const PassTimes& times) {
  return simulate_schedule(make_schedule(shape), times).longest_stage -
         2 * shape.microbatches * times.all();
}

}  // namespace

TEST_CASE("V-Min holds a third of 1F1B's activations, V-Half half, V-ZB all",
          "[models][schedule]") {
  // By the number of micro-batches: (p + 4) / 3, (p + 2) / 2 and p in whole numbers (table of the
  // authors' scheduler, huggingface.co/spaces/sail/pipeline-parallelism-with-controllable-memory).
  for (int stages = 2; stages <= 32; ++stages) {
    const int micros = 4 * stages;
    INFO(stages);
    CHECK(most_chunks(shape_of(ScheduleKind::v_min, stages, micros)) == 2 * ((stages + 4) / 3));
    CHECK(most_chunks(shape_of(ScheduleKind::v_half, stages, micros)) == 2 * ((stages + 2) / 2));
    CHECK(most_chunks(shape_of(ScheduleKind::zb_v, stages, micros)) == 2 * stages);
  }
}

TEST_CASE("V-Min and V-Half balance their activations over the stages", "[models][schedule]") {
  // Section 3: the lifespans of both chunks add up to the same on every stage.
  for (const ScheduleKind kind : {ScheduleKind::v_min, ScheduleKind::v_half}) {
    const ScheduleShape shape = shape_of(kind, 12, 48);
    for (int stage = 0; stage < 12; ++stage)
      CHECK(live_passes(shape, stage, 0).held() + live_passes(shape, stage, 1).held() ==
            most_chunks(shape));
  }
}

TEST_CASE("V-Min and V-Half leave the bubbles that were published", "[models][schedule]") {
  // Same table: about 2 p / 3 m and p / 2 m where all passes take equally long, of 1F1B's p / m.
  const double micro_batch = 2 * unit_pass.all();
  for (int stages = 2; stages <= 24; ++stages) {
    INFO(stages);
    const double least = idle(shape_of(ScheduleKind::v_min, stages, 3 * stages), unit_pass);
    const double half = idle(shape_of(ScheduleKind::v_half, stages, 3 * stages), unit_pass);
    CHECK(least <= stages * 2.0 / 3.0 * micro_batch + 2);  // "about": two passes
    CHECK(half <= stages / 2.0 * micro_batch + 2);
    if (stages < 4) continue;
    CHECK(least >= stages * 0.45 * micro_batch);
    CHECK(half >= stages * 0.2 * micro_batch);
  }
}

TEST_CASE("V-Min and V-Half idle as long as in their authors' scheduler, within two passes",
          "[models][schedule]") {
  // scheduler/zbv_greedy.py of zero-bubble-pipeline-parallelism, with passes of one unit and
  // three micro-batches per stage.
  struct Row {
    int stages;
    double least;
    double half;
  };
  for (const Row& row : {Row{2, 3, 1}, Row{3, 5, 5}, Row{4, 11, 5}, Row{5, 15, 11}, Row{6, 17, 11},
                         Row{8, 27, 17}, Row{12, 41, 29}}) {
    INFO(row.stages);
    const auto at = [&](ScheduleKind kind) {
      return idle(shape_of(kind, row.stages, 3 * row.stages), unit_pass);
    };
    CHECK(at(ScheduleKind::v_min) == Approx(row.least).margin(2));
    CHECK(at(ScheduleKind::v_half) == Approx(row.half).margin(2));
  }
}

TEST_CASE("V-Half has no bubble in its steady state while w + 2 i >= 2 f and w + 2 f >= 2 i",
          "[models][schedule]") {
  // The authors' condition: idle time does not grow with the micro-batches.
  const auto growth = [](ScheduleKind kind, const PassTimes& times) {
    return idle(shape_of(kind, 8, 96), times) - idle(shape_of(kind, 8, 48), times);
  };
  for (const PassTimes& times : {unit_pass, PassTimes{10, 12, 8}, PassTimes{10, 11, 6}})
    CHECK(growth(ScheduleKind::v_half, times) == Approx(0).margin(1e-9));
  CHECK(growth(ScheduleKind::v_half, {10, 20, 3}) > 0);
  // V-Min waits in every round where passes differ.
  CHECK(growth(ScheduleKind::v_min, unit_pass) == Approx(0).margin(1e-9));
  CHECK(growth(ScheduleKind::v_min, {10, 12, 8}) > 0);
}

}  // namespace foretrain
