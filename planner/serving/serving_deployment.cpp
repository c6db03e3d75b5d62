// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/serving_deployment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "models/base/require.hpp"
#include "models/serving/forward_step.hpp"
#include "scenarios/resolve/resolve_serving.hpp"

namespace foretrain {
namespace {

/// Prices the steps of a replica. With a pipeline a step of the event model is a round: as many
/// batches as there are stages follow each other, each with its part of the sequences and whole
/// chunks, so that a round takes the longer of one batch's way through all stages and of all
/// batches' turns at the slowest stage.
class RoundTimer {
 public:
  explicit RoundTimer(const Deployment& deployment)
      : pass_{deployment}, stages_{deployment.layout.pipeline} {}

  Seconds operator()(const ServingBatch& batch) const {
    return batch.prefill.empty() ? decode(batch) : round(batch);
  }

 private:
  /// Most steps only decode: with as many sequences as one before, and a little more in the cache.
  /// Between contexts of a multiple of 256 tokens each the time is taken as a straight line.
  [[nodiscard]] Seconds decode(const ServingBatch& batch) const {
    constexpr double cell = 256.0;
    const double place = batch.cached_tokens / batch.decode_sequences / cell;
    const auto low = static_cast<std::size_t>(place);
    const auto at = [&](std::size_t index) {
      const auto sequences = static_cast<std::size_t>(batch.decode_sequences);
      if (sequences >= known_.size()) known_.resize(sequences + 1);
      std::vector<double>& times = known_[sequences];
      if (index >= times.size()) times.resize(index + 1);
      if (times[index] == 0.0)
        times[index] = round({{},
                              batch.decode_sequences,
                              batch.decode_sequences * cell * static_cast<double>(index),
                              0.0})
                           .value();
      return times[index];
    };
    const double before = at(low);
    return Seconds{before + (place - static_cast<double>(low)) * (at(low + 1) - before)};
  }

  [[nodiscard]] Seconds round(const ServingBatch& batch) const {
    if (stages_ == 1) return pass_.step(batch).total();
    const double batches = std::min<double>(
        stages_, std::max(batch.decode_sequences, static_cast<double>(batch.prefill.size())));
    Seconds slowest{};
    Seconds turns{};
    for (int part = 0; part < static_cast<int>(std::ceil(batches)); ++part) {
      const StepTime time = pass_.step(part_of(batch, part, batches));
      slowest = max(slowest, time.total());
      turns += time.interval;
    }
    return max(slowest, turns);
  }

  [[nodiscard]] ServingBatch part_of(const ServingBatch& batch, int part, double batches) const {
    chunks_.clear();
    const auto every = static_cast<std::size_t>(std::ceil(batches));
    for (auto i = static_cast<std::size_t>(part); i < batch.prefill.size(); i += every)
      chunks_.push_back(batch.prefill[i]);
    const double share = 1.0 / static_cast<double>(every);
    return {chunks_, batch.decode_sequences * share, batch.cached_tokens * share,
            std::min(batch.finished_prompts, static_cast<double>(chunks_.size()))};
  }

