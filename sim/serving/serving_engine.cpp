// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/internal/serving_engine.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/base/require.hpp"
#include "models/base/too_large.hpp"

namespace foretrain {
namespace internal {
namespace {

/// What makes a load smaller, by the keys that it has.
std::string shorter(const ServingModel& model) {
  const bool by_time = model.duration > Seconds{};
  const bool closed = model.load.arrivals == ArrivalKind::closed;
  if (model.load.arrivals == ArrivalKind::trace) return "cut the trace";
  std::string text = by_time ? "shorten serving.duration" : "lower serving.requests.number";
  return text + (closed ? ", or ask for shorter answers" : ", or lower serving.requests.rate");
}

/// Requests that a load without clients brings in its duration.
void check_requests(const ServingModel& model) {
  const RequestLoad& load = model.load;
  const bool by_rate =
      load.arrivals == ArrivalKind::poisson || load.arrivals == ArrivalKind::constant;
  if (!by_rate || model.duration <= Seconds{}) return;
  double sessions = load.rate * model.duration.value();
  if (load.requests > 0) sessions = std::min<double>(sessions, load.requests);
  if (sessions * load.sessions.turns > static_cast<double>(most_served_requests))
    throw TooLarge("more than 20,000,000 requests; " + shorter(model));
}

/// Steps that a closed load takes at the least: each gives every client at most one token, and as
/// many as are drafted.
void check_steps(const ServingModel& model) {
  const RequestLoad& load = model.load;
  if (load.arrivals != ArrivalKind::closed || load.requests == 0 || model.duration > Seconds{})
    return;
  const ServingPool& pool = model.decode.value_or(model.serve);
  const double tokens = static_cast<double>(load.requests) * load.output.mean / pool.step_width;
  if (tokens / std::max(1, load.concurrency) > static_cast<double>(most_serving_steps))
    throw TooLarge("more than 100,000,000 steps; " + shorter(model));
}

}  // namespace

ServingEngine::ServingEngine(const ServingModel& model, const ServingRunOptions& options)
    : model_{model},
      options_{options},
      stream_{model},
      tally_{model, options.bins},
      first_decoder_{static_cast<std::uint32_t>(model.serve.replicas)} {
  check_requests(model);
  check_steps(model);
  for (int i = 0; i < model.serve.replicas; ++i)
    replicas_.emplace_back(model.serve, model.load, model.decode.has_value(), table_);
  for (int i = 0; model.decode && i < model.decode->replicas; ++i)
    replicas_.emplace_back(*model.decode, model.load, false, table_);
  handed_.resize(replicas_.size());
  channel_free_.resize(replicas_.size());
  busy_s_.resize(replicas_.size());
  busy_from_.resize(replicas_.size());
  is_touched_.resize(replicas_.size());
  ready_ = first_decoder_;
  sample_.most_replicas = static_cast<int>(ready_);
}

/// Whether at the pace until now the duration takes several times as many steps as are simulated.
void ServingEngine::check_pace() const {
  constexpr double surely = 4.0;
  if (model_.duration <= Seconds{} || now_ <= 0.0) return;
  const double all = static_cast<double>(sample_.steps) * model_.duration.value() / now_;
  if (now_ < model_.duration.value() && all > surely * static_cast<double>(most_serving_steps))
    throw TooLarge("more than 100,000,000 steps; " + shorter(model_));
}

bool ServingEngine::stopped() const {
  return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
}

void ServingEngine::push(double time, ServingEventKind kind, std::uint32_t subject) {
  events_.push({time, numbers_++, kind, subject});
}

void ServingEngine::touch(std::uint32_t replica) {
  if (is_touched_[replica]) return;
  is_touched_[replica] = true;
  touched_.push_back(replica);
}

ServingSample ServingEngine::run() {
  if (model_.load.arrivals == ArrivalKind::closed) {
    for (int i = 0; i < model_.load.concurrency; ++i) ask_again();
    start_steps();
  } else {
    push_arrival();
  }
  if (model_.autoscaling.on())
    push(model_.autoscaling.interval.value(), ServingEventKind::scale, 0);
  std::int64_t handled = 0;
  while (!events_.empty()) {
    if (++handled % 1024 == 0 && stopped()) break;
    if (handled % (1 << 20) == 0) check_pace();
    const ServingEvent event = events_.top();
    events_.pop();
    if (event.kind != ServingEventKind::scale) worked_until_ = event.time;
    tally_.held(event.time, waiting_, running_);
    now_ = event.time;
    handle(event);
    // Replicas choose once all that happens at this instant has happened.
    if (events_.empty() || events_.top().time > now_) start_steps();
  }
  sample_.complete = events_.empty();
  sample_.submitted = stream_.drawn() + later_turns_;
  sample_.last_answer_s = last_answer_;
  tally_.finish(last_answer_, sample_);
  double prefill = 0.0;
  double decode = 0.0;
  for (std::uint32_t i = 0; i < replicas_.size(); ++i) {
    (is_decoder(i) ? decode : prefill) += busy_s_[i];
    sample_.most_cache = std::max(sample_.most_cache, replicas_[i].most_cache());
    sample_.preemptions += replicas_[i].preemptions();
    sample_.prefilled += replicas_[i].prefilled();
    sample_.asked += replicas_[i].asked();
    sample_.found += replicas_[i].found();
  }
  sample_.mean_replicas = model_.serve.replicas;
  if (model_.autoscaling.on() && scaled_at_ > 0.0) sample_.mean_replicas = replica_s_ / scaled_at_;
  if (worked_until_ > 0.0) {
    sample_.busy = prefill / (worked_until_ * sample_.mean_replicas);
    if (model_.decode) sample_.decode_busy = decode / (worked_until_ * model_.decode->replicas);
  }
  return std::move(sample_);
}

void ServingEngine::push_arrival() {
  coming_ = stream_.next(now_);
  if (coming_) push(coming_->at, ServingEventKind::arrival, 0);
}

void ServingEngine::handle(const ServingEvent& event) {
  switch (event.kind) {
    case ServingEventKind::arrival:
      return on_arrival();
    case ServingEventKind::entry:
      return on_entry(event.subject);
    case ServingEventKind::step_end:
      return on_step_end(event.subject);
    case ServingEventKind::cache_arrival:
      return on_cache_arrival(event.subject);
    case ServingEventKind::turn:
      return on_turn(event.subject);
    case ServingEventKind::ready:
      --starting_;
      ready_ = std::min(ready_ + 1, first_decoder_);
      return;
    case ServingEventKind::scale:
      return on_scale();
  }
}

void ServingEngine::on_arrival() {
  const DrawnRequest request = *coming_;
  push_arrival();
  (void)submit(request);
  if (!coming_) sample_.waiting_at_end = waiting_;
}

int ServingEngine::load_of(std::uint32_t replica) const {
  return replicas_[replica].load() + static_cast<int>(handed_[replica].size());
}

/// The replica of [first, last) that is next.
std::uint32_t ServingEngine::chosen(std::uint32_t first, std::uint32_t last,
                                    std::uint32_t& turn) const {
  if (model_.routing == Routing::round_robin) return first + turn++ % (last - first);
  std::uint32_t best = first;
  for (std::uint32_t i = first + 1; i < last; ++i)
    if (load_of(i) < load_of(best)) best = i;
  return best;
}

/// Of those that prefill. By prefix, the replica that holds the most of a session's earlier turns,
/// unless it has half as many requests again as the emptiest, and 64 more: what SGLang's router
/// calls out of balance.
std::uint32_t ServingEngine::chosen_for(const LiveRequest& request) {
  constexpr int more = 64;
  const std::uint32_t emptiest = chosen(0, ready_, next_serve_);
  if (model_.routing != Routing::prefix || request.drawn.session < 0) return emptiest;
  std::uint32_t holder = emptiest;
  for (std::uint32_t i = 0; i < ready_; ++i)
    if (replicas_[i].kept_tokens(request.drawn.session) >
        replicas_[holder].kept_tokens(request.drawn.session))
      holder = i;
  const int least = load_of(emptiest);
  const bool uneven = load_of(holder) > least + more && 2 * load_of(holder) > 3 * least;
  return uneven ? emptiest : holder;
}

/// As many replicas as have `target` requests each.
int ServingEngine::wanted_replicas() const {
  int load = 0;
  for (std::uint32_t i = 0; i < first_decoder_; ++i) load += load_of(i);
  const int wanted = static_cast<int>(std::ceil(load / model_.autoscaling.target));
  return std::clamp(wanted, std::min(model_.autoscaling.least, model_.serve.replicas),
                    model_.serve.replicas);
}

/// Starts what is missing at once; what is too much goes one by one, each when it has answered
/// those that it has.
void ServingEngine::on_scale() {
  int there = starting_;
  for (std::uint32_t i = 0; i < first_decoder_; ++i)
    if (i < ready_ || load_of(i) > 0) ++there;
  replica_s_ += there * (now_ - scaled_at_);
  scaled_at_ = now_;
  sample_.most_replicas = std::max(sample_.most_replicas, there);
  const int wanted = wanted_replicas();
  for (int have = static_cast<int>(ready_) + starting_; have < wanted; ++have, ++starting_)
    push(now_ + model_.autoscaling.start.value(), ServingEventKind::ready, 0);
  if (wanted < static_cast<int>(ready_) && starting_ == 0) --ready_;
  // Without anything else to come there is nothing to scale for.
  if (!events_.empty())
    push(now_ + model_.autoscaling.interval.value(), ServingEventKind::scale, 0);
}

bool ServingEngine::push_turn(const DrawnRequest& done) {
  if (done.turns_left <= 0) return false;
  const auto turn = stream_.after(done, now_);
  if (!turn) return false;
  std::uint32_t slot = static_cast<std::uint32_t>(turns_.size());
  if (free_turns_.empty()) {
    turns_.push_back(*turn);
  } else {
    slot = free_turns_.back();
    free_turns_.pop_back();
    turns_[slot] = *turn;
  }
  push(turn->at, ServingEventKind::turn, slot);
  return true;
}

void ServingEngine::on_turn(std::uint32_t slot) {
  const DrawnRequest request = turns_[slot];
  free_turns_.push_back(slot);
  ++later_turns_;
  if (!submit(request) && model_.load.arrivals == ArrivalKind::closed) ask_again();
}

bool ServingEngine::fits(const DrawnRequest& drawn) const {
  const int all = drawn.prompt + drawn.output;
  if (!model_.decode) return replicas_.front().holds(all);
  return replicas_.front().holds(drawn.prompt) && replicas_[first_decoder_].holds(all);
}

/// The next request of a client that has its answer; those that never fit are refused at once.
void ServingEngine::ask_again() {
  while (const auto next = stream_.next(now_))
    if (submit(*next)) return;
  if (std::exchange(all_submitted_, true)) return;
  sample_.waiting_at_end = waiting_;
}

bool ServingEngine::submit(const DrawnRequest& drawn) {
  if (stream_.drawn() + later_turns_ > most_served_requests)
    throw TooLarge("more than 20,000,000 requests; " + shorter(model_));
  if (!fits(drawn)) {
    ++sample_.rejected;
    return false;
  }
  LiveRequest request;
  request.seen.submitted = drawn.at;
  request.seen.prompt = drawn.prompt;
  request.seen.output = drawn.output;
  request.drawn = drawn;
  const std::uint32_t slot = table_.add(request);
  if (++waiting_ > most_waiting_requests)
    throw TooLarge("2,000,000 requests wait at once, more than are served; add replicas, or " +
                   shorter(model_));
  if (model_.before_queue > Seconds{})
    push(now_ + model_.before_queue.value(), ServingEventKind::entry, slot);
  else
    on_entry(slot);
  return true;
}

void ServingEngine::on_entry(std::uint32_t slot) {
  const std::uint32_t replica = chosen_for(table_.at(slot));
  table_.at(slot).replica = replica;
  replicas_[replica].enqueue(slot);
  touch(replica);
}

void ServingEngine::start_steps() {
  for (const std::uint32_t index : touched_) {
    is_touched_[index] = false;
    ServingReplica& replica = replicas_[index];
    if (replica.busy) continue;
    if (is_decoder(index)) start_transfers(index);
    const int seats = replica.running();
    const bool any = replica.plan(now_);
    // Admissions and preemptions of this plan.
    waiting_ -= replica.running() - seats;
    running_ += replica.running() - seats;
    if (!any) continue;
    const StepTimer& timer = is_decoder(index) ? model_.decode->timer : model_.serve.timer;
    const Seconds time = timer(replica.batch());
    FORETRAIN_REQUIRE(time > Seconds{});
    if (++sample_.steps > most_serving_steps)
      throw TooLarge("more than 100,000,000 steps; " + shorter(model_));
    replica.busy = true;
    busy_from_[index] = now_;
    push(now_ + time.value(), ServingEventKind::step_end, index);
  }
  touched_.clear();
}

void ServingEngine::on_step_end(std::uint32_t index) {
  ServingReplica& replica = replicas_[index];
  replica.busy = false;
  busy_s_[index] += now_ - busy_from_[index];
  const int seats = replica.running();
  replica.finish(now_, outcome_, tally_.inside(now_) ? &sample_.gaps : nullptr);
  running_ -= seats - replica.running();
  tally_.tokens(now_, outcome_.tokens);
  sample_.all_output_tokens += outcome_.tokens;
  touch(index);
  // Submissions of clients that ask again must not change what is iterated over.
  const StepOutcome outcome = std::exchange(outcome_, {});
  for (const std::uint32_t slot : outcome.prefilled) hand_over(slot);
  for (const std::uint32_t slot : outcome.ended) on_end(slot);
}

void ServingEngine::on_end(std::uint32_t slot) {
  ServedRequest seen = table_.at(slot).seen;
  const DrawnRequest drawn = table_.at(slot).drawn;
  const std::uint32_t replica = table_.at(slot).replica;
  table_.release(slot);
  seen.ended = now_;
  last_answer_ = now_;
  if (tally_.counts(seen.submitted))
    sample_.requests.push_back(seen);
  else if (tally_.inside(now_))
    sample_.early.push_back(seen);
  const bool goes_on = push_turn(drawn);
  if (goes_on && !model_.decode) replicas_[replica].keep(drawn.session, seen.prompt + seen.output);
  if (!goes_on && model_.load.arrivals == ArrivalKind::closed) ask_again();
}

/// A prefilled request leaves its seat; its cache waits for a place where it is decoded.
void ServingEngine::hand_over(std::uint32_t slot) {
  LiveRequest& request = table_.at(slot);
  const std::uint32_t from = request.replica;
  const std::int64_t blocks = replicas_[from].detach(slot);
  --running_;
  ++waiting_;
  request.replica =
      chosen(first_decoder_, static_cast<std::uint32_t>(replicas_.size()), next_decode_);
  handed_[request.replica].push_back({slot, from, blocks});
  touch(request.replica);
  if (!replicas_[request.replica].busy) return;
  start_transfers(request.replica);
}

void ServingEngine::start_transfers(std::uint32_t decoder) {
  std::deque<Handed>& queue = handed_[decoder];
  while (!queue.empty() && replicas_[decoder].reserve(queue.front().slot)) {
    const Handed handed = queue.front();
    queue.pop_front();
    --waiting_;
    ++running_;
    const Bytes bytes = model_.transfer.per_token * table_.at(handed.slot).seen.prompt;
    double& free = channel_free_[handed.from];
    free = std::max(free, now_) + (model_.transfer.latency + bytes / model_.transfer.rate).value();
    sample_.transferred += bytes.value() * model_.transfer.senders;
    if (handed.slot >= moving_.size()) moving_.resize(handed.slot + 1);
    moving_[handed.slot] = handed;
    push(free, ServingEventKind::cache_arrival, handed.slot);
  }
}

void ServingEngine::on_cache_arrival(std::uint32_t slot) {
  const Handed& handed = moving_[slot];
  replicas_[handed.from].give_back(handed.blocks);
  const LiveRequest& request = table_.at(slot);
  // The answer stays where it is decoded: only the prompt is found again.
  if (request.goes_on()) replicas_[handed.from].keep(request.drawn.session, request.seen.prompt);
  touch(handed.from);
  const std::uint32_t decoder = request.replica;
  replicas_[decoder].join(slot);
  touch(decoder);
}

}  // namespace internal

ServingSample simulate_serving(const ServingModel& model, const ServingRunOptions& options) {
  FORETRAIN_REQUIRE(is_bounded(model) && model.serve.replicas >= 1 && options.bins >= 1);
  for (const ServingPool* pool : {&model.serve, model.decode ? &*model.decode : nullptr})
    FORETRAIN_REQUIRE(pool == nullptr || (pool->scheduler.sequences >= 1 &&
                                          pool->scheduler.sequences * pool->step_width <=
                                              pool->scheduler.token_budget));
  return internal::ServingEngine(model, options).run();
}

}  // namespace foretrain
