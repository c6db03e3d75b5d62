// SPDX-License-Identifier: Apache-2.0
// models/post_training/README.md, "Loops" and "New weights".
// models/post_training/README.md, "Rollouts".

#include "models/post_training/rollout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <deque>
#include <functional>
#include <queue>
#include <vector>

#include "models/base/require.hpp"
#include "models/layers/parameters.hpp"
#include "models/post_training/post_training_plan.hpp"
#include "models/serving/forward_step.hpp"
#include "models/serving/serving_memory.hpp"

namespace foretrain {
namespace {

/// What one way of handing weights over takes: per tensor, and the rate at which one replica of the
/// engine is filled.
struct SyncTimes {
  SyncPath path;
  Seconds tensor;
  BytesPerSecond rate;
};
constexpr std::array sync_times{
    SyncTimes{SyncPath::per_tensor, Seconds{1.5e-3}, BytesPerSecond{4e9}},
    SyncTimes{SyncPath::buckets, Seconds{0.4e-3}, BytesPerSecond{8e9}},
    SyncTimes{SyncPath::checkpoint_engine, Seconds{0.0}, BytesPerSecond{65e9}}};

/// On shared GPUs layers are gathered over the trainer's ranks and handed over in place.
constexpr BytesPerSecond gathered_rate{26e9};

SyncTimes times_of(const PostTrainingPlan& plan) {
  if (plan.placement == RolloutPlacement::colocated) return {plan.sync, Seconds{}, gathered_rate};
  for (const SyncTimes& times : sync_times)
    if (times.path == plan.sync) return times;
  return sync_times.front();
}

/// Of every loop: published steps do not tell them apart.
constexpr LoopTimes usual{Seconds{1.0}, Seconds{1e-3}, Seconds{11.0}, Seconds{0.3}};

}  // namespace

LoopTimes loop_times() { return usual; }
bool generation_counts_sync(PolicyLoop loop) { return loop == PolicyLoop::verl; }

double checkpoint_tensors(const LlmShape& model) {
  const double gate = model.gated_mlp ? 3.0 : 2.0;
  constexpr double attention = 4.0;
  constexpr double norms = 2.0;
  double tensors = 2.0 + model.layers * (attention + norms + gate);
  if (model.moe) tensors += 1.0 * model.layers * (gate * model.moe->experts + 1.0);
  return tensors;
}

Seconds weight_sync_time(const PostTrainingPlan& plan, const Deployment& rollout) {
  const SyncTimes times = times_of(plan);
  const Bytes bytes{static_cast<double>(parameters(rollout.model)) *
                    weight_bytes(WeightFormat::bf16)};
  return loop_times().sync + checkpoint_tensors(rollout.model) * times.tensor + bytes / times.rate;
}

Seconds turn_time(const PostTrainingPlan& plan, const Job& policy, Bytes resident_states) {
  if (plan.placement == RolloutPlacement::separate) return {};
  const Link& down = policy.cluster.host.pcie;
  const Seconds moved =
      plan.offload ? 2.0 * (resident_states / (down.bandwidth * down.achievable)) : Seconds{};
  return loop_times().turn + moved;
}

namespace {

/// Of the cache, what answers may start into: vLLM keeps a hundredth free for those under way.
constexpr double watermark = 0.99;

/// An answer that has not started, or starts again.
struct Waiting {
  double left = 0.0;  ///< tokens to generate
  double done = 0.0;  ///< tokens that have to be computed again with the prompt
};

/// An answer under way; all advance together, so that the clock of tokens tells where each is.
struct Running {
  double ends = 0.0;   ///< clock of its last token
  double since = 0.0;  ///< clock at which it would have begun with an empty answer

  friend bool operator>(const Running& a, const Running& b) { return a.ends > b.ends; }
};

/// What one replica holds and how fast it is.
struct Replica {
  ForwardPass pass;
  double prompt = 0.0;  ///< tokens of it that the cache holds per answer
  double fresh = 0.0;   ///< tokens of it that are computed per answer
  double room = 0.0;    ///< tokens of the cache
  double seats = 0.0;   ///< answers at a time
  double budget = 0.0;  ///< tokens of a step with prompts
  double tokens_per_step = 1.0;
  int stages = 1;
  double pause_per_token = 0.0;  ///< seconds of tools over tokens of an answer

