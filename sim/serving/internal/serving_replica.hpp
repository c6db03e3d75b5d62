// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <queue>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/serving/internal/request_stream.hpp"
#include "sim/serving/serving_run.hpp"

namespace foretrain::internal {

/// A request on its way through the deployment.
struct LiveRequest {
  ServedRequest seen{};
  bool scheduled = false;     ///< was in a step
  int generated = 0;          ///< tokens of the answer so far
  int prefill_target = 0;     ///< tokens that must be in the cache before the next token
  int in_cache = 0;           ///< tokens of it that are there, while it is prefilled
  double joined_context = 0;  ///< tokens in the cache when it began to decode
  std::int64_t joined_step = 0;
  std::int64_t blocks = 0;      ///< held
  std::int64_t admission = -1;  ///< order of admission to its replica; -1: it holds nothing
  std::uint32_t version = 0;    ///< of its entries in calendars: others are void
  bool decodes = false;
  std::uint32_t replica = 0;  ///< where it is
  double last_token = 0.0;    ///< when it came
  DrawnRequest drawn{};       ///< as it was asked

  /// A turn that another one follows.
  [[nodiscard]] bool goes_on() const { return drawn.turns_left > 0; }
};

/// All live requests, by slot.
class RequestTable {
 public:
  [[nodiscard]] std::uint32_t add(const LiveRequest& request);
  void release(std::uint32_t slot) { free_.push_back(slot); }
  [[nodiscard]] LiveRequest& at(std::uint32_t slot) { return requests_[slot]; }

 private:
  std::vector<LiveRequest> requests_;
  std::vector<std::uint32_t> free_;
};

/// What the end of a step brought.
struct StepOutcome {
  std::vector<std::uint32_t> prefilled{};  ///< have their next token and go on
  std::vector<std::uint32_t> ended{};      ///< have their last token
  double tokens = 0.0;                     ///< of answers
};

/// One replica: its queue, its cache and its steps.
class ServingReplica {
 public:
  /// @param hands_over prefills alone: what is prefilled leaves through detach()
  ServingReplica(const ServingPool& pool, const RequestLoad& load, bool hands_over,
                 RequestTable& table);

  /// Whether a request of that many tokens in all ever fits.
  [[nodiscard]] bool holds(int tokens) const;
  void enqueue(std::uint32_t slot) { waiting_.push_back(slot); }
  /// Chooses what the next step computes. False: there is nothing to do, or it waits for blocks.
  [[nodiscard]] bool plan(double now);
  /// That as a batch, which holds until the next call.
  [[nodiscard]] ServingBatch batch();
  /// The step of plan() is over.
  void finish(double now, StepOutcome& outcome, GapHistogram* gaps);

  /// Seat and blocks for a cache that another replica computed. False: there is no room now.
  [[nodiscard]] bool reserve(std::uint32_t slot);
  /// That cache has come: it decodes from the next step on.
  void join(std::uint32_t slot) { joining_.push_back(slot); }
  /// What was prefilled here leaves; its blocks stay taken until give_back() of as many.
  [[nodiscard]] std::int64_t detach(std::uint32_t slot);
  void give_back(std::int64_t blocks) { free_ += blocks; }
  /// Tokens of a session's earlier turns that lie here.
  [[nodiscard]] int kept_tokens(std::int64_t session) const;
  /// Keeps them for the next turn, until others need their blocks: the oldest go first.
  void keep(std::int64_t session, int tokens);

  [[nodiscard]] int waiting() const { return static_cast<int>(waiting_.size()); }
  [[nodiscard]] int running() const { return running_; }
  [[nodiscard]] int load() const { return waiting() + running_; }
  [[nodiscard]] double most_cache() const;
  [[nodiscard]] std::int64_t preemptions() const { return preemptions_; }
  [[nodiscard]] double prefilled() const { return prefilled_; }
  [[nodiscard]] double asked() const { return asked_; }
  [[nodiscard]] double found() const { return found_; }
  bool busy = false;  ///< in a step

