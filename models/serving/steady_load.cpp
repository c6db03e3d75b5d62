// SPDX-License-Identifier: Apache-2.0
// Equations: models/serving/README.md, "Steady load".
#include "models/serving/steady_load.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/base/require.hpp"
#include "models/serving/serving_memory.hpp"

namespace foretrain {
namespace {

/// Sequences of this length that a replica decodes at once at most.
double most_running(const Deployment& deployment, const RequestLengths& lengths) {
  const CacheSize cache = cache_size(deployment);
  const double written = deployment.engine.rules.reserves_output ? 1.0 : 0.5;
  const double held = lengths.input + written * lengths.output;
  const double groups = deployment.layout.attention_data;
  return std::max(
      1.0, std::min(cache.sequences(held), 1.0 * deployment.engine.rules.sequences) * groups);
}

/// Mean wait for prompts that came before, of arrivals at random: rho / (2 (1 - rho)) services.
Seconds prompt_queue(Seconds work, Seconds cycle, double clients) {
  const double most = (clients - 1.0) / 2.0;
  const double use = clients * work / cycle;
  if (use >= 1.0) return most * work;
  return std::min(most, use / (2.0 * (1.0 - use))) * work;
}

/// Tokens that the longest of `running` answers still has when no request is left to start, over
/// what an answer has in the mean then: harmonic numbers for exponential lengths, and for even ones
/// the largest of residuals with the distribution 1 - (1 - x/L)^2.
double longest_over_mean(double running, const RequestLengths& lengths) {
  if (lengths.spread == LengthSpread::exponential) {
    constexpr double euler = 0.5772156649;
    return lengths.output * (std::log(running) + euler * (1.0 - 1.0 / running));
  }
  if (lengths.spread == LengthSpread::none || lengths.spread == LengthSpread::narrow) return 0.0;
  const double smallest =
      0.5 * std::sqrt(M_PI) * std::exp(std::lgamma(running + 1.0) - std::lgamma(running + 1.5));
  return 2.0 * lengths.output * (2.0 / 3.0 - smallest);
}

}  // namespace

SteadyServing::SteadyServing(const Deployment& deployment, const RequestLengths& lengths)
    : pass_{deployment},
      lengths_{lengths},
      layout_{deployment.layout},
      rules_{deployment.engine.rules},
      times_{deployment.engine.times},
      tokens_per_step_{deployment.speculation.tokens_per_step()},
      fresh_{std::max(1.0, lengths.input - lengths.cached)},
      room_{most_running(deployment, lengths)} {
  FORETRAIN_REQUIRE(lengths.input >= 1.0 && lengths.output >= 1.0);
}

SteadyServing SteadyServing::with(const EngineTimes& times) const {
  SteadyServing other = *this;
  other.pass_ = pass_.with(times);
  other.times_ = times;
  return other;
}

/// Chunks that a prompt is cut into beside so many sequences.
double SteadyServing::pieces(double sequences) const {
  const double beside = rules_.mixed_steps ? sequences / layout_.attention_data : 0.0;
  const double room = std::max(1.0 * rules_.block_tokens, rules_.token_budget - beside);
  return std::ceil(fresh_ / room);
}

StepTime SteadyServing::prompt_step(double sequences, double prompts) const {
  const double parts = pieces(sequences);
  const double tokens = fresh_ / parts;
  // Chunks of a prompt see what is before them: on average half of the others.
  const PrefillChunk chunk{tokens, lengths_.cached + (fresh_ - tokens) / 2.0};
  const std::vector<PrefillChunk> chunks(static_cast<std::size_t>(prompts), chunk);
  const double context = lengths_.input + lengths_.output / 2.0;
  const double beside = rules_.mixed_steps ? sequences : 0.0;
  return pass_.step({.prefill = chunks,
                     .decode_sequences = beside,
                     .cached_tokens = beside * context,
                     .finished_prompts = prompts / parts});
}

SteadyServing::Steps SteadyServing::steps(double running) const {
  const double stages = layout_.pipeline;
  // Stages of a pipeline hold a part of the sequences each.
  const double sequences = std::max(1.0, running / stages);
  const double context = lengths_.input + lengths_.output / 2.0;
  const StepTime decode =
      pass_.step({.decode_sequences = sequences, .cached_tokens = sequences * context});
  const double groups = layout_.attention_data;
  // Groups compute prompts side by side where there are enough of them.
  const double least = running >= 2.0 * groups ? groups : 1.0;
  const double room = std::floor(rules_.token_budget / fresh_) * groups;
  const double most = std::max(least, std::min(std::floor(sequences), room));
  return {stages > 1.0 ? max(decode.total(), stages * decode.interval) : decode.total(),
          prompts(sequences, least, decode.interval), prompts(sequences, most, decode.interval)};
}

SteadyServing::Prompts SteadyServing::prompts(double sequences, double count,
                                              Seconds decode) const {
  const StepTime step = prompt_step(sequences, count);
  const double parts = pieces(sequences);
  const Seconds beside = rules_.mixed_steps ? decode : Seconds{};
  return {count, max(Seconds{}, step.interval - beside) * parts,
          step.total() + (parts - 1.0) * step.interval, step.first};
}

SteadyServing::Prompts SteadyServing::Steps::together(double count) const {
  if (count <= least.count || most.count <= least.count) return least;
  const double share = std::min(1.0, (count - least.count) / (most.count - least.count));
  return {least.count + share * (most.count - least.count),
          least.added + share * (most.added - least.added),
          least.latency + share * (most.latency - least.latency), least.first};
}

/// What the end of a benchmark takes beyond its share of the work: the last answers decode in ever
/// smaller batches, whose steps take at least what one sequence's do.
Seconds SteadyServing::drain(double running) const {
  const double tokens = longest_over_mean(running, lengths_) / tokens_per_step_;
  return tokens > 0.0 ? tokens * steps(1.0).decode : Seconds{};
}

SteadyLoad SteadyServing::closed_loop(const ClosedLoad& load) const {
  FORETRAIN_REQUIRE(load.concurrency >= 1.0);
  const double clients = std::max(1.0, load.concurrency / layout_.replicas);
  const double served = std::min(clients, room_);
  const double tokens = std::max(1.0, lengths_.output - 1.0);
  // Answers of unlike lengths end one by one.
  const double burst = lengths_.spread == LengthSpread::none ? times_.burst : 0.0;
  SteadyLoad steady;
  steady.cache_bound = clients > room_;
  double running = served;
  Seconds cycle;
  constexpr int rounds = 6;  // the running number settles in a few
  constexpr double settled = 1e-9;
  Seconds decoding = tokens / tokens_per_step_ * steps(served).decode;
  for (int round = 0; round < rounds; ++round) {
    const Steps now = steps(running);
    steady.step = now.decode;
    // Prompts that come while one is computed are computed together.
    const Seconds alone = now.least.latency;
    const double while_computed = alone / (alone + decoding);
    const double meets = while_computed + burst * (1.0 - while_computed);
    const Prompts group = now.together(1.0 + (served - 1.0) * meets);
    steady.prompt = group.added / group.count;
    // Each request decodes while every other one served computes its prompt once; of a burst's,
    // half come before its own.
    const Seconds before_own = 0.5 * burst * std::max(0.0, served - group.count) * steady.prompt;
    decoding = tokens / tokens_per_step_ * steady.step +
               (1.0 - burst) * (served - 1.0) * (running / served) * steady.prompt + before_own;
    steady.tpot = decoding / tokens;
    const Seconds first = group.latency + group.first + 0.5 * steady.step + times_.per_request;
    cycle = first + decoding;
    steady.queueing = (1.0 - burst) * prompt_queue(steady.prompt, cycle, served) + before_own;
    cycle += steady.queueing;
    steady.ttft = first + steady.queueing;
    const double before = running;
    running = std::max(1.0, served * (decoding / cycle));
    if (std::abs(running - before) < settled * running) break;
  }
  steady.running = running;
  if (load.requests_per_client > 0.0 && !load.median_first_token) {
    const Seconds start =
        (1.0 - burst) * (served - 1.0) / 2.0 * steady.prompt / load.requests_per_client;
    steady.ttft += start;
    steady.queueing += start;
  }
  // Clients beyond the room wait for one of the others to end.
  const Seconds beyond = (clients - served) / served * cycle;
  steady.ttft += beyond;
  steady.queueing += beyond;
  if (load.requests_per_client > 0.0)
    cycle += drain(served) / (load.requests_per_client * clients / served);
  steady.output_tokens_per_s = layout_.replicas * served * lengths_.output / cycle.value();
  return steady;
}

SteadyServing::Prompts SteadyServing::offline_prompts(const Steps& now, double running) const {
  return now.together(running / lengths_.output);
}

Seconds SteadyServing::wave(double running) const {
  const Steps now = steps(running);
  const Prompts group = offline_prompts(now, running);
  return lengths_.output / tokens_per_step_ * now.decode + running / group.count * group.added;
}

SteadyLoad SteadyServing::offline(double requests) const {
  const double replicas = layout_.replicas;
  const double each = requests > 0.0 ? std::max(1.0, requests / replicas) : INFINITY;
  const double served = std::min(room_, each);
  const Steps now = steps(served);
  SteadyLoad steady;
  steady.step = now.decode;
  const Prompts group = offline_prompts(now, served);
  steady.prompt = group.added / group.count;
  steady.running = served;
  steady.cache_bound = each > room_;
  const Seconds cycle = wave(served);
  steady.tpot = cycle / lengths_.output;
  steady.ttft = times_.per_request + served / 2.0 * steady.prompt;
  steady.queueing = steady.ttft;
  steady.output_tokens_per_s = replicas * served * lengths_.output / cycle.value();
  if (!std::isfinite(each)) return steady;
  // Answers of one length end in waves; the last takes as long as another, however few are left.
  const double full = std::floor(each / served);
  const double rest = each - full * served;
  const Seconds all = full * cycle + (rest > 0.0 ? wave(std::max(1.0, rest)) : Seconds{});
  steady.output_tokens_per_s = replicas * each * lengths_.output / all.value();
  return steady;
}

SteadyLoad closed_loop(const Deployment& deployment, const RequestLengths& lengths,
                       const ClosedLoad& load) {
  return SteadyServing{deployment, lengths}.closed_loop(load);
}

SteadyLoad offline(const Deployment& deployment, const RequestLengths& lengths, double requests) {
  return SteadyServing{deployment, lengths}.offline(requests);
}

}  // namespace foretrain
