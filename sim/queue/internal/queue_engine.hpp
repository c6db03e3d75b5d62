// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "models/base/random.hpp"
#include "sim/queue/internal/host_pool.hpp"
#include "sim/queue/internal/job_stream.hpp"
#include "sim/queue/queue_run.hpp"

namespace foretrain::internal {

/// What the cluster is doing at an instant.
struct QueueState {
  int waiting_jobs = 0;
  std::int64_t waiting_hosts = 0;
  int allocated = 0;  ///< hosts
  int down = 0;
};

/// Books of one replication: integrals over time, clipped to the counted stretch and to the bins.
class QueueTally {
 public:
  QueueTally(const QueueModel& model, const QueueRunOptions& options);

  /// The state held from `from` to `to`.
  void held(const QueueState& state, double from, double to);
  /// Seconds of [from, to) between warm-up and horizon.
  [[nodiscard]] double counted(double from, double to) const;
  [[nodiscard]] bool counts(double time) const { return time >= warm_up_ && time < horizon_; }

  [[nodiscard]] QueueSample& sample() { return sample_; }
  [[nodiscard]] QueueSample finish();

 private:
  void add_to_bins(const QueueState& state, double from, double to);

  QueueSample sample_;
  double warm_up_;
  double horizon_;
  double bin_s_;
};

/// A job that waits or runs; times in seconds.
struct QueueJob {
  double submit = 0.0;
  double asked = 0.0;        ///< duration at a speed of 1
  double asked_limit = 0.0;  ///< that of a speed of 1
  double duration = 0.0;     ///< on hosts without interruptions
  double limit = 0.0;
  double productive = 1.0;
  double slowdown = 1.0;  ///< by sharing leaves
  double kept = 0.0;      ///< of the duration: done and safe from interruptions
  double begun = 0.0;     ///< start of this stretch
  double restart = 0.0;   ///< of this stretch, before the rest of it counts
  double ends_by = 0.0;   ///< end of this stretch by the time limit
  double key = 0.0;       ///< place in the queue
  std::uint64_t number = 0;
  Places places{};
  int job_class = 0;
  int team = 0;
  std::size_t place = 0;  ///< in the list of its class
  int hosts = 1;
  std::uint32_t stretch = 0;  ///< counts interruptions: events of earlier stretches are void
  bool counted = false;
  bool started = false;

  /// What of the duration and the limit is used.
  [[nodiscard]] double whole() const { return duration < limit ? duration : limit; }
};

/// In the order in which things happen at one instant.
enum class QueueEventKind : std::uint8_t { end, repair, edge, failure, arrival, release, burst };

struct QueueEvent {
  double time = 0.0;
  std::uint64_t number = 0;
  std::uint32_t subject = 0;  ///< job's slot, class, leaf or block
  std::uint32_t stretch = 0;
  QueueEventKind kind = QueueEventKind::end;

  [[nodiscard]] bool operator>(const QueueEvent& other) const {
    if (time != other.time) return time > other.time;
    if (kind != other.kind) return kind > other.kind;
    return number > other.number;
  }
};

/// A place in the queue.
struct WaitingKey {
  double key = 0.0;
  std::uint64_t number = 0;
  std::uint32_t slot = 0;

  [[nodiscard]] bool operator<(const WaitingKey& other) const {
    return key != other.key ? key < other.key : number < other.number;
  }
};
using WaitingList = std::set<WaitingKey>;

/// One replication. queue_engine.cpp has what happens, queue_pass.cpp who starts, queue_blocks.cpp
/// maintenance and reservations, queue_interruptions.cpp failures and preemption,
/// queue_blocks.cpp jobs that follow others.
class QueueEngine {
 public:
  QueueEngine(const QueueModel& model, const QueueRunOptions& options);
  [[nodiscard]] QueueSample run();

 private:
  // What happens.
  void push(double time, QueueEventKind kind, std::uint32_t subject, std::uint32_t stretch = 0);
  void push_arrival(std::size_t job_class);
  void handle(const QueueEvent& event);
  void on_arrival(std::size_t job_class);
  void submit(std::size_t job_class, const DrawnJob& drawn);
  [[nodiscard]] bool waits_for_another(std::size_t job_class, const DrawnJob& drawn);
  void release_at(double time, std::size_t job_class, const DrawnJob& drawn);
  void let_followers_go(const QueueJob& ended, double end);
  void on_end(std::uint32_t slot);
  void on_burst(std::uint32_t slot);
  void count_end(QueueJob& ended, double turnaround);
  void advance(double time);
  void close();
  [[nodiscard]] bool over() const;
  [[nodiscard]] bool stuck();
  void check_size() const;