 private:
  /// What a session has in the cache while it runs nowhere.
  struct Kept {
    std::int64_t session = -1;
    int tokens = 0;
    std::int64_t blocks = 0;
  };
  struct Chunk {
    std::uint32_t slot;
    int tokens;
  };
  struct Due {
    std::int64_t step;
    std::uint32_t slot;
    std::uint32_t version;
    bool operator>(const Due& other) const {
      return step != other.step ? step > other.step : slot > other.slot;
    }
  };

  [[nodiscard]] LiveRequest& at(std::uint32_t slot) { return table_.at(slot); }
  [[nodiscard]] std::int64_t needed(double tokens) const;
  [[nodiscard]] int longest_chunk() const;
  [[nodiscard]] std::int64_t blocks_to_start(const LiveRequest& request) const;
  [[nodiscard]] std::int64_t kept_free() const;
  void admit(int& budget, double now);
  [[nodiscard]] int tokens_there(const LiveRequest& request) const;
  [[nodiscard]] bool has_room(std::int64_t blocks) const;
  void drop(std::int64_t session);
  void take_blocks(std::int64_t blocks);
  void count_prompt(LiveRequest& request, int there, double now);
  void go_on(int& budget);
  void add_chunk(std::uint32_t slot, int tokens, int& budget);
  void grow();
  [[nodiscard]] bool make_room(std::int64_t blocks, std::uint32_t asking);
  void preempt(std::uint32_t slot);
  void release(std::uint32_t slot);
  void begin_decoding(std::uint32_t slot);
  void schedule_growth(std::uint32_t slot);
  void end_decoding(LiveRequest& request);
  [[nodiscard]] double context_of(const LiveRequest& request) const;
  [[nodiscard]] int generated_by(const LiveRequest& request) const;
  void finish_decodes(double now, StepOutcome& outcome, GapHistogram* gaps);
  void finish_chunks(double now, StepOutcome& outcome, GapHistogram* gaps);

  const ServingPool& pool_;
  RequestTable& table_;
  bool hands_over_;
  int shared_ = 0;         ///< tokens that all requests have in common, in whole blocks
  double reuse_ = 0.0;     ///< share of the other prompt tokens whose cache is there
  std::int64_t capacity_;  ///< blocks but for the shared ones
  std::int64_t free_;
  std::int64_t fewest_free_;
  std::list<Kept> kept_;  ///< the oldest first
  std::unordered_map<std::int64_t, std::list<Kept>::iterator> kept_at_;
  std::int64_t kept_blocks_ = 0;

  std::deque<std::uint32_t> waiting_;
  std::deque<std::uint32_t> prefilling_;                       ///< by admission
  std::set<std::pair<std::int64_t, std::uint32_t>> admitted_;  ///< who may be preempted
  std::vector<std::uint32_t> joining_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> ends_;
  std::vector<std::vector<Due>> growth_;  ///< by step modulo its size
  std::vector<Chunk> chunks_;             ///< of this step
  std::vector<PrefillChunk> priced_;      ///< the same for the timer
  std::vector<double> joined_at_;         ///< since the last step that decoded

  int running_ = 0;  ///< seats taken
  int decoding_ = 0;
  int stepping_ = 0;  ///< sequences that decode in this step
  int ending_prompts_ = 0;
  double context_ = 0.0;   ///< tokens in the cache of all that decode
  std::int64_t step_ = 0;  ///< steps that decoded so far
  std::int64_t admissions_ = 0;
  std::int64_t preemptions_ = 0;
  double prefilled_ = 0.0;
  double asked_ = 0.0;
  double found_ = 0.0;
  double surplus_ = 0.0;  ///< tokens of steps that answers had no use for
  double last_decode_ = 0.0;
};

}  // namespace foretrain::internal
