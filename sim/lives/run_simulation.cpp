// SPDX-License-Identifier: Apache-2.0
#include "sim/lives/run_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/base/random.hpp"
#include "models/base/require.hpp"
#include "models/run/goodput.hpp"
#include "sim/flows/event_queue.hpp"

namespace foretrain {
namespace {

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

/// A run that takes this many times its ideal time counts as one that never ends.
constexpr double hopeless = 1000.0;

/// Fixed places in the queue; repairs and ends of slow spells come after them.
enum Slot : std::uint32_t {
  failure,
  next_phase,
  slow_begin,
  planned,
  preempted,
  finish,
  first_free
};

enum class Mode { waiting, recovering, running };

/// What the places after first_free stand for.
enum class Ending { repair, slow, loss, replaced };

class Life {
 public:
  Life(const RunModel& model, std::uint64_t seed, bool record)
      : model_{model}, random_{seed}, record_{record}, progress_{model} {}

  RunTrial live() {
    start();
    while (!queue_.empty()) {
      const EventQueue::Event event = queue_.top();
      if (event.time > hopeless * model_.ideal.value()) return endless();
      if (++events_ > most_run_events) return cut_off();
      queue_.erase(event.slot);
      advance(event.time);
      if (event.slot == Slot::finish) break;
      handle(event.slot);
    }
    trial_.checkpoints = progress_.checkpoints();
    return std::move(trial_);
  }

 private:
  void start() {
    draw_failure();
    for (std::uint32_t kind = 0; kind < model_.degraded.size(); ++kind) await_loss(kind);
    if (model_.slow_every > Seconds{}) at(Slot::slow_begin, random_.exponential(model_.slow_every));
    if (model_.planned_every > Seconds{}) at(Slot::planned, model_.planned_every.value());
    if (model_.preempted_every > Seconds{})
      at(Slot::preempted, random_.exponential(model_.preempted_every));
    if (model_.queue + model_.warm_up > Seconds{}) note(StopKind::start, 0.0);
    wait_then_recover(model_.queue.value(), Kindness::queue, 0.0, model_.warm_up.value());
  }

  /// Which row a wait counts in.
  enum class Kindness { queue, planned };

  void handle(std::uint32_t slot) {
    switch (slot) {
      case Slot::failure:
        fail();
        return;
      case Slot::next_phase:
        mode_ == Mode::waiting ? begin_recovery() : begin_running();
        return;
      case Slot::slow_begin:
        at(Slot::slow_begin, now_ + random_.exponential(model_.slow_every));
        begin_slow();
        return;
      case Slot::planned:
        at(Slot::planned, now_ + model_.planned_every.value());
        if (mode_ == Mode::running) stop_calmly(StopKind::planned);
        return;
      case Slot::preempted:
        at(Slot::preempted, now_ + random_.exponential(model_.preempted_every));
        preempt();
        return;
      default:
        end_of(slot);
    }
  }

  void at(std::uint32_t slot, double time) { queue_.set({time, ++number_, slot}); }

  // The clock of interruptions stands still while the job has no hosts.
  void draw_failure() {
    if (!model_.trace.empty()) {
      const std::size_t which = random_.below(model_.trace.size());
      const Seconds before = which == 0 ? Seconds{} : model_.trace[which - 1].at;
      until_failure_ = (model_.trace[which].at - before).value();
      down_ = model_.trace[which].down;
    } else {
      until_failure_ = model_.between > Seconds{} ? random_.exponential(model_.between)
                                                  : std::numeric_limits<double>::infinity();
    }
  }
  void expose() {
    if (std::isfinite(until_failure_)) at(Slot::failure, now_ + until_failure_);
  }
  void shelter() { queue_.erase(Slot::failure); }

