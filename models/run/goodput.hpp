// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/base/prediction.hpp"
#include "models/base/quantity.hpp"
#include "models/inputs/operations.hpp"

namespace foretrain {

/// What Meta's formula looks at.
struct Interruptions {
  Seconds between;  ///< mean time between interruptions of the whole job
  Seconds restart;  ///< detection, rescheduling, reload
  Seconds every;    ///< between checkpoints
  Seconds stall;    ///< that one checkpoint stops training
};

/// Effective training time ratio to first order (Meta, arXiv 2410.21680):
///   (1 - (restart + every / 2) / between) / (1 + stall / every)
/// In 0..1; 0 when an interruption costs more than the time between two.
/// @pre between, every > 0; restart, stall >= 0.
[[nodiscard]] double ettr(const Interruptions& interruptions);

/// Time between checkpoints that loses least, to first order: sqrt(2 stall between) (Young, CACM
/// 17(9), 1974). @pre stall >= 0; between > 0.
[[nodiscard]] Seconds young_interval(Seconds stall, Seconds between);

/// The same to higher order (Daly, FGCS 22(3), 2006, equation 37). @pre as young_interval()
[[nodiscard]] Seconds daly_interval(Seconds stall, Seconds between);

/// Probability that all of `servers` are busy when `load` of them are wanted on average (Erlang B).
/// @pre servers >= 0; load >= 0.
[[nodiscard]] double erlang_loss(int servers, double load);

/// Parts that fail while the job runs on, slower, and are repaired each by itself.
struct Degradation {
  Seconds every;              ///< mean time between failures of any of them (exponential)
  Seconds lasts;              ///< mean time to repair one (exponential)
  std::vector<double> paces;  ///< of the job with 1, 2, ... of them out; the last for more

  [[nodiscard]] double pace(int out) const;
  /// Over time: the number that is out is Poisson distributed (M/M/infinity).
  [[nodiscard]] double mean_pace() const;
};

/// The life of a job as random processes, all inputs known. A time of zero stands for "never" where
/// it is a distance, and for "nothing" where it is a cost.
struct RunModel {
  Seconds ideal;              ///< of the steps back to back
  Seconds between;            ///< mean time between unannounced interruptions (exponential)
  std::vector<Outage> trace;  ///< recorded ones instead: their gaps, drawn again and again
  Seconds detection;          ///< of an interruption
  Seconds reschedule;         ///< until hosts are assigned again
  Seconds reload;             ///< of the checkpoint
  Seconds warm_up;            ///< at every start
  Seconds every;              ///< running time between checkpoints
  Seconds stall;              ///< that one stops training
  Seconds lag;                ///< until it is safe, after the stall
  double evaluation = 0.0;    ///< pause per time of steps
  Seconds planned_every;      ///< announced stops, after a checkpoint
  Seconds planned_pause;      ///< of such a stop, before the reload
  Seconds slow_every;         ///< mean time between episodes of a slow member
  double slow_pace = 1.0;     ///< of the job during one
  Seconds slow_lasts;         ///< mean, exponential
  bool slow_restart = false;  ///< each ends in a restart after a checkpoint
  std::vector<Degradation> degraded;
  Seconds preempted_every;        ///< mean time between losses of capacity
  Seconds preempted_wait;         ///< until it is back
  bool preempted_warned = false;  ///< early enough for a checkpoint
  int spares = -1;                ///< hosts; below zero: always one at hand
  Seconds repair;                 ///< mean, exponential
  double spare_share = 1.0;       ///< of interruptions that take a host out
  Seconds queue;                  ///< before the first start

  /// From an interruption to steps again, hosts at hand.
  [[nodiscard]] Seconds recovery() const { return detection + reschedule + reload + warm_up; }
  /// Writing a checkpoint while nothing else goes on.
  [[nodiscard]] Seconds save() const { return stall + lag; }
};

/// Where the time of the run goes, in expectation: Daly's complete model (FGCS 2006) of exponential
/// interruptions that may also strike during recovery, extended by checkpoints that are safe only
/// later, announced stops, stragglers (any number at a time, the job at the pace of one), waiting
/// for repaired hosts (Erlang's loss formula) and evaluation. Infinite rows where no progress is
/// made. @pre ideal, every > 0
[[nodiscard]] RunSplit expect_run(const RunModel& model);

/// Expected number of unannounced interruptions in a run of that length.
[[nodiscard]] double expected_interruptions(const RunModel& model, const RunSplit& split);

/// The `every` with the shortest expect_run(), not below `least`. @pre least > 0
[[nodiscard]] Seconds best_interval(const RunModel& model, Seconds least);

/// Most that one interruption may cost in total (lost work, detection, restart) for a share
/// `goodput` of the time to be productive time. @pre between > 0; 0 < goodput <= 1
[[nodiscard]] Seconds affordable_interruption(Seconds between, double goodput);

}  // namespace foretrain
