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

/// A replica that decodes `running` sequences while prompts come in.
class Replica {
 public:
  Replica(const Deployment& deployment, const RequestLengths& lengths)
      : deployment_{deployment},
        lengths_{lengths},
        pass_{deployment},
        fresh_{std::max(1.0, lengths.input - lengths.cached)} {}

  /// The mean step without prompts. Stages of a pipeline hold a part of the sequences each.
  [[nodiscard]] Seconds decode(double running) const;
  /// What one prompt adds to the steps that compute it.
  [[nodiscard]] Seconds prompt_work(double running) const;
  /// From its first step to its first token.
  [[nodiscard]] Seconds prompt_latency(double running) const;

 private:
  [[nodiscard]] double stages() const { return deployment_.layout.pipeline; }
  [[nodiscard]] double in_batch(double running) const { return std::max(1.0, running / stages()); }
  [[nodiscard]] StepTime decode_step(double sequences) const;
  [[nodiscard]] StepTime prompt_step(double sequences, double prompts) const;
  /// Chunks that a prompt is cut into beside so many sequences.
  [[nodiscard]] double pieces(double sequences) const;

  const Deployment& deployment_;
  const RequestLengths& lengths_;
  ForwardPass pass_;
  double fresh_;  ///< tokens of a prompt that are computed
};

StepTime Replica::decode_step(double sequences) const {
  const double context = lengths_.input + lengths_.output / 2.0;
  return pass_.step({.decode_sequences = sequences, .cached_tokens = sequences * context});
}

double Replica::pieces(double sequences) const {
  const EngineRules& rules = deployment_.engine.rules;
  const double beside = rules.mixed_steps ? sequences / deployment_.layout.attention_data : 0.0;
  const double room = std::max(1.0 * rules.block_tokens, rules.token_budget - beside);
  return std::ceil(fresh_ / room);
}

StepTime Replica::prompt_step(double sequences, double prompts) const {
  const bool mixed = deployment_.engine.rules.mixed_steps;
  const double parts = pieces(sequences);
  const double tokens = fresh_ / parts;
  // Chunks of a prompt see what is before them: on average half of the others.
  const PrefillChunk chunk{tokens, lengths_.cached + (fresh_ - tokens) / 2.0};
  const std::vector<PrefillChunk> chunks(static_cast<std::size_t>(prompts), chunk);
  const double context = lengths_.input + lengths_.output / 2.0;
  const double beside = mixed ? sequences : 0.0;
  return pass_.step({.prefill = chunks,
                     .decode_sequences = beside,
                     .cached_tokens = beside * context,
                     .finished_prompts = prompts / parts});
}

Seconds Replica::decode(double running) const {
  const StepTime step = decode_step(in_batch(running));
  return stages() > 1.0 ? max(step.total(), stages() * step.interval) : step.total();
}

Seconds Replica::prompt_work(double running) const {
  const double sequences = in_batch(running);
  const double groups = deployment_.layout.attention_data;
  // Groups compute prompts side by side where there are enough of them.
  const double prompts = running >= 2.0 * groups ? groups : 1.0;
  const StepTime with = prompt_step(sequences, prompts);
  Seconds added = with.interval;
  if (deployment_.engine.rules.mixed_steps) added -= decode_step(sequences).interval;
  return max(Seconds{}, added) * (pieces(sequences) / prompts);
}

Seconds Replica::prompt_latency(double running) const {
  const double sequences = in_batch(running);
  const StepTime step = prompt_step(sequences, 1.0);
  return step.total() + (pieces(sequences) - 1.0) * step.interval;
}

/// Sequences of this length that a replica decodes at once at most.
double most_running(const Deployment& deployment, const RequestLengths& lengths) {
  const CacheSize cache = cache_size(deployment);
  const double held = lengths.input + lengths.output / 2.0;
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

}  // namespace

SteadyLoad closed_loop(const Deployment& deployment, const RequestLengths& lengths,
                       const ClosedLoad& load) {
  FORETRAIN_REQUIRE(load.concurrency >= 1.0 && lengths.input >= 1.0 && lengths.output >= 1.0);
  const Replica replica{deployment, lengths};
  const double replicas = deployment.layout.replicas;
  const double clients = std::max(1.0, load.concurrency / replicas);
  const double room = most_running(deployment, lengths);
  const double served = std::min(clients, room);
  const double per_step = deployment.speculation.tokens_per_step();
  const double tokens = std::max(1.0, lengths.output - 1.0);
  SteadyLoad steady;
  steady.cache_bound = clients > room;
  double running = served;
  Seconds cycle;
  constexpr int rounds = 6;  // the running number settles in a few
  for (int round = 0; round < rounds; ++round) {
    steady.step = replica.decode(running);
    steady.prompt = replica.prompt_work(running);
    // Each request decodes while every other one served computes its prompt once.
    const Seconds decoding =
        tokens / per_step * steady.step + (served - 1.0) * (running / served) * steady.prompt;
    steady.tpot = decoding / tokens;
    const Seconds first =
        replica.prompt_latency(running) + 0.5 * steady.step + deployment.engine.times.per_request;
    cycle = first + decoding;
    steady.queueing = prompt_queue(steady.prompt, cycle, served);
    cycle += steady.queueing;
    steady.ttft = first + steady.queueing;
    running = std::max(1.0, served * (decoding / cycle));
  }
  steady.running = running;
  if (load.requests_per_client > 0.0) {
    const Seconds burst = (served - 1.0) / 2.0 * steady.prompt / load.requests_per_client;
    steady.ttft += burst;
    steady.queueing += burst;
  }
  // Clients beyond the room wait for one of the others to end.
  const Seconds beyond = (clients - served) / served * cycle;
  steady.ttft += beyond;
  steady.queueing += beyond;
  steady.output_tokens_per_s = replicas * served * lengths.output / cycle.value();
  return steady;
}

SteadyLoad offline(const Deployment& deployment, const RequestLengths& lengths, double requests) {
  FORETRAIN_REQUIRE(lengths.input >= 1.0 && lengths.output >= 1.0);
  const Replica replica{deployment, lengths};
  const double replicas = deployment.layout.replicas;
  const double room = most_running(deployment, lengths);
  const double each = requests > 0.0 ? std::max(1.0, requests / replicas) : INFINITY;
  const double served = std::min(room, each);
  const double tokens = lengths.output / deployment.speculation.tokens_per_step();
  SteadyLoad steady;
  steady.step = replica.decode(served);
  steady.prompt = replica.prompt_work(served);
  steady.running = served;
  steady.cache_bound = each > room;
  const Seconds cycle = tokens * steady.step + served * steady.prompt;
  steady.tpot = cycle / lengths.output;
  steady.ttft = deployment.engine.times.per_request + served / 2.0 * steady.prompt;
  steady.queueing = steady.ttft;
  steady.output_tokens_per_s = replicas * served * lengths.output / cycle.value();
  return steady;
}

}  // namespace foretrain