  /// Lets time pass in the present mode.
  void advance(double time) {
    const double duration = std::max(0.0, time - now_);
    now_ = std::max(now_, time);
    RunSplit& split = trial_.split;
    if (mode_ != Mode::waiting) until_failure_ = std::max(0.0, until_failure_ - duration);
    switch (mode_) {
      case Mode::waiting:
        (kindness_ == Kindness::planned ? split.planned : split.waiting) += Seconds{duration};
        return;
      case Mode::recovering: {
        const double noticing = std::min(duration, detection_left_);
        detection_left_ -= noticing;
        split.detection += Seconds{noticing};
        split.restart += Seconds{duration - noticing};
        return;
      }
      case Mode::running: {
        double stalls = 0.0;
        const double steps = progress_.run(time, duration, pace(), stalls);
        split.checkpoints += Seconds{stalls};
        split.steps += Seconds{steps};
        split.evaluation += Seconds{steps * model_.evaluation};
        if (const double held = held_pace(); held != 1.0)
          split.slow += Seconds{(duration - stalls) * (1.0 - std::min(1.0, held))};
        return;
      }
    }
  }

  /// Share of full speed with the slow hosts and failed parts of now.
  [[nodiscard]] double held_pace() const {
    double pace = slow_now_ > 0 ? model_.slow_pace : 1.0;
    for (std::size_t kind = 0; kind < out_.size(); ++kind)
      pace *= model_.degraded[kind].pace(out_[kind]);
    return pace;
  }
  [[nodiscard]] double pace() const { return held_pace() / (1.0 + model_.evaluation); }

  void begin_running() {
    mode_ = Mode::running;
    at(Slot::finish, now_ + progress_.time_to_end(pace()));
    if (record_ && !trial_.stops.empty() && open_) trial_.stops.back().to = Seconds{now_};
    open_ = false;
  }

  void begin_recovery() {
    mode_ = Mode::recovering;
    expose();
    at(Slot::next_phase, now_ + recovery_left_);
  }

  /// Without hosts for `wait`, then on the way back for `detection` + `restart`.
  void wait_then_recover(double wait, Kindness kindness, double detection, double restart) {
    queue_.erase(Slot::finish);
    shelter();
    detection_left_ = detection;
    recovery_left_ = detection + restart;
    kindness_ = kindness;
    mode_ = Mode::waiting;
    if (hosts_out_ > model_.spares && model_.spares >= 0) {
      queue_.erase(Slot::next_phase);  // a repair goes on from here
      return;
    }
    if (wait > 0.0)
      at(Slot::next_phase, now_ + wait);
    else
      begin_recovery();
  }

  void note(StopKind kind, double lost) {
    if (!record_) return;
    if (!open_) trial_.stops.push_back({kind, Seconds{now_}, Seconds{now_}, Seconds{lost}, 0});
    open_ = true;
    if (kind != StopKind::start) ++trial_.stops.back().interruptions;
  }

  double lose() {
    if (mode_ != Mode::running) return 0.0;
    const double lost = progress_.lose(now_);
    trial_.split.steps = max(Seconds{}, trial_.split.steps - Seconds{lost});
    trial_.split.lost += Seconds{lost};
    return lost;
  }

  void fail() {
    trial_.interruptions += 1.0;
    note(StopKind::interruption, lose());
    const std::optional<Seconds> down = down_;
    draw_failure();
    if (model_.spares >= 0 && random_.uniform() <= model_.spare_share) {
      ++hosts_out_;
      at(take_slot(Ending::repair), now_ + random_.exponential(model_.repair));
    }
    const double restart = (model_.reschedule + model_.reload + model_.warm_up).value();
    if (down)
      wait_then_recover(0.0, Kindness::queue, 0.0, down->value());
    else
      wait_then_recover(0.0, Kindness::queue, model_.detection.value(), restart);
  }

  /// A stop that leaves time for a checkpoint.
  void stop_calmly(StopKind kind) {
    progress_.save();
    note(kind, 0.0);
    const double back = (model_.reload + model_.warm_up).value();
    const double save = model_.save().value();
    if (kind == StopKind::planned)
      wait_then_recover(save + model_.planned_pause.value(), Kindness::planned, 0.0, back);
    else if (kind == StopKind::preemption)
      wait_then_recover(save + model_.preempted_wait.value(), Kindness::queue, 0.0, back);
    else
      wait_then_recover(save, Kindness::planned, 0.0, model_.reschedule.value() + back);
  }

  void preempt() {
    if (mode_ == Mode::waiting) return;
    if (model_.preempted_warned && mode_ == Mode::running) {
      stop_calmly(StopKind::preemption);
      return;
    }
    trial_.interruptions += 1.0;
    note(StopKind::preemption, lose());
    wait_then_recover(model_.preempted_wait.value(), Kindness::queue, 0.0,
                      (model_.reload + model_.warm_up).value());
  }

