// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "sim/serving/internal/request_stream.hpp"
#include "sim/serving/internal/serving_replica.hpp"

namespace foretrain::internal {

enum class ServingEventKind : std::uint8_t {
  arrival,
  entry,
  step_end,
  cache_arrival,
  turn,   ///< a later one of a session
  ready,  ///< a replica has started
  scale   ///< how many replicas are decided
};

struct ServingEvent {
  double time = 0.0;
  std::uint64_t number = 0;  ///< equal times in the order in which they were made
  ServingEventKind kind = ServingEventKind::arrival;
  std::uint32_t subject = 0;  ///< replica, or slot of a request

  bool operator>(const ServingEvent& other) const {
    return time != other.time ? time > other.time : number > other.number;
  }
};

/// Requests between warm-up and end, and integrals over that time.
class ServingTally {
 public:
  ServingTally(const ServingModel& model, int bins);

  /// What held from the last call until `now`.
  void held(double now, int waiting, int running);
  void tokens(double now, double count);
  [[nodiscard]] bool counts(double submitted) const { return submitted >= from_; }
  /// Whether gaps of tokens at that time count.
  [[nodiscard]] bool inside(double now) const { return now >= from_ && now <= until_; }
  /// @param last_answer when all is served, which is the end of what is counted where a number of
  ///   requests ended the load before its duration did
  void finish(double last_answer, ServingSample& sample);

 private:
  struct Slice {
    double waiting = 0.0;
    double running = 0.0;
    double tokens = 0.0;
  };
  [[nodiscard]] Slice& slice_at(double time);

  double from_;
  double until_;
  std::int64_t limited_;  ///< requests that end the load; 0: none do
  double slice_s_;
  double time_ = 0.0;
  double tokens_ = 0.0;  ///< counted
  int longest_ = 0;
  std::size_t bins_;
  std::vector<Slice> slices_;
};

/// Requests, replicas and time.
class ServingEngine {
 public:
  ServingEngine(const ServingModel& model, const ServingRunOptions& options);
  [[nodiscard]] ServingSample run();

 private:
  [[nodiscard]] bool is_decoder(std::uint32_t replica) const { return replica >= first_decoder_; }
  void push(double time, ServingEventKind kind, std::uint32_t subject);
  void push_arrival();
  void handle(const ServingEvent& event);
  void on_arrival();
  [[nodiscard]] bool fits(const DrawnRequest& request) const;
  void ask_again();
  /// False: it is larger than any replica's cache, and refused.
  bool submit(const DrawnRequest& request);
  void on_entry(std::uint32_t slot);
  void on_step_end(std::uint32_t replica);
  void on_cache_arrival(std::uint32_t slot);
  void on_end(std::uint32_t slot);
  /// The turn behind one that has ended. False: there is none.
  bool push_turn(const DrawnRequest& done);
  void on_turn(std::uint32_t slot);
  void on_scale();
  [[nodiscard]] int wanted_replicas() const;
  void hand_over(std::uint32_t slot);
  void start_transfers(std::uint32_t decoder);
  void start_steps();
  void touch(std::uint32_t replica);
  [[nodiscard]] std::uint32_t chosen(std::uint32_t first, std::uint32_t last,
                                     std::uint32_t& turn) const;
  [[nodiscard]] std::uint32_t chosen_for(const LiveRequest& request);
  [[nodiscard]] int load_of(std::uint32_t replica) const;
  [[nodiscard]] bool stopped() const;
  void check_pace() const;

  /// A cache that waits for a place, or is on its way.
  struct Handed {
    std::uint32_t slot = 0;
    std::uint32_t from = 0;
    std::int64_t blocks = 0;
  };

  const ServingModel& model_;
  const ServingRunOptions& options_;
  RequestStream stream_;
  RequestTable table_;
  ServingTally tally_;
  std::vector<ServingReplica> replicas_;  ///< those of `serve`, then those of `decode`
  std::uint32_t first_decoder_;
  std::uint32_t next_serve_ = 0;
  std::uint32_t next_decode_ = 0;
  std::vector<std::deque<Handed>> handed_;  ///< by replica that decodes, waiting for a place
  std::vector<Handed> moving_;              ///< by slot
  std::vector<double> channel_free_;        ///< by replica that prefills
  std::vector<double> busy_s_;              ///< by replica
  std::vector<double> busy_from_;
  std::vector<std::uint32_t> touched_;
  std::vector<bool> is_touched_;
  std::priority_queue<ServingEvent, std::vector<ServingEvent>, std::greater<>> events_;
  std::optional<DrawnRequest> coming_;
  std::vector<DrawnRequest> turns_;  ///< to come, by slot
  std::vector<std::uint32_t> free_turns_;
  std::int64_t later_turns_ = 0;
  std::uint32_t ready_ = 0;  ///< replicas of `serve` that take requests
  int starting_ = 0;
  double replica_s_ = 0.0;
  double scaled_at_ = 0.0;
  double worked_until_ = 0.0;  ///< the last event that is no decision about replicas
  StepOutcome outcome_;
  ServingSample sample_;
  double now_ = 0.0;
  double last_answer_ = 0.0;
  std::uint64_t numbers_ = 0;
  int waiting_ = 0;
  int running_ = 0;
  bool all_submitted_ = false;
};

}  // namespace foretrain::internal
