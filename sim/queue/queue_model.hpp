// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/quantity.hpp"
#include "sim/queue/job_laws.hpp"

namespace foretrain {

/// What an order may look at: a job that waits.
struct OrderedJob {
  Seconds submit;
  Seconds limit;  ///< that the user asked for
  int hosts = 1;
  double priority = 0.0;
};

struct QueuePolicy;

/// A way to order waiting jobs: the lowest key comes first, equal keys by submission. The key of a
/// job must not change while it waits.
struct QueueOrder {
  std::string_view name;
  std::string_view meaning;  ///< one sentence
  double (*key)(const OrderedJob&, const QueuePolicy&);
  bool by_team = false;  ///< teams by their decayed usage over share first, then by key
};

/// How many of the jobs that cannot start yet have hosts set aside for them, which jobs behind them
/// may use only as long as these are not delayed (by their time limits).
struct Backfill {
  std::string_view name;
  std::string_view meaning;
  int reservations = 0;  ///< 0: nothing behind the first job that must wait starts
};

/// What a rule for moldable jobs may look at: the moment at which one of them may start.
struct MoldingState {
  int free = 0;          ///< hosts
  int waiting_jobs = 1;  ///< that one among them
};

/// How many hosts moldable jobs start with: of their sizes the largest that is within the rule's
/// bound and can start now; the smallest is always within it.
struct MoldingRule {
  std::string_view name;
  std::string_view meaning;  ///< one sentence
  int (*most_hosts)(const MoldingState&);
};

/// Every order, kind of backfill and rule of molding there is. A new one is a row in
/// queue_model.cpp.
[[nodiscard]] std::span<const QueueOrder> queue_orders();
[[nodiscard]] std::span<const Backfill> backfills();
[[nodiscard]] std::span<const MoldingRule> molding_rules();
/// Null where there is none of that name.
[[nodiscard]] const QueueOrder* find_order(std::string_view name);
[[nodiscard]] const Backfill* find_backfill(std::string_view name);
[[nodiscard]] const MoldingRule* find_molding(std::string_view name);

/// Which hosts a job gets.
enum class HostPlacement {
  any,   ///< hosts are alike
  pack,  ///< the fullest leaf that holds the job, else as few leaves as possible
};

struct QueuePolicy {
  const QueueOrder* order = &queue_orders().front();      ///< fifo
  const Backfill* backfill = &backfills().front();        ///< none
  const MoldingRule* molding = &molding_rules().front();  ///< widest
  int depth = 500;  ///< waiting jobs that one pass looks at, as Slurm's bf_max_job_test
  double points_per_second = 0.0;    ///< of priority, gained by waiting
  Seconds half_life{7.0 * 86400.0};  ///< of usage, as Slurm's PriorityDecayHalfLife
  bool preempt = false;              ///< by jobs of higher priority, of classes that allow it
  HostPlacement placement = HostPlacement::any;
};

/// A size of jobs and how common it is.
struct JobSize {
  int hosts = 1;
  double weight = 1.0;
};

/// A number of hosts that a moldable job can start with.
struct MoldableSize {
  int hosts = 1;
  double speed = 1.0;       ///< the class's duration over that on these hosts
  double productive = 1.0;  ///< as QueueClass::productive
};

/// Jobs that are alike: where they come from, how many hosts they take, and for how long.
struct QueueClass {
  std::string name{};
  int team = 0;  ///< index of QueueModel::teams
  ArrivalLaw arrivals{};
  std::vector<JobSize> sizes{{}};  ///< not empty
  /// Chosen among when a job starts, and kept to its end; by hosts, more of them faster. Empty:
  /// jobs have the hosts of `sizes`, else `sizes` is the first of these.
  std::vector<MoldableSize> moldable{};
  DurationLaw duration{};     ///< on the hosts asked for, without failures of hosts
  double productive = 1.0;    ///< share of the duration that is productive time (goodput); in 0..1
  double limit_factor = 1.0;  ///< time limit over duration; below 1: jobs are killed at it
  std::optional<Seconds> limit{};  ///< the same limit for all jobs instead
  double priority = 0.0;
  bool preemptible = false;
  Seconds checkpoint_every{};  ///< zero: a job that is interrupted begins anew
  Seconds restart{};           ///< before productive time, after an interruption
  bool within_leaf = false;    ///< all hosts of a job on one leaf
  /// Duration of a job that starts on more leaves than it needs, over that of one that does not;
  /// at least 1. Limits by factor have room for it.
  double scattered_slowdown = 1.0;
  std::optional<Seconds> deadline{};  ///< after submission
  bool bursts = true;                 ///< whether QueueModel::burst_after holds for it

  [[nodiscard]] double mean_hosts() const;
  [[nodiscard]] int most_hosts() const;
};

struct QueueTeam {
  std::string name{};
  double share = 1.0;          ///< of fair-share; relative
  std::optional<int> quota{};  ///< most hosts at a time
};

/// Hosts that are taken out of what all jobs may use: for maintenance, or for one team.
struct QueueBlock {
  Seconds from{};
  Seconds lasts{};
  Seconds every{};  ///< zero: once
  int hosts = 0;
  std::optional<int> team{};  ///< absent: maintenance
};

/// Hosts that fail, one by one, as Poisson processes.
struct HostFailures {
  Seconds every{};   ///< mean time between failures of one host; zero: never
  Seconds repair{};  ///< mean, exponential
  int spares = 0;    ///< hosts beside QueueModel::hosts that stand in at once
};

/// A cluster and the jobs that want it.
struct QueueModel {
  int hosts = 1;
  int leaf_hosts = 0;  ///< hosts per leaf switch, rack or NVLink domain; zero: all on one
  HostFailures failures{};
  std::vector<QueueBlock> blocks{};
  std::vector<QueueTeam> teams{{}};   ///< not empty
  std::vector<QueueClass> classes{};  ///< not empty
  QueuePolicy policy{};
  /// Jobs that have waited that long for their first start leave for rented hosts, of which there
  /// are enough; the moldable with their fewest hosts. Absent: all jobs wait.
  std::optional<Seconds> burst_after{};
  Seconds horizon{};
  Seconds warm_up{};   ///< jobs submitted before are not counted. @pre < horizon
  bool loaded = true;  ///< starts with the jobs of an earlier time; false: empty
  std::uint64_t seed = 1;
};

[[nodiscard]] bool has_moldable(const QueueModel& model);

/// Host-seconds asked for per host-second there is, in the long run: below 1 the queue has a
/// steady state. Moldable jobs count with the size that takes least; limits and failures are not
/// looked at.
[[nodiscard]] double offered_load(const QueueModel& model);

/// Whether waits stay bounded however long the horizon is: a load below 1, or all may burst.
[[nodiscard]] bool has_steady_state(const QueueModel& model);

/// How long arrivals go on before time 0 so that a cluster that starts `loaded` is close to its
/// steady state: four relaxation times of a queue of that load, number of servers and variation of
/// durations, (1 + c^2) / 2 * mean duration / (servers (1 - sqrt(load))^2) of M/M/c (Cohen, The
/// Single Server Queue, 1982) scaled by variability, and as many durations; where jobs burst, four
/// times the longest wait and duration at most. Zero without steady state, or where nothing arrives
/// at a rate.
[[nodiscard]] Seconds lead_in(const QueueModel& model);

/// Whether nothing is drawn: every replication is the same.
[[nodiscard]] bool is_deterministic(const QueueModel& model);

/// Jobs submitted in one replication, lead-in included.
[[nodiscard]] double expected_jobs(const QueueModel& model);

}  // namespace foretrain