  /// From one token of every sequence to the next.
  [[nodiscard]] double token_time(double sequences, double held) const {
    if (pause_per_token <= 0.0) return step(sequences, held);
    // Of so many under way some wait for tools: those that decode make the steps.
    double decoding = sequences;
    double time = 0.0;
    for (int round = 0; round < 4; ++round) {
      time = step(std::max(1.0, decoding), held * decoding / sequences);
      decoding = sequences * time / (time + pause_per_token);
    }
    return time + pause_per_token;
  }

  /// What computing `tokens` of prompts or given-up answers adds.
  [[nodiscard]] double prefill_time(double tokens) const {
    if (tokens <= 0.0) return 0.0;
    const double parts = std::ceil(tokens / budget);
    const PrefillChunk chunk{tokens / parts, 0.0};
    const StepTime time = pass.step({.prefill = {&chunk, 1}, .finished_prompts = 1.0});
    return parts * (stages > 1 ? time.interval : time.total()).value();
  }

 private:
  [[nodiscard]] double step(double sequences, double held) const {
    const double part = std::max(1.0, sequences / stages);
    const StepTime time =
        pass.step({.decode_sequences = part, .cached_tokens = held * part / sequences});
    return max(time.total(), stages * time.interval).value() / tokens_per_step;
  }
};

class ReplicaRun {
 public:
  ReplicaRun(const Replica& replica, std::deque<Waiting> waiting)
      : replica_{replica}, waiting_{std::move(waiting)}, all_(waiting_.size()) {}

  RolloutForecast result() {
    start_waiting();
    forecast_.first_running = static_cast<double>(running_.size());
    while (!running_.empty()) {
      advance();
      start_waiting();
    }
    forecast_.time = Seconds{time_};
    forecast_.running = sequence_seconds_ / std::max(1e-12, time_);
    if (steady_time_ <= 0.0) note_steady();
    forecast_.steady_tokens_per_s = steady_tokens_ / std::max(1e-12, steady_time_);
    return forecast_;
  }

 private:
  [[nodiscard]] double held() const {
    const auto count = static_cast<double>(running_.size());
    return count * (replica_.prompt + clock_) - since_;
  }

  void start_waiting() {
    double computed = 0.0;
    while (!waiting_.empty() && static_cast<double>(running_.size()) < replica_.seats) {
      const Waiting next = waiting_.front();
      const double needs = replica_.prompt + next.done;
      if (!running_.empty() && held() + needs > watermark * replica_.room) break;
      waiting_.pop_front();
      running_.push({clock_ + next.left, clock_ - next.done});
      since_ += clock_ - next.done;
      computed += replica_.fresh + next.done;
    }
    if (waiting_.empty()) note_steady();
    const double seconds = replica_.prefill_time(computed);
    forecast_.prefill += Seconds{seconds};
    pass_time(seconds);
  }

  /// The engine was full until now.
  void note_steady() {
    if (steady_time_ > 0.0 || time_ <= 0.0) return;
    steady_time_ = time_;
    steady_tokens_ = tokens_;
  }

  void pass_time(double seconds) {
    time_ += seconds;
    sequence_seconds_ += seconds * static_cast<double>(running_.size());
  }

  /// To the next end of an answer, or to where the cache is full.
  void advance() {
    const auto count = static_cast<double>(running_.size());
    double tokens = running_.top().ends - clock_;
    const double until_full = (replica_.room - held()) / count;
    const bool fills = count > 1.0 && until_full < tokens;
    if (fills) tokens = std::max(0.0, until_full);
    pass_time(tokens * replica_.token_time(count, held() + count * tokens / 2.0));
    clock_ += tokens;
    tokens_ += tokens * count;
    if (fills) return give_up_newest();
    while (!running_.empty() && running_.top().ends <= clock_ + 1e-9) {
      since_ -= running_.top().since;
      running_.pop();
      note_end();
    }
  }

