// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/schedule.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "models/schedules/in_flight.hpp"
#include "tests/models/schedules/schedule_simulator.hpp"

namespace foretrain {
namespace {

const auto& all_kinds = EnumNames<ScheduleKind>::names;

/// Every legal shape with 1 to 16 stages, 1 to 64 micro-batches and 1 to 4 chunks.
std::vector<ScheduleShape> shapes_of(ScheduleKind kind) {
  std::vector<ScheduleShape> shapes;
  for (const int stages : {1, 2, 3, 4, 5, 7, 8, 12, 16})
    for (const int micros : {1, 2, 3, 4, 5, 6, 7, 8, 12, 14, 15, 16, 17, 24, 31, 32, 48, 63, 64})
      for (int chunks = 1; chunks <= 4; ++chunks)
        for (const int group : {stages, stages + 3, micros}) {
          ScheduleShape shape{kind, stages, chunks, micros, group};
          if (kind != ScheduleKind::interleaved && group != stages) continue;
          if (is_legal(shape)) shapes.push_back(shape);
        }
  return shapes;
}

void describe(const ScheduleShape& shape) {
  UNSCOPED_INFO(name_of(shape.kind)
                << ", " << shape.stages << " stages, " << shape.chunks << " chunks, "
                << shape.microbatches << " micro-batches, group " << shape.group);
}

/// Chunk activations that a stage holds at most, by the formulas of the papers; nothing where they
/// state none for so few micro-batches.
std::optional<int> published_lives(const ScheduleShape& shape, int stage) {
  const int micros = shape.microbatches;
  switch (shape.kind) {
    case ScheduleKind::naive:
      return 1;
    case ScheduleKind::gpipe:
      return micros;
    case ScheduleKind::one_f_one_b:  // arXiv 2104.04473 section 2.2.1
      return std::min(micros, shape.stages - stage);
    case ScheduleKind::interleaved:  // Megatron-Core, pipeline_parallel/schedules.py: the warm-up
      return std::min(micros * shape.chunks,
                      2 * (shape.stages - 1 - stage) + (shape.chunks - 1) * shape.group + 1);
    case ScheduleKind::zb_h1:  // arXiv 2401.10241 section 2.1: (p - s) M_B + s M_W
      return std::min(micros, shape.stages);
    case ScheduleKind::zb_2p:  // section 2.2: (2 p - 2 s - 1) M_B + 2 s M_W
      return std::min(micros, 2 * shape.stages - 1);
    case ScheduleKind::zb_v:  // section 6: p micro-batches of both chunks
      if (micros < 2 * shape.stages - 1) return std::nullopt;
      return 2 * shape.stages;
    case ScheduleKind::dualpipe:  // arXiv 2412.19437 table 2
      if (micros < 2 * shape.stages) return std::nullopt;
      return shape.stages + 1;
    default:
      return std::nullopt;
  }
}

int held_chunks(const ScheduleShape& shape, int stage) {
  int held = 0;
  for (int chunk = 0; chunk < shape.chunks; ++chunk)
    held += live_passes(shape, stage, chunk).held();
  return held;
}

ScheduleTimes fitting_times(const ScheduleShape& shape, const PassTimes& times, double share) {
  ScheduleTimes result;
  const int places = shape.stages * shape.chunks;
  result.places.assign(static_cast<std::size_t>(places),
                       {times.forward * us, times.input_gradient * us, times.weight_gradient * us});
  result.transfer = times.transfer * us;
  result.weight_share = share;
  return result;
}

/// Whole chunk activations on the fullest stage, when `share` of each stays for the weights.
double most_activations(const Schedule& schedule, double share) {
  double most = 0;
  for (const std::vector<Pass>& stage : schedule.stages) {
    double now = 0;
    for (const Pass& pass : stage) {
      if (pass.kind == PassKind::forward) most = std::max(most, now += 1);
      if (pass.kind == PassKind::input_gradient) now -= 1 - share;
      if (pass.kind == PassKind::weight_gradient) now -= share;
    }
  }
  return most;
}

int activation_limit(const ScheduleShape& shape) {
  return shape.kind == ScheduleKind::zb_h1 ? shape.stages : 2 * shape.stages;
}

/// Whole backward passes and halves of every (chunk, micro-batch): each once, nothing twice.
bool each_pass_once(const Schedule& schedule, int stage) {
  std::set<std::tuple<PassKind, int, int>> seen;
  for (const Pass& pass : schedule.stages[static_cast<std::size_t>(stage)])
    if (!seen.insert({pass.kind, pass.chunk, pass.micro}).second) return false;
  const ScheduleShape& shape = schedule.shape;
  std::size_t used = 0;
  for (int chunk = 0; chunk < shape.chunks; ++chunk)
    for (int micro = 0; micro < shape.microbatches; ++micro) {
      const auto has = [&](PassKind kind) { return seen.count({kind, chunk, micro}) > 0; };
      const bool expected =
          place_at(shape, position_of(shape, {stage, chunk}), micro).chunk == chunk;
      const bool whole = has(PassKind::backward);
      const bool halves = has(PassKind::input_gradient) && has(PassKind::weight_gradient);
      if (has(PassKind::forward) != expected || whole + halves != expected) return false;
      used += expected ? (whole ? 2U : 3U) : 0U;
    }
  return used == seen.size();
}

/// Checks the order against the definition of what every pass waits for.
bool nothing_runs_too_early(const Schedule& schedule, const std::vector<OrderedPass>& order) {
  std::set<std::tuple<bool, int, int>> done;  // forward, position, micro-batch
  std::vector<std::size_t> next(schedule.stages.size(), 0);
  for (const auto& [pass, stage] : order) {
    const auto at = static_cast<std::size_t>(stage);
    if (!(schedule.stages[at][next[at]++] == pass)) return false;
    const int position = position_of(schedule.shape, {stage, pass.chunk});
    const bool forward = pass.kind == PassKind::forward;
    if (pass.kind == PassKind::weight_gradient) {
      if (!done.count({false, position, pass.micro})) return false;
      continue;
    }
    if (forward && position > 0 && !done.count({true, position - 1, pass.micro})) return false;
    if (!forward && !done.count({true, position, pass.micro})) return false;
    if (!forward && position + 1 < positions(schedule.shape) &&
        !done.count({false, position + 1, pass.micro}))
      return false;
    done.insert({forward, position, pass.micro});
  }
  return true;
}

}  // namespace

TEST_CASE("every schedule runs each pass of each micro-batch once", "[models][schedule]") {
  for (const auto& [kind, name] : all_kinds)
    for (const ScheduleShape& shape : shapes_of(kind)) {
      const Schedule schedule = make_schedule(shape);
      bool once = true;
      for (int stage = 0; stage < shape.stages; ++stage) once &= each_pass_once(schedule, stage);
      describe(shape);
      REQUIRE(once);
    }
}

TEST_CASE("every schedule runs to its end in a legal order", "[models][schedule]") {
  for (const auto& [kind, name] : all_kinds)
    for (const ScheduleShape& shape : shapes_of(kind)) {
      const Schedule schedule = make_schedule(shape);
      describe(shape);
      REQUIRE(nothing_runs_too_early(schedule, execution_order(schedule)));
    }
}

TEST_CASE("micro-batches in flight, counted from the order, are those of the papers",
          "[models][schedule]") {
  for (const auto& [kind, name] : all_kinds)
    for (const ScheduleShape& shape : shapes_of(kind))
      for (int stage = 0; stage < shape.stages; ++stage) {
        const auto published = published_lives(shape, stage);
        if (!published) continue;
        describe(shape);
        UNSCOPED_INFO("stage " << stage);
        REQUIRE(held_chunks(shape, stage) == *published);
      }
}

TEST_CASE("zero-bubble schedules keep of some micro-batches only what weight gradients need",
          "[models][schedule]") {
  // arXiv 2401.10241 sections 2.1 and 2.2: what a stage holds at its peak.
  for (int stage = 0; stage < 8; ++stage) {
    const LivePasses h1 = live_passes(shape_of(ScheduleKind::zb_h1, 8, 64), stage, 0);
    CHECK(h1 == LivePasses{8 - stage, stage});
    const LivePasses h2 = live_passes(shape_of(ScheduleKind::zb_2p, 8, 64), stage, 0);
    CHECK(h2 == LivePasses{15 - 2 * stage, 2 * stage});
  }
}

TEST_CASE("a folded stage holds its two chunks for different times", "[models][schedule]") {
  // A micro-batch reaches the second chunk of the first stage last, and leaves it first.
  for (int stage = 0; stage < 8; ++stage) {
    const ScheduleShape shape = shape_of(ScheduleKind::zb_v, 8, 64);
    CHECK(live_passes(shape, stage, 0).whole == 15 - stage);
    CHECK(live_passes(shape, stage, 1).whole == stage + 1);
  }
}

TEST_CASE("long orders are counted as whole ones", "[models][schedule]") {
  for (const auto& [kind, name] : all_kinds)
    for (const int stages : {2, 4, 6}) {
      const ScheduleShape shape =
          shape_of(kind, stages, 192, kind == ScheduleKind::interleaved ? 3 : 1);
      const Schedule schedule = make_schedule(shape);
      for (int stage = 0; stage < stages; ++stage) {
        double most = 0.0;
        double now = 0.0;
        for (const Pass& pass : schedule.stages[static_cast<std::size_t>(stage)]) {
          if (pass.kind == PassKind::forward) most = std::max(most, ++now);
          if (pass.kind == PassKind::backward || pass.kind == PassKind::weight_gradient) --now;
        }
        describe(shape);
        REQUIRE(held_chunks(shape, stage) == most);
      }
    }
}

TEST_CASE("orders fitted to times are legal, within memory and never worse than the handcrafted",
          "[models][schedule]") {
  const auto times = {PassTimes{1, 1, 1, 0}, PassTimes{10, 12, 8, 1}, PassTimes{10, 14, 3, 2},
                      PassTimes{8, 7, 9, 0}};
  for (const ScheduleKind kind : {ScheduleKind::zb_h1, ScheduleKind::zb_2p, ScheduleKind::zb_v})
    for (const int stages : {1, 2, 3, 4, 8, 11})
      for (const int micros : {1, 2, 5, 8, 15, 40})
        for (const PassTimes& pass : times)
          for (const double share : {0.4, 1.0}) {
            const ScheduleShape shape = shape_of(kind, stages, micros);
            const Schedule handcrafted = make_schedule(shape);
            const Schedule fitted = make_schedule(shape, fitting_times(shape, pass, share));
            describe(shape);
            UNSCOPED_INFO(pass.input_gradient << " " << pass.weight_gradient << " " << share);
            bool once = true;
            for (int stage = 0; stage < stages; ++stage) once &= each_pass_once(fitted, stage);
            REQUIRE(once);
            REQUIRE(nothing_runs_too_early(fitted, execution_order(fitted)));
            REQUIRE(most_activations(fitted, share) <= activation_limit(shape) + 1e-9);
            REQUIRE(simulate_schedule(fitted, pass).longest_stage <=
                    simulate_schedule(handcrafted, pass).longest_stage);
          }
}

TEST_CASE("an order is fitted to stages of different times", "[models][schedule]") {
  // The last stage has the output layer: more input gradient, less weight gradient.
  const ScheduleShape shape = shape_of(ScheduleKind::zb_2p, 4, 16);
  std::vector<PassTimes> passes(4, {10, 12, 8, 1});
  passes[3] = {12, 14, 5, 1};
  ScheduleTimes times = fitting_times(shape, passes[0], 0.5);
  times.places[3] = {12.0 * us, 14.0 * us, 5.0 * us};
  const Schedule fitted = make_schedule(shape, times);
  const Schedule handcrafted = make_schedule(shape);
  CHECK(ScheduleSimulator(handcrafted, passes).run().longest_stage == 541);
  CHECK(ScheduleSimulator(fitted, passes).run().longest_stage == 501);  // 496 of them busy
  times.places.pop_back();
  CHECK_THROWS_AS(make_schedule(shape, times), std::logic_error);
}

TEST_CASE("ZB-H1 holds as much on every stage as 1F1B on its first", "[models][schedule]") {
  // arXiv 2401.10241 section 2.1: micro-batches in flight, their weight gradients included.
  const Schedule schedule = make_schedule(shape_of(ScheduleKind::zb_h1, 4, 8));
  for (int stage = 0; stage < 4; ++stage) {
    int now = 0;
    int most = 0;
    for (const Pass& pass : schedule.stages[static_cast<std::size_t>(stage)]) {
      now += pass.kind == PassKind::forward;
      now -= pass.kind == PassKind::weight_gradient;
      most = std::max(most, now);
    }
    CHECK(most == 4);
  }
}

TEST_CASE("places and positions are inverse to each other", "[models][schedule]") {
  for (const auto& [kind, name] : all_kinds)
    for (const ScheduleShape& shape : shapes_of(kind))
      for (const int micro : {0, shape.microbatches - 1}) {
        bool inverse = true;
        for (int position = 0; position < positions(shape); ++position)
          inverse &= position_of(shape, place_at(shape, position, micro)) == position;
        describe(shape);
        REQUIRE(inverse);
      }
}

TEST_CASE("only zero-bubble schedules, V-Half, V-Min and DualPipe split the backward pass",
          "[models][schedule]") {
  for (const ScheduleKind kind : {ScheduleKind::naive, ScheduleKind::gpipe,
                                  ScheduleKind::one_f_one_b, ScheduleKind::interleaved})
    CHECK_FALSE(make_schedule(shape_of(kind, 4, 8)).splits_backward());
  for (const ScheduleKind kind :
       {ScheduleKind::zb_h1, ScheduleKind::zb_2p, ScheduleKind::zb_v, ScheduleKind::v_half,
        ScheduleKind::v_min, ScheduleKind::dualpipe})
    CHECK(make_schedule(shape_of(kind, 4, 8)).splits_backward());
}

TEST_CASE("a shape that no framework runs is refused", "[models][schedule]") {
  CHECK_FALSE(is_legal({ScheduleKind::dualpipe, 5, 2, 10, 5}));
  CHECK_FALSE(is_legal({ScheduleKind::dualpipe, 4, 2, 9, 4}));
  CHECK_FALSE(is_legal({ScheduleKind::zb_v, 4, 1, 8, 4}));
  CHECK_FALSE(is_legal({ScheduleKind::interleaved, 8, 2, 16, 2}));  // group below the stages
  CHECK_FALSE(is_legal({ScheduleKind::interleaved, 4, 2, 10, 4}));  // a last group of 2
  CHECK_FALSE(is_legal({ScheduleKind::one_f_one_b, 4, 1, 0, 4}));
  CHECK_THROWS_AS(make_schedule({ScheduleKind::dualpipe, 5, 2, 10, 5}), std::logic_error);
}

TEST_CASE("an order that waits in a circle is refused, not walked for ever", "[models][schedule]") {
  Schedule schedule = make_schedule(shape_of(ScheduleKind::one_f_one_b, 2, 2));
  std::reverse(schedule.stages[1].begin(), schedule.stages[1].end());
  CHECK_THROWS_AS(execution_order(schedule), std::logic_error);
}

TEST_CASE("on one stage every schedule is gradient accumulation", "[models][schedule]") {
  Job job;
  job.training.global_batch = 3;
  for (const auto& [kind, name] : all_kinds) {
    job.parallel.schedule = kind;
    CHECK(stage_text(make_schedule(schedule_shape(job)), 0) == "F0 B0 F1 B1 F2 B2");
  }
}

TEST_CASE("a job's schedule has its stages, chunks and groups", "[models][schedule]") {
  Job job;
  job.training.global_batch = 64;
  job.training.micro_batch = 2;
  job.parallel.data = 4;
  job.parallel.pipeline = 4;
  job.parallel.virtual_stages = 3;
  job.parallel.schedule = ScheduleKind::interleaved;
  CHECK(schedule_shape(job) == ScheduleShape{ScheduleKind::interleaved, 4, 3, 8, 4});
  job.parallel.microbatch_group = 8;
  CHECK(schedule_shape(job).group == 8);
  job.parallel.virtual_stages = 1;
  job.parallel.schedule = ScheduleKind::zb_v;
  CHECK(schedule_shape(job).chunks == 2);
}

}  // namespace foretrain
