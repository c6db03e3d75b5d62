// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "models/base/require.hpp"
#include "models/base/too_large.hpp"
#include "sim/queue/internal/queue_engine.hpp"

namespace foretrain {
namespace internal {
namespace {

/// One event takes as long as a look at so many waiting jobs.
constexpr std::int64_t effort_of_event = 8;
/// Events between two looks at the stop flag.
constexpr std::int64_t patience = 4096;
/// Jobs shorter than that count as that long in the bounded slowdown (Feitelson, JSSPP 1998).
constexpr double slowdown_bound_s = 10.0;
/// Edges of blocks in a row at which nothing runs before jobs that still wait count as unable to.
constexpr int most_idle_edges = 1000;

/// Seeds of streams: replication and purpose, far apart.
std::uint64_t seed_of(const QueueModel& model, int replication, std::size_t purpose) {
  Random mix{model.seed * 0x9E3779B97F4A7C15ULL +
             static_cast<std::uint64_t>(replication) * 0xD1B54A32D192ED03ULL + purpose};
  return mix.bits();
}

}  // namespace

QueueEngine::QueueEngine(const QueueModel& model, const QueueRunOptions& options)
    : model_{model},
      options_{options},
      tally_{model, options},
      pool_{model.hosts, model.leaf_hosts, model.policy.placement},
      failures_{seed_of(model, options.replication, 0)},
      coming_(model.classes.size()),
      waiting_(model.policy.order->by_team ? model.teams.size() : 1),
      team_hosts_(model.teams.size(), 0),
      usage_(model.teams.size(), 0.0),
      spares_{model.failures.spares} {
  const Seconds from = -lead_in(model);
  now_ = std::min(0.0, from.value());
  arrivals_end_ = 2.0 * model.horizon.value();
  for (std::size_t i = 0; i < waiting_.size(); ++i) team_order_.push_back(i);
  for (std::size_t i = 0; i < model.classes.size(); ++i) {
    streams_.emplace_back(model.classes[i], seed_of(model, options.replication, i + 1), from);
    const auto& listed = model.classes[i].arrivals.listed;
    const bool follow =
        std::ranges::any_of(listed, [](const ListedJob& job) { return job.after.has_value(); });
    ended_at_.emplace_back(follow ? listed.size() : 0, std::numeric_limits<double>::infinity());
    push_arrival(i);
  }
  for (std::size_t i = 0; i < model.blocks.size(); ++i)
    push_edge(i, -std::numeric_limits<double>::infinity());
  push_failure();
}

QueueSample QueueEngine::run() {
  while (!events_.empty() && !over()) {
    const double time = events_.top().time;
    advance(time);
    while (!events_.empty() && events_.top().time == time) {
      const QueueEvent event = events_.top();
      events_.pop();
      handle(event);
    }
    if (pass_due_)
      pass();
    else if (!arrived_.empty())
      look_at_arrivals();
    if (stuck()) break;
    check_size();
    if (handled_ >= next_look_) {
      next_look_ = handled_ + patience;
      if (options_.stop != nullptr && options_.stop->load()) return tally_.finish();
    }
  }
  close();
  return tally_.finish();
}

/// Books what still runs, and jobs that never ended.
void QueueEngine::close() {
  advance(std::max(now_, model_.horizon.value()));
  for (const auto& entry : by_end_) {
    QueueJob& running = jobs_[entry.second];
    account(running, std::max(0.0, now_ - running.begun - running.restart), true);
  }
  for (const QueueJob& left : jobs_)
    if (left.counted)
      ++tally_.sample().classes[static_cast<std::size_t>(left.job_class)].unfinished;
  tally_.sample().complete = true;
}

/// Counted jobs have all come and ended.
bool QueueEngine::over() const {
  return open_ == 0 && events_.top().time >= model_.horizon.value();
}

/// Nothing runs or comes, and blocks alone go on: what waits can never start.
bool QueueEngine::stuck() {
  if (!by_end_.empty() || now_ < arrivals_end_) {
    idle_edges_ = 0;
    return false;
  }
  return ++idle_edges_ > most_idle_edges;
}

void QueueEngine::check_size() const {
  if (state_.waiting_jobs > most_waiting_jobs)
    throw TooLarge("more than " + std::to_string(most_waiting_jobs) +
                   " jobs wait at a time; give the cluster more hosts, or a shorter horizon");
  if (handled_ > most_queue_events)
    throw TooLarge("one replication has more than " + std::to_string(most_queue_events) +
                   " events; a shorter horizon, or checkpoints and fewer failures, would end");
}

void QueueEngine::push(double time, QueueEventKind kind, std::uint32_t subject,
                       std::uint32_t stretch) {
  events_.push({time, ++event_numbers_, subject, stretch, kind});
}

void QueueEngine::push_arrival(std::size_t job_class) {
  const auto next = streams_[job_class].next();
  if (!next || next->submit >= arrivals_end_) return;
  coming_[job_class] = *next;
  push(next->submit, QueueEventKind::arrival, static_cast<std::uint32_t>(job_class));
}

void QueueEngine::handle(const QueueEvent& event) {
  ++handled_;
  tally_.sample().effort += effort_of_event;
  switch (event.kind) {
    case QueueEventKind::end:
      if (jobs_[event.subject].stretch == event.stretch) on_end(event.subject);
      return;
    case QueueEventKind::repair:
      on_repair(event.subject);
      return;
    case QueueEventKind::edge:
      pass_due_ = true;
      push_edge(event.subject, now_);
      return;
    case QueueEventKind::failure:
      on_failure();
      return;
    case QueueEventKind::arrival:
      on_arrival(event.subject);
      return;
    case QueueEventKind::release: {
      auto [job_class, job] = released_[event.subject];
      job.submit = now_;
      submit(job_class, job);
      return;
    }
    case QueueEventKind::burst:
      if (jobs_[event.subject].stretch == event.stretch) on_burst(event.subject);
      return;
  }
}

void QueueEngine::advance(double time) {
  tally_.held(state_, now_, time);
  book_usage(time - now_);
  now_ = time;
}

/// Usage of teams so far decays; what they have in use adds to it. Hosts are given back and taken
/// at instants alone, so that in between each team holds what it holds now.
void QueueEngine::book_usage(double lasts) {
  if (!model_.policy.order->by_team || lasts <= 0.0) return;
  const double half_life = model_.policy.half_life.value();
  const double decay = std::exp2(-lasts / half_life);
  const double gain = (1.0 - decay) * half_life / std::numbers::ln2;
  for (std::size_t i = 0; i < usage_.size(); ++i)
    usage_[i] = usage_[i] * decay + team_hosts_[i] * gain;
}

/// What a job takes at least: one that has started keeps its hosts.
int QueueEngine::least_hosts(const QueueJob& waiting) const {
  const std::vector<MoldableSize>& sizes = class_of(waiting).moldable;
  return waiting.started || sizes.empty() ? waiting.hosts : sizes.front().hosts;
}

void QueueEngine::give_size(QueueJob& waiting, std::size_t size) const {
  const MoldableSize& given = class_of(waiting).moldable[size];
  waiting.hosts = given.hosts;
  waiting.duration = waiting.asked / given.speed;
  waiting.limit = class_of(waiting).limit ? waiting.asked_limit : waiting.asked_limit / given.speed;
  waiting.productive = given.productive;
}

std::uint32_t QueueEngine::new_slot() {
  if (!free_slots_.empty()) {
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  jobs_.emplace_back();
  return static_cast<std::uint32_t>(jobs_.size() - 1);
}

void QueueEngine::on_arrival(std::size_t job_class) {
  const DrawnJob drawn = coming_[job_class];
  if (!waits_for_another(job_class, drawn)) submit(job_class, drawn);
  push_arrival(job_class);
}

void QueueEngine::submit(std::size_t job_class, const DrawnJob& drawn) {
  const std::uint32_t slot = new_slot();
  QueueJob& arrived = jobs_[slot];
  const std::uint32_t stretch = arrived.stretch + 1;  // events of an earlier user of the slot
  Places places = std::move(arrived.places);
  arrived = QueueJob{};
  arrived.places = std::move(places);
  arrived.stretch = stretch;
  arrived.submit = drawn.submit;
  arrived.asked = arrived.duration = drawn.duration;
  arrived.asked_limit = arrived.limit = drawn.limit;
  arrived.hosts = drawn.hosts;
  arrived.job_class = static_cast<int>(job_class);
  arrived.team = drawn.team.value_or(class_of(arrived).team);
  arrived.place = drawn.place;
  arrived.productive = class_of(arrived).productive;
  if (!class_of(arrived).moldable.empty()) give_size(arrived, 0);
  arrived.number = numbers_++;
  arrived.counted = tally_.counts(drawn.submit);
  arrived.key = model_.policy.order->key(
      {Seconds{drawn.submit}, Seconds{arrived.limit}, arrived.hosts, class_of(arrived).priority},
      model_.policy);
  if (arrived.counted) ++open_;
  ++tally_.sample().simulated;
  enqueue(slot);
  arrived_.push_back(slot);
  if (model_.burst_after && class_of(arrived).bursts)
    push(now_ + model_.burst_after->value(), QueueEventKind::burst, slot, stretch);
}

WaitingList& QueueEngine::list_of(const QueueJob& waiting) {
  return waiting_[waiting_.size() == 1 ? 0 : team_of(waiting)];
}

void QueueEngine::enqueue(std::uint32_t slot) {
  const QueueJob& waiting = jobs_[slot];
  WaitingList& list = list_of(waiting);
  list.insert(list.end(), {waiting.key, waiting.number, slot});
  ++state_.waiting_jobs;
  ++waiting_sizes_[least_hosts(waiting)];
  state_.waiting_hosts += least_hosts(waiting);
}

void QueueEngine::dequeue(std::uint32_t slot) {
  const QueueJob& leaving = jobs_[slot];
  const int hosts = least_hosts(leaving);
  list_of(leaving).erase({leaving.key, leaving.number, slot});
  --state_.waiting_jobs;
  if (--waiting_sizes_[hosts] == 0) waiting_sizes_.erase(hosts);
  state_.waiting_hosts -= hosts;
}

/// Takes the job out of the queue onto hosts.
void QueueEngine::begin(std::uint32_t slot) {
  QueueJob& starting = jobs_[slot];
  dequeue(slot);
  state_.allocated += starting.hosts;
  team_hosts_[team_of(starting)] += starting.hosts;
  pool_.take(starting.hosts, class_of(starting).within_leaf, starting.places);
  starting.restart = starting.started ? class_of(starting).restart.value() : 0.0;
  if (!starting.started) {
    if (is_scattered(starting)) {
      starting.slowdown = class_of(starting).scattered_slowdown;
      starting.duration *= starting.slowdown;
    }
    count_start(starting);
  }
  schedule_end(slot);
}

void QueueEngine::count_start(QueueJob& started) {
  started.started = true;
  if (!started.counted) return;
  ClassSample& sample = tally_.sample().classes[static_cast<std::size_t>(started.job_class)];
  sample.wait.push_back(static_cast<float>(now_ - started.submit));
  const std::vector<MoldableSize>& sizes = class_of(started).moldable;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i].hosts == started.hosts) ++sample.sizes[i];
  if (is_scattered(started)) ++sample.scattered;
}

/// Whether it has hosts on more leaves than it needs.
bool QueueEngine::is_scattered(const QueueJob& started) const {
  return static_cast<int>(started.places.size()) > pool_.least_leaves(started.hosts);
}

/// A stretch begins now: after its restart, what is left of the job runs.
void QueueEngine::schedule_end(std::uint32_t slot) {
  QueueJob& running = jobs_[slot];
  running.begun = now_;
  running.ends_by = now_ + running.restart + running.limit - running.kept;
  insert_running(slot);
  push(now_ + running.restart + running.whole() - running.kept, QueueEventKind::end, slot,
       ++running.stretch);
}

void QueueEngine::insert_running(std::uint32_t slot) {
  const std::pair<double, std::uint32_t> entry{jobs_[slot].ends_by, slot};
  by_end_.insert(std::lower_bound(by_end_.begin(), by_end_.end(), entry), entry);
}

void QueueEngine::erase_running(std::uint32_t slot) {
  const std::pair<double, std::uint32_t> entry{jobs_[slot].ends_by, slot};
  const auto found = std::lower_bound(by_end_.begin(), by_end_.end(), entry);
  FORETRAIN_REQUIRE(found != by_end_.end() && *found == entry);
  by_end_.erase(found);
}

void QueueEngine::release(std::uint32_t slot) {
  QueueJob& leaving = jobs_[slot];
  erase_running(slot);
  pool_.give_back(leaving.places);
  state_.allocated -= leaving.hosts;
  team_hosts_[team_of(leaving)] -= leaving.hosts;
  pass_due_ = true;
}

/// Books a stretch that ends now, of which `kept` seconds after the restart are not lost.
void QueueEngine::account(QueueJob& ended, double kept, bool ends) {
  const double runs_from = std::min(now_, ended.begun + ended.restart);
  const double safe_until = runs_from + kept;
  const double share = ended.productive;
  QueueSample& sample = tally_.sample();
  HostSeconds& books = sample.hosts;
  const auto host_s = [&](double from, double to) {
    return ended.hosts * tally_.counted(from, to);
  };
  books.restart += host_s(ended.begun, runs_from);
  if (ends && ended.duration > ended.limit) {
    books.killed += host_s(runs_from, now_);
  } else {
    const double ideal_s = host_s(runs_from, safe_until) / ended.slowdown;
    books.sharing += host_s(runs_from, safe_until) - ideal_s;
    books.productive += share * ideal_s;
    books.overhead += (1.0 - share) * ideal_s;
    books.lost += host_s(safe_until, now_);
  }
  sample.team_host_s[team_of(ended)] += host_s(ended.begun, now_);
  if (options_.schedule) record(ended, ends);
}

void QueueEngine::record(const QueueJob& stretch, bool ends) {
  tally_.sample().schedule.push_back({stretch.job_class, static_cast<std::int64_t>(stretch.number),
                                      Seconds{stretch.submit}, Seconds{stretch.begun},
                                      Seconds{now_}, stretch.hosts,
                                      static_cast<int>(stretch.places.size()), ends});
}

void QueueEngine::on_end(std::uint32_t slot) {
  QueueJob& ended = jobs_[slot];
  account(ended, now_ - std::min(now_, ended.begun + ended.restart), true);
  release(slot);
  ++ended.stretch;
  free_slots_.push_back(slot);
  let_followers_go(ended, now_);
  count_end(ended, now_ - ended.submit);
}

/// A job that has waited long enough runs on rented hosts from now on.
void QueueEngine::on_burst(std::uint32_t slot) {
  QueueJob& leaving = jobs_[slot];
  dequeue(slot);
  QueueSample& sample = tally_.sample();
  const double host_s = leaving.hosts * tally_.counted(now_, now_ + leaving.whole());
  sample.hosts.rented += host_s;
  sample.team_rented_s[team_of(leaving)] += host_s;
  if (leaving.counted) {
    ClassSample& counts = sample.classes[static_cast<std::size_t>(leaving.job_class)];
    counts.wait.push_back(static_cast<float>(now_ - leaving.submit));
    ++counts.rented;
  }
  let_followers_go(leaving, now_ + leaving.whole());
  count_end(leaving, now_ - leaving.submit + leaving.whole());
  ++leaving.stretch;
  free_slots_.push_back(slot);
  pass_due_ = true;
}

void QueueEngine::count_end(QueueJob& ended, double turnaround) {
  if (!ended.counted) return;
  ended.counted = false;
  --open_;
  const QueueClass& jobs = class_of(ended);
  ClassSample& sample = tally_.sample().classes[static_cast<std::size_t>(ended.job_class)];
  sample.turnaround.push_back(static_cast<float>(turnaround));
  sample.bounded_slowdown += std::max(1.0, turnaround / std::max(slowdown_bound_s, ended.whole()));
  if (ended.duration > ended.limit)
    ++sample.killed;
  else if (jobs.deadline && turnaround <= jobs.deadline->value())
    ++sample.in_time;
}

}  // namespace internal

QueueSample simulate_queue(const QueueModel& model, const QueueRunOptions& options) {
  for (const QueueClass& jobs : model.classes) FORETRAIN_REQUIRE(jobs.most_hosts() <= model.hosts);
  return internal::QueueEngine(model, options).run();
}

}  // namespace foretrain
