// SPDX-License-Identifier: Apache-2.0
// Orders fitted to the times of the passes, by the heuristic of arXiv 2401.10241 section 3.1:
// forward passes as early as memory allows, input gradients first, weight gradients where a stage
// would wait.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "models/schedules/registry.hpp"

namespace foretrain {
namespace {

/// Whole nanoseconds: sums are exact, so equal gaps compare equal.
using Ticks = std::int64_t;
constexpr Ticks unknown = std::numeric_limits<Ticks>::max();
/// Activations of one chunk and micro-batch, in whole units for the same reason.
constexpr int activation_units = 1000;

Ticks ticks(Seconds time) { return std::llround(time.value() * 1e9); }

struct PlaceTicks {
  Ticks forward = 0;
  Ticks input_gradient = 0;
  Ticks weight_gradient = 0;
};

/// What a stage has done so far.
struct StageState {
  Ticks clock = 0;
  Ticks first = unknown;  ///< start of the first pass
  Ticks idle = 0;         ///< since then
  int memory = 0;
  int forwards = 0;
  int backwards = 0;
  std::size_t next_kept = 0;
  std::size_t next_weight = 0;
  std::vector<Pass> weights;  ///< made possible so far, first come first served
};

struct Choice {
  Pass pass;
  Ticks ready = unknown;  ///< when what the pass waits for is there
};

/// Which stage moves next, as a tournament: each node holds the winner of the two below it.
class Front {
 public:
  explicit Front(std::size_t stages)
      : leaves_{std::bit_ceil(stages)}, clock_(leaves_, unknown), winner_(2 * leaves_) {
    for (std::size_t stage = 0; stage < leaves_; ++stage) winner_[leaves_ + stage] = stage;
    for (std::size_t stage = 0; stage < stages; ++stage) clock_[stage] = 0;
    for (std::size_t node = leaves_; node-- > 1;) play(node);
  }

  /// The stage that is furthest behind, of equals the last; nothing when all wait or have finished.
  [[nodiscard]] std::optional<std::size_t> furthest_behind() const {
    const std::size_t stage = winner_[1];
    if (clock_[stage] == unknown) return std::nullopt;
    return stage;
  }
  /// `unknown`: it cannot move.
  void set(std::size_t stage, Ticks clock) {
    clock_[stage] = clock;
    for (std::size_t node = (leaves_ + stage) / 2; node > 0; node /= 2) play(node);
  }
  [[nodiscard]] bool moves(std::size_t stage) const { return clock_[stage] != unknown; }

 private:
  void play(std::size_t node) {
    const std::size_t first = winner_[2 * node];
    const std::size_t second = winner_[2 * node + 1];
    winner_[node] = clock_[second] <= clock_[first] ? second : first;
  }

  std::size_t leaves_;
  std::vector<Ticks> clock_;
  std::vector<std::size_t> winner_;  ///< node 1 is the final, leaf i is node leaves + i
};

/// What the order already says: nothing, the order of forward passes and input gradients, or all.
enum class Given { nothing, all_but_weights, everything };

/// Runs all stages at once; the one that is furthest behind moves next. What the given order leaves
/// open is decided on the way.
class TimedOrder {
 public:
  TimedOrder(const ScheduleShape& shape, const ScheduleTimes& times, Given given)
      : shape_(shape),
        given_(given),
        memory_limit_(traits_of(shape.kind).fitted_chunks * shape.stages * activation_units),
        weight_units_(static_cast<int>(std::lround(times.weight_share * activation_units))),
        transfer_(ticks(times.transfer)),
        micros_(index(shape.microbatches)),
        stages_(index(shape.stages)),
        front_(index(shape.stages)),
        forward_end_(index(positions(shape)) * micros_, unknown),
        backward_end_(forward_end_) {
    for (const PassDurations& place : times.places)
      places_.push_back(
          {ticks(place.forward), ticks(place.input_gradient), ticks(place.weight_gradient)});
    if (given != Given::nothing) kept_ = make_schedule(shape).stages;
    if (given == Given::all_but_weights)
      for (auto& passes : kept_)
        std::erase_if(passes,
                      [](const Pass& pass) { return pass.kind == PassKind::weight_gradient; });
    order_.shape = shape;
    order_.stages.resize(stages_.size());
    for (auto& passes : order_.stages) passes.reserve(3 * micros_ * index(shape.chunks));
  }

