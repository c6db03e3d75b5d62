// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "models/run/goodput.hpp"

namespace foretrain::internal {

/// Progress of the steps and of the checkpoints that save them, all in seconds of steps at full
/// speed except where it says otherwise.
class RunProgress {
 public:
  explicit RunProgress(const RunModel& model)
      : model_{model}, cycle_{model.every.value() + model.stall.value()} {}

  [[nodiscard]] double left() const { return model_.ideal.value() - work_; }
  [[nodiscard]] double checkpoints() const { return checkpoints_; }

  /// Running time until the last step, at `pace` steps' time per second.
  [[nodiscard]] double time_to_end(double pace) const {
    const double every = model_.every.value();
    const double first = std::max(0.0, every - phase_);
    double rest = left();
    if (rest <= pace * first) return rest / pace;
    rest -= pace * first;
    // The cycle in which the last step falls has no checkpoint at its end any more.
    const double full = std::ceil(rest / (pace * every)) - 1.0;
    return cycle_ - phase_ + full * cycle_ + (rest - full * pace * every) / pace;
  }

  /// Runs until `now`, for `duration`. Adds stalls to `stalls`; returns the steps done.
  double run(double now, double duration, double pace, double& stalls) {
    const double before = work_;
    double rest = duration;
    if (phase_ + rest >= cycle_) {
      rest -= cycle_ - phase_;
      in_cycle(std::max(0.0, cycle_ - phase_), pace, stalls);
      complete(now - rest);
      const double full = std::floor(rest / cycle_);
      if (full > 0.0) {
        rest = std::max(0.0, rest - full * cycle_);
        work_ += full * pace * model_.every.value();
        stalls += full * model_.stall.value();
        checkpoints_ += full - 1.0;
        captured_ = work_;
        pending_ = work_ - pace * model_.every.value();  // of the cycle before the last
        complete(now - rest);
      }
    }
    in_cycle(rest, pace, stalls);
    return work_ - before;
  }

  /// Falls back to what was safe at `now`; returns the steps that are lost.
  double lose(double now) {
    if (safe_at_ <= now) saved_ = pending_;
    const double lost = work_ - saved_;
    restart();
    return lost;
  }

  /// Saves everything and begins a new cycle.
  void save() {
    saved_ = work_;
    ++checkpoints_;
    restart();
  }

 private:
  /// Part of one cycle: steps, then the stall. What the checkpoint holds is fixed when it begins.
  void in_cycle(double duration, double pace, double& stalls) {
    const double steps = std::clamp(model_.every.value() - phase_, 0.0, duration);
    work_ += steps * pace;
    if (phase_ < model_.every.value()) captured_ = work_;
    stalls += duration - steps;
    phase_ += duration;
  }

  /// The checkpoint of a cycle that ends at `time`; the one before is safe by now.
  void complete(double time) {
    saved_ = pending_;
    pending_ = captured_;
    safe_at_ = time + model_.lag.value();
    phase_ = 0.0;
    ++checkpoints_;
  }

  void restart() {
    work_ = saved_;
    pending_ = saved_;
    captured_ = saved_;
    safe_at_ = 0.0;
    phase_ = 0.0;
  }

  const RunModel& model_;
  double cycle_;
  double phase_ = 0.0;  ///< running time in this cycle
  double work_ = 0.0;
  double captured_ = 0.0;
  double pending_ = 0.0;
  double safe_at_ = 0.0;
  double saved_ = 0.0;
  double checkpoints_ = 0.0;
};

}  // namespace foretrain::internal