  ForwardPass pass_;
  int stages_;
  mutable std::vector<PrefillChunk> chunks_;
  mutable std::vector<std::vector<double>> known_;  ///< seconds by sequences, then context
};

Deployment deployment_of(const Scenario& scenario, const ServingPlan& plan, const Cluster& cluster,
                         const ServingLayout& layout) {
  Deployment deployment;
  deployment.model = scenario.job.model;
  deployment.cluster = cluster;
  deployment.kernels = scenario.job.device_profile;
  deployment.site = scenario.job.site;
  deployment.engine = *scenario.engine;
  if (plan.memory_share) deployment.engine.rules.memory_share = *plan.memory_share;
  deployment.layout = layout;
  deployment.precision = plan.precision;
  deployment.speculation = plan.speculation;
  deployment.cuda_graphs = plan.cuda_graphs;
  return deployment;
}

/// Every group of attention ranks, and every batch of a pipeline, has a budget of its own.
BatchScheduler scheduler_of(const ServingPlan& plan, const Deployment& deployment) {
  const EngineRules& rules = deployment.engine.rules;
  const int groups = deployment.layout.attention_data;
  const int width = 1 + deployment.speculation.drafted;
  const int wanted = plan.load.concurrency;
  BatchScheduler scheduler;
  scheduler.chunk_tokens = plan.batching.token_budget.value_or(rules.token_budget);
  scheduler.token_budget = scheduler.chunk_tokens * groups * deployment.layout.pipeline;
  scheduler.sequences = plan.batching.sequences ? *plan.batching.sequences * groups
                                                : std::max(rules.sequences * groups, wanted);
  scheduler.sequences = std::clamp(scheduler.sequences, 1, scheduler.token_budget / width);
  scheduler.chunked_prefill = plan.batching.mixed_steps.value_or(rules.mixed_steps);
  scheduler.reserves_output = rules.reserves_output;
  // Pages of single tokens are counted in sixteens: what differs is half a block per request.
  scheduler.block_tokens = std::max(16, rules.block_tokens);
  return scheduler;
}

/// Blocks of a replica's cache: of requests of the usual length, which is exact where every layer
/// keeps every token.
std::int64_t blocks_in(const CacheSize& cache, const ReadyPool& pool, double request) {
  const double sequences = cache.sequences(request) * pool.deployment.layout.attention_data;
  const auto each = static_cast<double>(blocks_of(std::ceil(request), pool.scheduler.block_tokens));
  return static_cast<std::int64_t>(std::min(1e12, sequences * each));
}

double traced_mean(const RequestLoad& load, int TracedRequest::*part) {
  double tokens = 0.0;
  for (const TracedRequest& request : load.trace) tokens += request.*part;
  return std::max(1.0, tokens / std::max<double>(1.0, static_cast<double>(load.trace.size())));
}

ReadyPool pool_of(const Scenario& scenario, const ServingPlan& plan, const Cluster& cluster,
                  const ServingLayout& layout) {
  ReadyPool pool;
  pool.deployment = deployment_of(scenario, plan, cluster, layout);
  pool.scheduler = scheduler_of(plan, pool.deployment);
  return pool;
}

/// Every GPU that prefills sends its part of the cache to one that decodes, over the links of the
/// scale-up domain where one holds both, else over its share of the NICs.
CacheTransfer transfer_of(const ReadyServing& ready) {
  const Cluster& cluster = ready.serve.deployment.cluster;
  const bool together = ready.gpus() <= cluster.packing().domain;
  const Link& link = together ? cluster.host.gpu_link : cluster.network.nic_link;
  const BytesPerSecond rate = together ? link.bandwidth : cluster.inter_host_bandwidth_per_gpu();
  CacheTransfer transfer;
  transfer.per_token = Bytes{ready.prefill->cache.bytes_per_token()};
  transfer.rate = rate * link.achievable;
  const ServingLayout& layout = ready.prefill->deployment.layout;
  transfer.senders = layout.tensor * layout.pipeline;
  transfer.latency =
      together ? link.latency : cluster.network.path_latency + cluster.network.step_latency;
  return transfer;
}

void check_machine(const ServingPlan& plan, const Cluster& cluster,
                   std::vector<Infeasible>& reasons) {
  const int prefill = plan.prefill.gpus() * plan.prefill.replicas;
  if (plan.layout.replicas > 0 && plan.autoscaling.least > plan.layout.replicas)
    reasons.push_back({"autoscaling-least", "serving.autoscaling.least",
                       fmt::format("{} replicas always run, and there are {}",
                                   plan.autoscaling.least, plan.layout.replicas),
                       "fewer, or more serving.replicas"});
  const int needed = plan.layout.gpus() * std::max(1, plan.layout.replicas) + prefill;
  if (needed <= cluster.gpus()) return;
  const int hosts = (needed + cluster.host.gpus - 1) / cluster.host.gpus;
  reasons.push_back({"ranks-fit-cluster", "serving.replicas",
                     fmt::format("{} replicas of {} GPUs{} need {} GPUs, and the cluster has {}",
                                 std::max(1, plan.layout.replicas), plan.layout.gpus(),
                                 prefill > 0 ? fmt::format(" beside {} that prefill", prefill) : "",
                                 needed, cluster.gpus()),
                     fmt::format("write cluster.hosts: {}", hosts)});
}

void fill_cache(ReadyPool& pool, double request, const char* path,
                std::vector<Infeasible>& reasons) {
  for (Infeasible reason : deployment_reasons(pool.deployment)) {
    if (reason.key.starts_with("serving.parallel")) reason.key.replace(0, 16, path);
    reasons.push_back(std::move(reason));
  }
  if (!reasons.empty()) return;
  pool.cache = cache_size(pool.deployment);
  pool.blocks = blocks_in(pool.cache, pool, request);
  if (pool.blocks < blocks_of(std::ceil(request), pool.scheduler.block_tokens))
    reasons.push_back({"out-of-memory", path,
                       fmt::format("not one request of {:.0f} tokens fits in what weights leave: "
                                   "{:.1f} GiB for the cache of a GPU",
                                   request, pool.cache.available.in(GiB)),
                       "more ranks, or fewer bits"});
}

}  // namespace

double mean_prompt(const RequestLoad& load) {
  if (load.arrivals != ArrivalKind::trace) return load.shared_prefix + load.prompt.mean;
  return traced_mean(load, &TracedRequest::prompt);
}

double mean_request(const RequestLoad& load) {
  if (load.arrivals != ArrivalKind::trace) return mean_prompt(load) + load.output.mean;
  return mean_prompt(load) + traced_mean(load, &TracedRequest::output);
}

RequestLoad closed_load(RequestLoad load, int clients, int requests) {
  if (load.arrivals == ArrivalKind::trace) {
    const double prompt = mean_prompt(load);
    const double request = mean_request(load);
    load.prompt = {std::max(1.0, prompt - load.shared_prefix)};
    load.output = {request - prompt};
    load.trace.clear();
  }
  load.arrivals = ArrivalKind::closed;
  load.concurrency = clients;
  load.requests = requests;
  return load;
}

ReadyServing ready_serving(const Scenario& scenario) {
  return ready_serving(scenario, *scenario.serving, scenario.job.cluster);
}

ReadyServing ready_serving(const Scenario& scenario, const ServingPlan& plan,
                           const Cluster& cluster) {
  FORETRAIN_REQUIRE(scenario.serving && scenario.engine);
  ReadyServing ready;
  ready.plan = plan;
  if (plan.layout.replicas == 0) ready.plan.layout.replicas = replicas_on(cluster, plan);
  check_machine(ready.plan, cluster, ready.reasons);
  ready.plan.layout.replicas = std::max(1, ready.plan.layout.replicas);
  const double request = mean_request(plan.load);
  ready.serve = pool_of(scenario, plan, cluster, ready.plan.layout);
  if (ready.reasons.empty()) fill_cache(ready.serve, request, "serving.parallel", ready.reasons);
  if (plan.prefill.replicas == 0) return ready;
  ready.prefill = pool_of(scenario, plan, cluster, plan.prefill);
  if (!ready.reasons.empty()) return ready;
  fill_cache(*ready.prefill, request, "serving.prefill", ready.reasons);
  if (ready.reasons.empty()) ready.transfer = transfer_of(ready);
  return ready;
}

namespace {

/// What a request takes that no step has: until its queue, and behind its prompt's last step.
Seconds beyond_steps(const Deployment& deployment) {
  const std::array prompt{PrefillChunk{1.0, 0.0}};
  const StepTime step = step_time(deployment, {.prefill = prompt, .finished_prompts = 1.0});
  return deployment.engine.times.per_request + step.first;
}

}  // namespace

ServingModel serving_model(const ReadyServing& ready, double pace) {
  FORETRAIN_REQUIRE(ready.reasons.empty() && pace > 0.0);
  const auto timer = [pace](const ReadyPool& from) -> StepTimer {
    if (pace == 1.0) return RoundTimer{from.deployment};
    return [pace, timer = RoundTimer{from.deployment}](const ServingBatch& batch) {
      return pace * timer(batch);
    };
  };
  const auto pool = [&](const ReadyPool& from) {
    const Speculation& speculation = from.deployment.speculation;
    return ServingPool{from.deployment.layout.replicas, from.scheduler,          from.blocks,
                       speculation.tokens_per_step(),   1 + speculation.drafted, timer(from)};
  };
  ServingModel model;
  model.load = ready.plan.load;
  model.routing = ready.plan.routing;
  model.autoscaling = ready.plan.autoscaling;
  model.serve = pool(ready.prefill ? *ready.prefill : ready.serve);
  if (ready.prefill) model.decode = pool(ready.serve);
  model.transfer = ready.transfer;
  model.before_queue = beyond_steps((ready.prefill ? *ready.prefill : ready.serve).deployment);
  model.duration = ready.plan.duration;
  model.warm_up = ready.plan.warm_up;
  model.seed = static_cast<std::uint64_t>(ready.plan.seed);
  return model;
}

}  // namespace foretrain