  // Jobs.
  [[nodiscard]] QueueJob& job(std::uint32_t slot) { return jobs_[slot]; }
  [[nodiscard]] const QueueClass& class_of(const QueueJob& job) const {
    return model_.classes[static_cast<std::size_t>(job.job_class)];
  }
  [[nodiscard]] std::size_t team_of(const QueueJob& job) const {
    return static_cast<std::size_t>(job.team);
  }
  [[nodiscard]] std::uint32_t new_slot();
  void enqueue(std::uint32_t slot);
  void dequeue(std::uint32_t slot);
  [[nodiscard]] int least_hosts(const QueueJob& waiting) const;
  void begin(std::uint32_t slot);
  void count_start(QueueJob& started);
  [[nodiscard]] bool is_scattered(const QueueJob& started) const;
  void schedule_end(std::uint32_t slot);
  void release(std::uint32_t slot);
  void account(QueueJob& ended, double kept, bool ends);
  void record(const QueueJob& stretch, bool ends);
  void insert_running(std::uint32_t slot);
  void erase_running(std::uint32_t slot);

  // Who starts.
  void pass();
  bool pass_over(WaitingList& list, int& looked_at);
  void look_at_arrivals();
  bool try_start(std::uint32_t slot);
  [[nodiscard]] bool can_start_in_a_size(QueueJob& waiting);
  void give_size(QueueJob& waiting, std::size_t size) const;
  bool preempt_for(const QueueJob& wanting);
  [[nodiscard]] bool quota_holds(const QueueJob& waiting) const;
  [[nodiscard]] bool can_start(const QueueJob& waiting);
  void hold_back(const WaitingKey& waiting);
  void make_reservations();
  void reserve(const QueueJob& waiting, double from);
  void build_profile();
  void rank_teams();
  void book_usage(double lasts);
  [[nodiscard]] WaitingList& list_of(const QueueJob& waiting);

  // Maintenance and reservations.
  [[nodiscard]] bool blocks_let(const QueueJob& waiting) const;
  [[nodiscard]] int used_at(double time, int team) const;
  [[nodiscard]] int claim_at(const QueueBlock& block, double time) const;
  [[nodiscard]] std::vector<double> starts_within(const QueueBlock& block, double until) const;
  [[nodiscard]] int own_hosts_left(const QueueJob& waiting) const;
  void add_blocks(std::vector<std::pair<double, int>>& changes, double from) const;
  void push_edge(std::size_t block, double after);

  // Failures and preemption.
  void push_failure();
  void on_failure();
  void fail_idle_host();
  void fail_host_of(std::uint32_t slot);
  void on_repair(std::uint32_t leaf);
  void interrupt(std::uint32_t slot);
  void stop_and_requeue(std::uint32_t slot);

  const QueueModel& model_;
  const QueueRunOptions& options_;
  QueueTally tally_;
  HostPool pool_;
  Random failures_;
  std::vector<JobStream> streams_;
  std::vector<DrawnJob> coming_;  ///< next of each class
  /// When jobs of a list ended, by class and place; empty where none follows another.
  std::vector<std::vector<double>> ended_at_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<DrawnJob>> followers_;
  std::vector<std::pair<std::size_t, DrawnJob>> released_;  ///< by the subject of their event

  std::priority_queue<QueueEvent, std::vector<QueueEvent>, std::greater<>> events_;
  std::vector<QueueJob> jobs_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<WaitingList> waiting_;                      ///< by team where the order says so
  std::map<int, int> waiting_sizes_;                      ///< waiting jobs by hosts
  std::vector<std::size_t> team_order_;                   ///< of waiting_
  std::vector<std::pair<double, std::uint32_t>> by_end_;  ///< running, by ends_by
  std::vector<std::uint32_t> arrived_;                    ///< since the last pass
  std::vector<int> team_hosts_;                           ///< in use
  std::vector<double> usage_;                             ///< decayed host-seconds of teams

  FreeProfile profile_;
  bool pass_due_ = false;     ///< more than arrivals happened
  bool has_profile_ = false;  ///< profile_ is that of running jobs and reservations
  double pass_time_ = 0.0;    ///< of the last pass; profile_ begins there
  int reserved_ = 0;          ///< jobs with reservations, made or not
  /// Jobs whose reservations are not in profile_ yet, and when they were held back.
  std::vector<std::pair<std::uint32_t, double>> unplaced_;
  WaitingKey last_waiting_{};  ///< of those that the pass held back, the last in order
  bool held_back_ = false;     ///< any

  QueueState state_;
  double now_ = 0.0;
  double arrivals_end_ = 0.0;
  std::uint64_t numbers_ = 0;
  std::uint64_t event_numbers_ = 0;
  std::int64_t handled_ = 0;
  std::int64_t next_look_ = 0;
  std::int64_t open_ = 0;  ///< counted jobs that have not ended
  int spares_ = 0;         ///< at hand
  int idle_edges_ = 0;     ///< one after the other without anything running
};

}  // namespace foretrain::internal