  std::uint32_t take_slot(Ending ending, std::uint32_t kind = 0) {
    if (free_.empty()) {
      endings_.push_back(ending);
      begun_.push_back(now_);
      kinds_.push_back(kind);
      return Slot::first_free + static_cast<std::uint32_t>(endings_.size() - 1);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    endings_[slot - Slot::first_free] = ending;
    begun_[slot - Slot::first_free] = now_;
    kinds_[slot - Slot::first_free] = kind;
    return slot;
  }

  void begin_slow() {
    ++slow_now_;
    at(take_slot(Ending::slow), now_ + random_.exponential(model_.slow_lasts));
    if (mode_ == Mode::running) at(Slot::finish, now_ + progress_.time_to_end(pace()));
  }

  void await_loss(std::uint32_t kind) {
    at(take_slot(Ending::loss, kind), now_ + random_.exponential(model_.degraded[kind].every));
  }

  /// One part more is out, or one less.
  void change_parts(std::uint32_t slot, Ending ending) {
    const std::uint32_t kind = kinds_[slot - Slot::first_free];
    if (ending == Ending::loss) {
      ++out_[kind];
      at(take_slot(Ending::replaced, kind),
         now_ + random_.exponential(model_.degraded[kind].lasts));
      await_loss(kind);
    } else {
      --out_[kind];
      if (record_) trial_.slow.push_back({Seconds{begun_[slot - Slot::first_free]}, Seconds{now_}});
    }
    if (mode_ == Mode::running) at(Slot::finish, now_ + progress_.time_to_end(pace()));
  }

  /// A repair or a slow spell is over, or a part is lost or back.
  void end_of(std::uint32_t slot) {
    free_.push_back(slot);
    const Ending ending = endings_[slot - Slot::first_free];
    if (ending == Ending::loss || ending == Ending::replaced) return change_parts(slot, ending);
    if (endings_[slot - Slot::first_free] == Ending::slow) {
      --slow_now_;
      if (record_) trial_.slow.push_back({Seconds{begun_[slot - Slot::first_free]}, Seconds{now_}});
      if (mode_ != Mode::running) return;
      if (model_.slow_restart)
        stop_calmly(StopKind::slow_member);
      else
        at(Slot::finish, now_ + progress_.time_to_end(pace()));
      return;
    }
    const bool short_of_hosts = hosts_out_ > model_.spares;
    --hosts_out_;
    if (short_of_hosts && hosts_out_ <= model_.spares) begin_recovery();
  }

  RunTrial endless() {
    trial_.split.lost = Seconds{std::numeric_limits<double>::infinity()};
    return std::move(trial_);
  }

  /// As endless() where productive time comes as slowly as that, else the part that was simulated.
  RunTrial cut_off() {
    if (hopeless * (model_.ideal.value() - progress_.left()) <= now_) return endless();
    trial_.complete = false;
    return std::move(trial_);
  }

  const RunModel& model_;
  Random random_;
  bool record_;
  RunProgress progress_;
  EventQueue queue_;
  std::uint64_t number_ = 0;
  std::int64_t events_ = 0;
  double now_ = 0.0;
  Mode mode_ = Mode::waiting;
  Kindness kindness_ = Kindness::queue;
  double detection_left_ = 0.0;
  double recovery_left_ = 0.0;
  double until_failure_ = 0.0;
  std::optional<Seconds> down_;
  int hosts_out_ = 0;
  int slow_now_ = 0;
  bool open_ = false;  ///< the last recorded stop goes on
  std::vector<Ending> endings_;
  std::vector<double> begun_;
  std::vector<std::uint32_t> kinds_;  ///< of parts that are lost, by place
  std::vector<int> out_ = std::vector<int>(model_.degraded.size());
  std::vector<std::uint32_t> free_;
  RunTrial trial_;
};

}  // namespace

RunTrial simulate_run(const RunModel& model, std::uint64_t seed, bool record) {
  FORETRAIN_REQUIRE(model.ideal > Seconds{} && model.every > Seconds{} && model.lag <= model.every);
  return Life{model, seed, record}.live();
}

}  // namespace foretrain