  /// The last to start makes room; its tokens are computed again.
  void give_up_newest() {
    std::vector<Running> kept;
    kept.reserve(running_.size());
    while (!running_.empty()) {
      kept.push_back(running_.top());
      running_.pop();
    }
    const auto newest = std::ranges::max_element(
        kept, [](const Running& a, const Running& b) { return a.since < b.since; });
    since_ -= newest->since;
    waiting_.push_front({newest->ends - clock_, clock_ - newest->since});
    kept.erase(newest);
    for (const Running& one : kept) running_.push(one);
    forecast_.restarted += 1.0;
  }

  void note_end() {
    ++ended_;
    if (2 * ended_ >= all_ && forecast_.half <= Seconds{}) forecast_.half = Seconds{time_};
    if (10 * ended_ >= 9 * all_ && forecast_.most <= Seconds{}) forecast_.most = Seconds{time_};
  }

  const Replica& replica_;
  std::deque<Waiting> waiting_;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  std::size_t all_;
  std::size_t ended_ = 0;
  double clock_ = 0.0;
  double since_ = 0.0;  ///< sum over those under way
  double time_ = 0.0;
  double tokens_ = 0.0;
  double sequence_seconds_ = 0.0;
  double steady_time_ = 0.0;
  double steady_tokens_ = 0.0;
  RolloutForecast forecast_;
};

/// The quantiles in an order without regard to length: by the fractions of multiples of the golden
/// ratio.
std::deque<Waiting> shuffled(std::vector<double> lengths, double longest) {
  constexpr double golden = 0.6180339887498949;
  lengths.back() = std::max(lengths.back(), longest);
  std::vector<std::pair<double, double>> order;
  order.reserve(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double place = golden * static_cast<double>(i + 1);
    order.emplace_back(place - std::floor(place), lengths[i]);
  }
  std::ranges::sort(order);
  std::deque<Waiting> waiting;
  for (const auto& [place, length] : order) waiting.push_back({length, 0.0});
  return waiting;
}

Replica replica_of(const Deployment& deployment, const PostTrainingPlan& plan) {
  const EngineRules& rules = deployment.engine.rules;
  const CacheSize cache = cache_size(deployment);
  const double groups = deployment.layout.attention_data;
  const double request = plan.prompt.mean + plan.answer.mean;
  Replica replica{ForwardPass{deployment}};
  replica.prompt = plan.prompt.mean;
  // Answers to one prompt are generated on one replica, whose cache has the prompt once.
  replica.fresh = plan.prompt.mean / plan.answers;
  replica.room = cache.sequences(request) * request * groups;
  replica.seats = rules.sequences * groups;
  replica.budget = rules.token_budget * groups;
  replica.tokens_per_step = deployment.speculation.tokens_per_step();
  replica.stages = deployment.layout.pipeline;
  replica.pause_per_token =
      plan.turns > 1 ? (plan.turns - 1) * plan.tool_wait.value() / plan.answer.mean : 0.0;
  return replica;
}

}  // namespace

RolloutForecast rollout_forecast(const Deployment& deployment, const PostTrainingPlan& plan) {
  FORETRAIN_REQUIRE(plan.prompts >= 1 && plan.answers >= 1);
  FORETRAIN_REQUIRE(deployment.layout.replicas >= 1);
  const TokenLengths lengths{plan.answer};
  const double replicas = deployment.layout.replicas;
  const double generated = std::ceil(plan.generated());
  const int each = std::max(1, static_cast<int>(std::ceil(generated / replicas)));
  const double longest = lengths.longest(generated);
  const Replica replica = replica_of(deployment, plan);
  ReplicaRun run{replica, shuffled(lengths.middles(each), longest)};
  RolloutForecast forecast = run.result();
  forecast.answers = generated;
  forecast.tokens = generated * plan.answer.mean;
  forecast.longest = longest;
  forecast.steady_tokens_per_s *= replicas;
  forecast.time += deployment.engine.times.per_request;
  return forecast;
}

}  // namespace foretrain
