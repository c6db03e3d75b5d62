// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/in_flight.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/schedule.hpp"

namespace foretrain {
namespace {

using StageLives = std::vector<LivePasses>;  ///< by chunk

/// At the first moment when most passes of all chunks together are alive.
StageLives lives_of(const std::vector<Pass>& passes, int chunks) {
  StageLives now(index(chunks));
  StageLives most = now;
  int held = 0;
  int peak = 0;
  for (const Pass& pass : passes) {
    LivePasses& chunk = now[index(pass.chunk)];
    switch (pass.kind) {
      case PassKind::forward:
        ++chunk.whole;
        if (++held > peak) {
          peak = held;
          most = now;
        }
        break;
      case PassKind::backward:
        --chunk.whole;
        --held;
        break;
      case PassKind::input_gradient:
        --chunk.whole;
        ++chunk.for_weights;
        break;
      case PassKind::weight_gradient:
        --chunk.for_weights;
        --held;
        break;
    }
  }
  return most;
}

StageLives all_lives(const ScheduleShape& shape) {
  StageLives lives;
  lives.reserve(index(shape.stages * shape.chunks));
  for (const std::vector<Pass>& stage : traits_of(shape.kind).order(shape)) {
    const StageLives chunks = lives_of(stage, shape.chunks);
    lives.insert(lives.end(), chunks.begin(), chunks.end());
  }
  return lives;
}

struct ShapeHash {
  std::size_t operator()(const ScheduleShape& shape) const {
    std::size_t hash = 0;
    for (const int part : {static_cast<int>(shape.kind), shape.stages, shape.chunks,
                           shape.microbatches, shape.group})
      hash = 1'000'003 * hash + static_cast<std::size_t>(part);
    return hash;
  }
};

using SharedLives = std::shared_ptr<const StageLives>;

SharedLives counted(const ScheduleShape& shape);

/// A long order is counted by its period, which adds nothing unless it holds every micro-batch:
/// then orders of any length share their counts.
SharedLives count(const ScheduleShape& shape) {
  const auto fold = fold_of(shape);
  if (!fold) return std::make_shared<const StageLives>(all_lives(shape));
  SharedLives longer = counted(fold->longer);
  const SharedLives shorter = counted(fold->shorter);
  if (*longer == *shorter) return longer;
  StageLives lives = *longer;
  const auto more = [&](int long_count, int less) {
    return long_count + static_cast<int>(std::lround(fold->times * (long_count - less)));
  };
  for (std::size_t i = 0; i < lives.size(); ++i) {
    lives[i].whole = more(lives[i].whole, (*shorter)[i].whole);
    lives[i].for_weights = more(lives[i].for_weights, (*shorter)[i].for_weights);
  }
  return std::make_shared<const StageLives>(std::move(lives));
}

/// Searches ask for the same few shapes again and again.
SharedLives counted(const ScheduleShape& shape) {
  constexpr std::size_t most_shapes = 10'000;
  thread_local std::unordered_map<ScheduleShape, SharedLives, ShapeHash> kept;
  const auto found = kept.find(shape);
  if (found != kept.end()) return found->second;
  SharedLives lives = count(shape);
  if (kept.size() >= most_shapes) kept.clear();
  return kept.emplace(shape, std::move(lives)).first->second;
}

/// What splitting the vocabulary delays: 1F1B over 8 stages holds 2, 3 or 5 micro-batches more
/// (artifact of arXiv 2411.05288; the paper states 1.5 times the activations for interlacing).
int delayed_microbatches(const Parallel& parallel) {
  switch (parallel.vocabulary) {
    case VocabularyKind::ends:
      return 0;
    case VocabularyKind::split:
      return 2;
    case VocabularyKind::split_two_syncs:
      return 3;
    case VocabularyKind::interlaced:
      return parallel.pipeline / 2 + 1;
  }
  return 0;
}

/// As it is run: a schedule of one chunk that has several is the one that frameworks make of it.
ScheduleShape run_shape(const Job& job) {
  ScheduleShape shape = schedule_shape(job);
  const ScheduleTraits& traits = traits_of(shape.kind);
  if (traits.chunks == 1 && shape.chunks > 1)
    shape.kind = traits.in_chunks.value_or(schedule_in_chunks);
  return shape;
}

}  // namespace

LivePasses live_passes(const ScheduleShape& shape, int stage, int chunk) {
  FORETRAIN_REQUIRE(shape.stages >= 1 && shape.microbatches >= 1 && shape.group >= 1);
  FORETRAIN_REQUIRE(0 <= stage && stage < shape.stages);
  FORETRAIN_REQUIRE(0 <= chunk && chunk < shape.chunks);
  return (*counted(shape))[index(stage * shape.chunks + chunk)];
}

JobLivePasses::JobLivePasses(const Job& job) : shape_{run_shape(job)} {
  FORETRAIN_REQUIRE(shape_.stages >= 1 && shape_.microbatches >= 1 && shape_.group >= 1);
  const ScheduleTraits& traits = traits_of(shape_.kind);
  lives_ = counted(shape_);
  all_whole_ = traits.fills_memory;
  if (shape_.stages > 1 && shape_.chunks == 1 && traits.waits_for_vocabulary)
    delayed_ = delayed_microbatches(job.parallel);
}

LivePasses JobLivePasses::at(int stage, int chunk) const {
  FORETRAIN_REQUIRE(0 <= stage && stage < shape_.stages);
  FORETRAIN_REQUIRE(0 <= chunk && chunk < shape_.chunks);
  LivePasses live = (*lives_)[index(stage * shape_.chunks + chunk)];
  if (all_whole_) live = {live.held(), 0};
  if (delayed_ > 0) live.whole = std::min(shape_.microbatches, live.whole + delayed_);
  return live;
}

}  // namespace foretrain