  void run() {
    while (const auto behind = front_.furthest_behind()) move(static_cast<int>(*behind));
    for (const StageState& stage : stages_) FORETRAIN_REQUIRE(finished(stage));
  }

  [[nodiscard]] Schedule take() { return std::move(order_); }

  /// From the first pass of a stage to the end of its last: the paper's cost of a schedule.
  [[nodiscard]] Ticks longest_stage() const {
    Ticks longest = 0;
    for (const StageState& stage : stages_) longest = std::max(longest, stage.clock - stage.first);
    return longest;
  }

 private:
  [[nodiscard]] bool finished(const StageState& stage) const {
    return stage.next_weight == micros_ * index(shape_.chunks);
  }

  [[nodiscard]] Ticks ready(const Pass& pass, int stage) const {
    if (pass.kind == PassKind::weight_gradient) return stages_[index(stage)].clock;
    const int position = position_of(shape_, {stage, pass.chunk});
    const bool forward = pass.kind == PassKind::forward;
    if (forward && position == 0) return 0;
    if (!forward && position + 1 == positions(shape_))
      return forward_end_[at(position, pass.micro)];
    const int before = forward ? position - 1 : position + 1;
    const Ticks end = (forward ? forward_end_ : backward_end_)[at(before, pass.micro)];
    if (end == unknown) return unknown;
    return end + (place_at(shape_, before, pass.micro).stage == stage ? 0 : transfer_);
  }

  [[nodiscard]] bool has_room(const StageState& stage) const {
    return stage.memory + activation_units <= memory_limit_;
  }
  [[nodiscard]] static bool has_weight(const StageState& stage) {
    return stage.next_weight < stage.weights.size();
  }
  [[nodiscard]] static Choice weight(const StageState& stage) {
    return {stage.weights[stage.next_weight], stage.clock};
  }

  [[nodiscard]] Choice choose_kept(int stage) const {
    const StageState& state = stages_[index(stage)];
    const std::vector<Pass>& kept = kept_[index(stage)];
    if (state.next_kept == kept.size()) return weight(state);
    const Pass& pass = kept[state.next_kept];
    const bool too_full = pass.kind == PassKind::forward && !has_room(state) && has_weight(state);
    if (given_ == Given::all_but_weights && too_full) return weight(state);
    return {pass, ready(pass, stage)};
  }

  [[nodiscard]] Choice choose_freely(int stage) const {
    const StageState& state = stages_[index(stage)];
    Choice input{{PassKind::input_gradient, 0, state.backwards}, unknown};
    Choice forward{{PassKind::forward, 0, state.forwards}, unknown};
    if (state.backwards < state.forwards) input.ready = ready(input.pass, stage);
    if (state.forwards < shape_.microbatches) forward.ready = ready(forward.pass, stage);
    if (input.ready <= state.clock) return input;
    if (!has_room(state))
      return forward.ready <= state.clock && has_weight(state) ? weight(state) : input;
    // The warm-up ends where one more forward pass would delay the first input gradient.
    const bool last_of_warm_up = state.backwards == 0 && forward.ready <= state.clock &&
                                 input.ready < state.clock + duration(stage, forward.pass);
    return last_of_warm_up || input.ready <= forward.ready ? input : forward;
  }

  /// A weight gradient fills a gap that it fits into, or one that would make this the idlest stage.
  [[nodiscard]] bool fills_gap(int stage, const Choice& choice) const {
    const StageState& state = stages_[index(stage)];
    if (given_ == Given::everything || !has_weight(state) || choice.ready <= state.clock)
      return false;
    if (choice.ready == unknown) return true;
    const Ticks gap = choice.ready - state.clock;
    return gap >= duration(stage, weight(state).pass) || state.idle + gap > most_idle_;
  }

