// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/internal/serving_replica.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace foretrain::internal {

std::uint32_t RequestTable::add(const LiveRequest& request) {
  if (free_.empty()) {
    requests_.push_back(request);
    return static_cast<std::uint32_t>(requests_.size() - 1);
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  const std::uint32_t version = requests_[slot].version + 1;
  requests_[slot] = request;
  requests_[slot].version = version;
  return slot;
}

ServingReplica::ServingReplica(const ServingPool& pool, const RequestLoad& load, bool hands_over,
                               RequestTable& table)
    : pool_{pool},
      table_{table},
      hands_over_{hands_over},
      shared_{load.shared_prefix / pool.scheduler.block_tokens * pool.scheduler.block_tokens},
      reuse_{load.prefix_reuse},
      capacity_{std::max<std::int64_t>(0, pool.blocks - shared_ / pool.scheduler.block_tokens)},
      free_{capacity_},
      fewest_free_{capacity_},
      growth_(static_cast<std::size_t>(pool.scheduler.block_tokens) + 2) {}

std::int64_t ServingReplica::needed(double tokens) const {
  return blocks_of(std::max(0.0, tokens - shared_), pool_.scheduler.block_tokens);
}

bool ServingReplica::holds(int tokens) const { return needed(tokens) <= capacity_; }

double ServingReplica::most_cache() const {
  return pool_.blocks > 0
             ? static_cast<double>(pool_.blocks - fewest_free_) / static_cast<double>(pool_.blocks)
             : 0.0;
}

double ServingReplica::context_of(const LiveRequest& request) const {
  return request.joined_context +
         static_cast<double>(step_ - request.joined_step) * pool_.tokens_per_step;
}

int ServingReplica::generated_by(const LiveRequest& request) const {
  if (!request.decodes) return request.generated;
  const double since =
      std::floor(static_cast<double>(step_ - request.joined_step) * pool_.tokens_per_step + 1e-9);
  return std::min(request.seen.output, request.generated + static_cast<int>(since));
}

bool ServingReplica::plan(double now) {
  chunks_.clear();
  ending_prompts_ = 0;
  for (const std::uint32_t slot : joining_) begin_decoding(slot);
  joining_.clear();
  int budget = pool_.scheduler.token_budget;
  if (pool_.scheduler.chunked_prefill) {
    grow();
    stepping_ = decoding_;
    budget -= stepping_ * pool_.step_width;
    go_on(budget);
    admit(budget, now);
  } else {
    stepping_ = 0;
    admit(budget, now);
    if (chunks_.empty()) {
      grow();
      stepping_ = decoding_;
    }
  }
  return stepping_ > 0 || !chunks_.empty();
}

void ServingReplica::add_chunk(std::uint32_t slot, int tokens, int& budget) {
  chunks_.push_back({slot, tokens});
  budget -= tokens;
}

int ServingReplica::longest_chunk() const {
  const BatchScheduler& scheduler = pool_.scheduler;
  return scheduler.chunk_tokens > 0 ? scheduler.chunk_tokens : scheduler.token_budget;
}

/// Prompts of which a part is there already.
void ServingReplica::go_on(int& budget) {
  for (const std::uint32_t slot : prefilling_) {
    if (budget <= 0) return;
    const LiveRequest& request = at(slot);
    add_chunk(slot, std::min({budget, longest_chunk(), request.prefill_target - request.in_cache}),
              budget);
  }
}

/// Of its prompt, and of its answer where that is reserved and written here.
std::int64_t ServingReplica::blocks_to_start(const LiveRequest& request) const {
  if (pool_.scheduler.reserves_output && !hands_over_)
    return needed(request.seen.prompt + request.seen.output);
  return needed(request.prefill_target);
}

/// A hundredth of the blocks is left for those that run, which grow.
std::int64_t ServingReplica::kept_free() const {
  return running_ > 0 && !pool_.scheduler.reserves_output ? capacity_ / 100 : 0;
}

int ServingReplica::kept_tokens(std::int64_t session) const {
  const auto found = kept_at_.find(session);
  return found == kept_at_.end() ? 0 : found->second->tokens;
}

void ServingReplica::keep(std::int64_t session, int tokens) {
  drop(session);
  const std::int64_t blocks = needed(tokens);
  if (free_ < blocks) return;
  free_ -= blocks;
  kept_blocks_ += blocks;
  kept_.push_back({session, tokens, blocks});
  kept_at_[session] = std::prev(kept_.end());
}

void ServingReplica::drop(std::int64_t session) {
  const auto found = kept_at_.find(session);
  if (found == kept_at_.end()) return;
  free_ += found->second->blocks;
  kept_blocks_ -= found->second->blocks;
  kept_.erase(found->second);
  kept_at_.erase(found);
}

/// What sessions keep makes room for requests.
bool ServingReplica::has_room(std::int64_t blocks) const {
  return free_ + kept_blocks_ >= blocks + kept_free();
}

/// @pre has_room(blocks), or free_ + kept_blocks_ >= blocks
void ServingReplica::take_blocks(std::int64_t blocks) {
  while (free_ < blocks && !kept_.empty()) drop(kept_.front().session);
  free_ -= blocks;
  fewest_free_ = std::min(fewest_free_, free_ + kept_blocks_);
}

/// Of a prompt, in the cache before it is computed. The last token always is computed: the answer
/// starts from it.
int ServingReplica::tokens_there(const LiveRequest& request) const {
  const int prompt = request.seen.prompt;
  const int shared = std::min(shared_, prompt);
  const int cached = shared + static_cast<int>(std::floor(reuse_ * (prompt - shared)));
  return std::min(std::max(cached, kept_tokens(request.drawn.session)), prompt - 1);
}

void ServingReplica::count_prompt(LiveRequest& request, int there, double now) {
  if (request.scheduled) return;
  request.scheduled = true;
  request.seen.started = now;
  asked_ += request.seen.prompt;
  found_ += there;
}

/// Takes requests from the head of the queue while there are seats, tokens and blocks.
void ServingReplica::admit(int& budget, double now) {
  const bool whole = !pool_.scheduler.chunked_prefill;
  while (!waiting_.empty() && budget > 0 && running_ < pool_.scheduler.sequences) {
    const std::uint32_t slot = waiting_.front();
    LiveRequest& request = at(slot);
    request.prefill_target = request.seen.prompt + request.generated;
    const int there = tokens_there(request);
    const int rest = request.prefill_target - there;
    if (whole && rest > budget && !chunks_.empty()) return;
    const std::int64_t blocks = blocks_to_start(request);
    if (!has_room(blocks)) return;
    waiting_.pop_front();
    drop(request.drawn.session);
    take_blocks(blocks);
    request.in_cache = there;
    request.blocks = blocks;
    request.admission = admissions_++;
    admitted_.emplace(request.admission, slot);
    prefilling_.push_back(slot);
    ++running_;
    count_prompt(request, there, now);
    add_chunk(slot, whole ? rest : std::min({budget, longest_chunk(), rest}), budget);
  }
}

/// Blocks for the tokens that this step writes.
void ServingReplica::grow() {
  if (decoding_ == 0 || pool_.scheduler.reserves_output) return;
  std::vector<Due>& due = growth_[static_cast<std::size_t>(step_ + 1) % growth_.size()];
  std::vector<Due> now;
  now.swap(due);
  for (const Due& entry : now) {
    if (at(entry.slot).version != entry.version) continue;
    const double after = context_of(at(entry.slot)) + pool_.tokens_per_step;
    const std::int64_t more = needed(std::ceil(after)) - at(entry.slot).blocks;
    if (more > 0 && !make_room(more, entry.slot)) continue;
    take_blocks(more);
    at(entry.slot).blocks += more;
    schedule_growth(entry.slot);
  }
  now.clear();
  if (due.empty()) due.swap(now);  // its memory
}

/// Preempts those that were admitted last until there are that many blocks. False: the one that
/// asks was among them.
bool ServingReplica::make_room(std::int64_t blocks, std::uint32_t asking) {
  while (free_ + kept_blocks_ < blocks) {
    const std::uint32_t last = admitted_.rbegin()->second;
    preempt(last);
    if (last == asking) return false;
  }
  return true;
}

/// Gives up a request's cache; it is computed again from the head of the queue.
void ServingReplica::preempt(std::uint32_t slot) {
  LiveRequest& request = at(slot);
  ++request.seen.preempted;
  ++preemptions_;
  release(slot);
  waiting_.push_front(slot);
}

void ServingReplica::release(std::uint32_t slot) {
  LiveRequest& request = at(slot);
  if (request.decodes) end_decoding(request);
  const auto found = std::ranges::find(prefilling_, slot);
  if (found != prefilling_.end()) prefilling_.erase(found);
  free_ += request.blocks;
  request.blocks = 0;
  admitted_.erase({request.admission, slot});
  request.admission = -1;
  --running_;
}

std::int64_t ServingReplica::detach(std::uint32_t slot) {
  LiveRequest& request = at(slot);
  const std::int64_t blocks = request.blocks;
  request.blocks = 0;
  release(slot);
  return blocks;
}

void ServingReplica::end_decoding(LiveRequest& request) {
  const double by_steps =
      request.generated + static_cast<double>(step_ - request.joined_step) * pool_.tokens_per_step;
  request.generated = generated_by(request);
  surplus_ += by_steps - request.generated;
  if (request.joined_step < step_)
    request.last_token = last_decode_;
  else
    joined_at_.erase(std::ranges::find(joined_at_, request.last_token));
  context_ -= context_of(request);
  if (--decoding_ == 0) context_ = 0.0;
  request.decodes = false;
  ++request.version;
}

bool ServingReplica::reserve(std::uint32_t slot) {
  LiveRequest& request = at(slot);
  const std::int64_t blocks = blocks_to_start(request);
  if (running_ >= pool_.scheduler.sequences || !has_room(blocks)) return false;
  request.blocks = blocks;
  take_blocks(blocks);
  ++running_;
  return true;
}

void ServingReplica::begin_decoding(std::uint32_t slot) {
  LiveRequest& request = at(slot);
  if (request.admission < 0) {
    request.admission = admissions_++;
    admitted_.emplace(request.admission, slot);
  }
  request.decodes = true;
  request.joined_step = step_;
  // The newest token enters the cache with the step that reads it.
  request.joined_context = request.seen.prompt + request.generated - 1;
  context_ += request.joined_context;
  ++decoding_;
  joined_at_.push_back(request.last_token);
  const double rest = request.seen.output - request.generated;
  const auto steps = static_cast<std::int64_t>(std::ceil(rest / pool_.tokens_per_step - 1e-9));
  ends_.push({step_ + std::max<std::int64_t>(1, steps), slot, request.version});
  schedule_growth(slot);
}

/// The first step that writes behind the blocks that are held.
void ServingReplica::schedule_growth(std::uint32_t slot) {
  const LiveRequest& request = at(slot);
  const double room = static_cast<double>(request.blocks * pool_.scheduler.block_tokens) +
                      std::min(shared_, request.seen.prompt) - request.joined_context;
  const auto since = static_cast<std::int64_t>(std::floor(room / pool_.tokens_per_step + 1e-9));
  const std::int64_t soonest = step_ + 1;
  const std::int64_t step = std::max(soonest, request.joined_step + since + 1);
  const std::int64_t latest = soonest + static_cast<std::int64_t>(growth_.size()) - 1;
  const std::int64_t at_step = std::min(step, latest);
  growth_[static_cast<std::size_t>(at_step) % growth_.size()].push_back(
      {at_step, slot, request.version});
}

ServingBatch ServingReplica::batch() {
  priced_.clear();
  double ending = 0.0;
  for (const Chunk& chunk : chunks_) {
    const LiveRequest& request = at(chunk.slot);
    priced_.push_back({static_cast<double>(chunk.tokens), static_cast<double>(request.in_cache)});
    if (request.in_cache + chunk.tokens == request.prefill_target) ending += 1.0;
  }
  return {priced_, static_cast<double>(stepping_), stepping_ > 0 ? context_ : 0.0, ending};
}

void ServingReplica::finish(double now, StepOutcome& outcome, GapHistogram* gaps) {
  outcome.prefilled.clear();
  outcome.ended.clear();
  outcome.tokens = 0.0;
  if (stepping_ > 0) finish_decodes(now, outcome, gaps);
  finish_chunks(now, outcome, gaps);
}

void ServingReplica::finish_decodes(double now, StepOutcome& outcome, GapHistogram* gaps) {
  ++step_;
  context_ += stepping_ * pool_.tokens_per_step;
  outcome.tokens += stepping_ * pool_.tokens_per_step;
  if (gaps != nullptr) {
    const double before = stepping_ - static_cast<double>(joined_at_.size());
    if (before > 0.0) gaps->add(now - last_decode_, before);
    for (const double at : joined_at_) gaps->add(now - at, 1.0);
  }
  joined_at_.clear();
  last_decode_ = now;
  while (!ends_.empty() && ends_.top().step <= step_) {
    const Due due = ends_.top();
    ends_.pop();
    LiveRequest& request = at(due.slot);
    if (request.version != due.version) continue;
    release(due.slot);
    outcome.ended.push_back(due.slot);
  }
  outcome.tokens -= surplus_;
  surplus_ = 0.0;
}

void ServingReplica::finish_chunks(double now, StepOutcome& outcome, GapHistogram* gaps) {
  for (const Chunk& chunk : chunks_) {
    LiveRequest& request = at(chunk.slot);
    request.in_cache += chunk.tokens;
    prefilled_ += chunk.tokens;
    if (request.in_cache < request.prefill_target) continue;
    prefilling_.erase(std::ranges::find(prefilling_, chunk.slot));
    if (request.generated > 0 && gaps != nullptr) gaps->add(now - request.last_token, 1.0);
    ++request.generated;
    outcome.tokens += 1.0;
    request.last_token = now;
    if (request.generated == 1) request.seen.first_token = now;
    if (request.generated >= request.seen.output) {
      release(chunk.slot);
      outcome.ended.push_back(chunk.slot);
    } else if (hands_over_) {
      outcome.prefilled.push_back(chunk.slot);
    } else {
      begin_decoding(chunk.slot);
    }
  }
}

}  // namespace foretrain::internal