  void move(int stage) {
    Choice choice = given_ == Given::nothing ? choose_freely(stage) : choose_kept(stage);
    StageState& state = stages_[index(stage)];
    if (fills_gap(stage, choice)) choice = weight(state);
    if (choice.ready == unknown)
      front_.set(index(stage), unknown);  // until a neighbour has run another pass
    else
      perform(stage, choice);
  }

  void perform(int stage, const Choice& choice) {
    StageState& state = stages_[index(stage)];
    const Ticks start = std::max(state.clock, choice.ready);
    if (state.first == unknown)
      state.first = start;
    else
      state.idle += start - state.clock;
    most_idle_ = std::max(most_idle_, state.idle);
    state.clock = start + duration(stage, choice.pass);
    order_.stages[index(stage)].push_back(choice.pass);
    account(stage, choice.pass);
    front_.set(index(stage), finished(state) ? unknown : state.clock);
    if (stage > 0) unblock(index(stage - 1));
    if (stage + 1 < shape_.stages) unblock(index(stage + 1));
  }

  void unblock(std::size_t stage) {
    if (!front_.moves(stage) && !finished(stages_[stage])) front_.set(stage, stages_[stage].clock);
  }

  void account(int stage, const Pass& pass) {
    StageState& state = stages_[index(stage)];
    const std::size_t done = at(position_of(shape_, {stage, pass.chunk}), pass.micro);
    if (pass.kind != PassKind::weight_gradient || given_ == Given::everything) ++state.next_kept;
    if (pass.kind == PassKind::forward) {
      ++state.forwards;
      state.memory += activation_units;
      forward_end_[done] = state.clock;
    } else if (pass.kind == PassKind::input_gradient) {
      ++state.backwards;
      state.memory -= activation_units - weight_units_;
      backward_end_[done] = state.clock;
      state.weights.push_back({PassKind::weight_gradient, pass.chunk, pass.micro});
    } else {
      ++state.next_weight;
      state.memory -= weight_units_;
    }
  }

  [[nodiscard]] std::size_t at(int position, int micro) const {
    return index(position) * micros_ + index(micro);
  }
  [[nodiscard]] Ticks duration(int stage, const Pass& pass) const {
    const PlaceTicks& times = places_[index(stage * shape_.chunks + pass.chunk)];
    if (pass.kind == PassKind::forward) return times.forward;
    return pass.kind == PassKind::input_gradient ? times.input_gradient : times.weight_gradient;
  }

  ScheduleShape shape_;
  Given given_;
  int memory_limit_;
  int weight_units_;
  Ticks transfer_;
  std::size_t micros_;
  std::vector<StageState> stages_;
  Front front_;
  std::vector<PlaceTicks> places_;  ///< by stage * chunks + chunk
  std::vector<Ticks> forward_end_;  ///< by position and micro-batch
  std::vector<Ticks> backward_end_;
  std::vector<std::vector<Pass>> kept_;
  Schedule order_;
  Ticks most_idle_ = 0;
};

}  // namespace

Schedule make_schedule(const ScheduleShape& shape, const ScheduleTimes& times) {
  const Fitted fitting = traits_of(shape.kind).fitted;
  if (fitting == Fitted::nothing) return make_schedule(shape);
  FORETRAIN_REQUIRE(is_legal(shape));
  FORETRAIN_REQUIRE(times.places.size() == index(shape.stages * shape.chunks));
  FORETRAIN_REQUIRE(0.0 <= times.weight_share && times.weight_share <= 1.0);
  TimedOrder handcrafted(shape, times, Given::everything);
  TimedOrder fitted(shape, times,
                    fitting == Fitted::all_passes ? Given::nothing : Given::all_but_weights);
  handcrafted.run();
  fitted.run();
  return (fitted.longest_stage() < handcrafted.longest_stage() ? fitted : handcrafted).take();
}

}  // namespace foretrain
