// SPDX-License-Identifier: Apache-2.0
#include "models/data/data_parallel.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "models/base/require.hpp"
#include "models/collectives/collective_cost.hpp"
#include "models/collectives/price.hpp"
#include "models/grid/process_grid.hpp"
#include "models/kernels/kernel_cost.hpp"
#include "models/layers/eight_bit_weights.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/sharded_pipeline.hpp"

namespace foretrain {
namespace {

constexpr double weight_bytes = 2.0;

/// Sum over the group, every rank keeping its shard (or all of it).
Seconds reduce_time(const ShardGroups& groups, Bytes gradients, bool sharded,
                    const CollectivePath& path) {
  if (!sharded) return all_reduce_time(groups.shard, gradients, path);
  return reduce_scatter_time(groups.shard, gradients, path) +
         all_reduce_time(groups.replicas, gradients / groups.shard.ranks, path);
}

/// Of so many ranks that hold the same weights, those that one set of shards is spread over:
/// replicas of Parallel::zero_group with all of their context ranks.
int shard_size(const Parallel& plan, int holders) {
  if (plan.zero_group == 0) return holders;
  const int each = ProcessGrid{plan}.group(GroupKind::data_context).ranks() / plan.data;
  return std::min(plan.zero_group * each, holders);
}

/// An exchange over the ranks that hold the same weights outside of experts, and the same over
/// those that hold the same experts.
struct StateExchanges {
  Exchange dense;
  Exchange experts;

  [[nodiscard]] std::vector<Exchange> both() const { return {dense, experts}; }
};

StateExchanges state_exchanges(const Job& job, CollectiveOp op, const WeightBytes& payload,
                               Cover cover) {
  const int holders = ProcessGrid{job.parallel}.group(GroupKind::holders).ranks();
  const int shard = job.parallel.zero_group > 0 ? shard_size(job.parallel, holders) : 0;
  return {{.op = op,
           .group = GroupKind::holders,
           .payload = payload.dense,
           .shard = shard,
           .cover = cover},
          {.op = op, .group = GroupKind::expert_data, .payload = payload.experts, .cover = cover}};
}

/// The first always, experts where there are any.
Seconds time_of(const Job& job, const StateExchanges& exchanges) {
  const ExchangePrices prices{job};
  const Seconds time = prices.time(exchanges.dense);
  return exchanges.experts.payload > Bytes{} ? time + prices.time(exchanges.experts) : time;
}

StateExchanges reductions(const Job& job, const PieceParameters& parameters, bool sharded,
                          Cover cover) {
  const double bytes = gradient_bytes(job);
  return state_exchanges(
      job, sharded ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce,
      {Bytes{bytes * parameters.trained_dense}, Bytes{bytes * parameters.trained_experts}}, cover);
}

Seconds reduce_both(const Job& job, const PieceParameters& parameters, bool sharded) {
  return time_of(job, reductions(job, parameters, sharded, Cover::passes));
}

double buckets_of(Bytes payload, Bytes bucket) {
  return std::max(1.0, std::ceil(payload / bucket));
}

/// Weights and biases of the model as separate tensors, roughly: Llama has 9 per layer, GPT-2 12,
/// an expert 3. A bucket holds whole ones, so that there are never more buckets than tensors.
double tensors_of(const Job& job) {
  constexpr double per_layer = 12.0;
  constexpr double per_expert = 3.0;
  const LlmShape& model = job.model;
  const double experts =
      model.moe ? static_cast<double>(model.moe_layers()) * model.moe->experts : 0.0;
  return per_layer * model.layers + per_expert * experts;
}

/// What calls cost beyond those that the calibrated runs made, which used the usual bucket: a call
/// that carries nothing, without the waiting for slower ranks, which happens once.
Seconds more_calls(const Job& job, Bytes payload) {
  const ShardGroups groups = dense_groups(job);
  const double calls = sync_calls(job, payload, job.communication.bucket) -
                       sync_calls(job, payload, Communication{}.bucket);
  if (calls <= 0.0 || groups.shard.ranks == 1) return Seconds{};
  const CollectivePath path{job.cluster, job.device_profile, job.site};
  const Seconds call = reduce_time(groups, Bytes{}, job.parallel.zero >= 1, path);
  const Seconds waiting = groups.shard.ranks_per_domain > 1 ? job.site.wait : Seconds{};
  return calls * max(Seconds{}, call - waiting);
}

/// gloo sums bucket by bucket with processor cores, through host memory. models/data/README.md,
/// "Data parallelism". @pre only data-parallel ranks talk (plan_rules.hpp)
Seconds gloo_time(const Job& job, Bytes payload) {
  const CommGroup group = dense_groups(job).shard;
  if (group.ranks == 1) return Seconds{};
  std::vector<int> gpus = ProcessGrid{job.parallel}.group(GroupKind::data_context).members();
  const int host = job.cluster.host.gpus;  // its sockets know no scale-up links
  const Seats seats = seats_of(std::move(gpus), {host, host});
  const CollectivePath path{job.cluster, job.device_profile, job.site};
  const double calls = sync_calls(job, payload, job.communication.bucket);
  const PricedCollective priced =
      other_price({CollectiveOp::all_reduce, seats}, payload / calls,
                  other_library(job.communication.backend, path), job.communication.backend, {});
  FORETRAIN_REQUIRE(priced.refusal.empty());
  return calls * priced.price.time();
}

Seconds gather_bytes(const Job& job, const WeightBytes& weights) {
  return time_of(job, state_exchanges(job, CollectiveOp::all_gather, weights, Cover::passes));
}

Seconds gather_both(const Job& job, const PieceParameters& parameters) {
  return gather_bytes(
      job, {Bytes{weight_bytes * parameters.dense}, Bytes{weight_bytes * parameters.experts}});
}

/// Schedules that run gradients of inputs and of weights at different times.
bool parts_backward(const Parallel& plan) {
  return plan.pipeline > 1 && traits_of(plan.schedule).splits_backward;
}

/// Which traffic of shards in a pass is meant.
struct Which {
  bool gathers = false;
  bool reductions = false;
};

/// Gathers and reductions of a piece's backward pass: the weights of the layer before it arrive
/// while gradients of the one after it leave. Shards inside a host use its links and their sums
/// over hosts the NICs, at the same time (hybrid sharding).
Seconds backward_shard_traffic(const Job& job, const PieceParameters& parameters, Which which) {
  const CollectivePath path{job.cluster, job.device_profile, job.site};
  const double bytes = gradient_bytes(job);
  Seconds inside, across;
  const auto add = [&](const ShardGroups& groups, double count, double trained) {
    if (count <= 0.0) return;
    const bool leaves = groups.shard.domains() > 1;
    Seconds& shards = leaves ? across : inside;
    if (job.parallel.zero >= 3 && which.gathers)
      shards += all_gather_time(groups.shard, Bytes{weight_bytes * count}, path);
    if (!scatters_every_pass(job) || !which.reductions) return;
    if (trained <= 0.0) return;
    shards += reduce_scatter_time(groups.shard, Bytes{bytes * trained}, path);
    Seconds& sums = groups.replicas.domains() > 1 ? across : inside;
    sums += all_reduce_time(groups.replicas, Bytes{bytes * trained} / groups.shard.ranks, path);
  };
  add(dense_groups(job), parameters.dense - parameters.forward_only, parameters.trained_dense);
  add(expert_groups(job), parameters.experts, parameters.trained_experts);
  return max(inside, across);
}

PieceParameters all_of(const RankParameters& parameters) {
  return {parameters.dense(), parameters.experts, parameters.dense(), parameters.experts};
}

/// Either half of a backward pass has its usual share of the traffic, whatever its kernels take: so
/// none slows when the other's kernels speed up.
constexpr double of_inputs = 2.0 / 3.0;

/// What a piece's traffic takes alone: in a forward pass that gathers, and in a backward pass.
struct ShardTimes {
  Seconds gather;
  Seconds backward;
};

ShardTimes shard_times(const Job& job, const PieceParameters& parameters, Which which) {
  if (!which.gathers && !which.reductions) return {};
  const double slower = 1.0 / job.stack.times.shard_bus;
  const bool gathers = job.parallel.zero >= 3 && which.gathers;
  return {gathers ? slower * gather_both(job, parameters) : Seconds{},
          slower * backward_shard_traffic(job, parameters, which)};
}

/// Bytes of a piece that this rank's host keeps, dense and experts over their shards. Kept in the
/// width in which weights rest: gathered units have 16 bits.
double resting_bytes(const Job& job, const PieceParameters& parameters, double dense) {
  const double wide = std::max(0.0, parameter_bytes(job).weight - weight_bytes);
  const bool rests_wide = job.rests_wide() && !job.training.narrow_weights();
  const auto share = [&](const ShardGroups& groups, double units, double trained) {
    return (weight_bytes * units + (rests_wide ? wide * trained : 0.0)) / groups.shard.ranks;
  };
  return share(dense_groups(job), dense, parameters.trained_dense) +
         share(expert_groups(job), parameters.experts, parameters.trained_experts);
}

/// The way of shards of weights from host memory for every pass, and of shards of gradients there
/// (PyTorch's FSDP with CPUOffload, DeepSpeed's offload_param), over the rank's own link.
ShardTimes host_times(const Job& job, const PieceParameters& parameters, Which which) {
  if (!job.offloads_parameters()) return {};
  const Link& link = job.cluster.host.pcie;
  const auto time = [&](double bytes) { return Bytes{bytes} / (link.achievable * link.bandwidth); };
  ShardTimes times;
  if (which.gathers) {
    times.gather = time(resting_bytes(job, parameters, parameters.dense));
    times.backward =
        time(resting_bytes(job, parameters, parameters.dense - parameters.forward_only));
  }
  if (which.reductions)
    times.backward +=
        time(gradient_bytes(job) * (parameters.trained_dense / dense_groups(job).shard.ranks +
                                    parameters.trained_experts / expert_groups(job).shard.ranks));
  return times;
}

/// The traffic that runs beside kernels, and what they wait for: without prefetching a layer's
/// gathers, without a stream of their own its reductions.
Which beside_kernels(const Job& job) {
  const Overlap& overlap = job.communication.overlap;
  return {overlap.parameters, overlap.gradients};
}

Which after_kernels(const Job& job) {
  const Which beside = beside_kernels(job);
  return {!beside.gathers, !beside.reductions};
}

Cover cover_of(bool overlaps) { return overlaps ? Cover::kernels : Cover::nothing; }

/// What of `traffic` stays visible beside `compute`: a smooth maximum, and what kernels lose.
Seconds visible(Seconds compute, Seconds traffic, const StackTimes& stack) {
  if (traffic <= Seconds{}) return Seconds{};
  if (compute <= Seconds{}) return traffic;
  const double ratio = traffic / compute;
  const Seconds longer = compute * std::pow(1.0 + std::pow(ratio, 4.0), 0.25);
  return longer - compute + stack.shard_slowdown * min(traffic, compute);
}

}  // namespace

double sync_calls(const Job& job, Bytes payload, Bytes bucket) {
  return std::min(buckets_of(payload, bucket), tensors_of(job));
}

SyncOverlap sync_overlap(const Job& job) {
  const Overlap& overlap = job.communication.overlap;
  // FSDP under a pipeline scatters when the last backward pass is over. gloo takes processor cores,
  // not multiprocessors.
  return {overlap.gradients && job.parallel.zero < 2, overlap.parameters,
          job.communication.backend == Backend::nccl ? job.stack.times.data_slowdown : 0.0};
}

Seconds gradient_time(const Job& job, const RankParameters& parameters) {
  if (scatters_every_pass(job) || job.parallel.single_process()) return {};
  const Bytes payload{gradient_bytes(job) * parameters.total()};
  if (job.parallel.zero >= 2)  // FSDP under a pipeline
    return reduce_both(job, all_of(parameters), true) / job.stack.times.shard_bus;
  if (job.communication.backend != Backend::nccl) return gloo_time(job, payload);
  return reduce_both(job, all_of(parameters), job.parallel.zero >= 1) + more_calls(job, payload);
}

Seconds weight_time(const Job& job, const RankParameters& parameters) {
  if (job.parallel.zero != 1 && job.parallel.zero != 2) return {};
  return gather_bytes(job, gathered_weight_bytes(job, parameters));
}

std::vector<Exchange> gradient_exchanges(const Job& job, const RankParameters& parameters) {
  if (scatters_every_pass(job) || job.parallel.single_process()) return {};
  return reductions(job, all_of(parameters), job.parallel.zero >= 1, Cover::passes).both();
}

std::vector<Exchange> weight_exchanges(const Job& job, const RankParameters& parameters) {
  if (job.parallel.zero != 1 && job.parallel.zero != 2) return {};
  const WeightBytes weights = gathered_weight_bytes(job, parameters);
  return state_exchanges(job, CollectiveOp::all_gather, weights, Cover::passes).both();
}

std::vector<Exchange> forward_shard_exchanges(const Job& job, const PieceParameters& parameters) {
  if (job.parallel.zero < 3) return {};
  const double bytes = gathering_forwards(job) * weight_bytes;
  const WeightBytes weights{Bytes{bytes * parameters.dense}, Bytes{bytes * parameters.experts}};
  const Cover cover = cover_of(beside_kernels(job).gathers);
  return state_exchanges(job, CollectiveOp::all_gather, weights, cover).both();
}

std::vector<Exchange> backward_shard_exchanges(const Job& job, const PieceParameters& parameters) {
  std::vector<Exchange> exchanges;
  const auto add = [&](const StateExchanges& more) {
    for (const Exchange& exchange : more.both()) exchanges.push_back(exchange);
  };
  const WeightBytes weights{Bytes{weight_bytes * (parameters.dense - parameters.forward_only)},
                            Bytes{weight_bytes * parameters.experts}};
  const Which beside = beside_kernels(job);
  if (job.parallel.zero >= 3)
    add(state_exchanges(job, CollectiveOp::all_gather, weights, cover_of(beside.gathers)));
  if (scatters_every_pass(job)) add(reductions(job, parameters, true, cover_of(beside.reductions)));
  return exchanges;
}

Exchange tied_exchange(const Job& job) {
  const Parallel& plan = job.parallel;
  Exchange exchange{.op = CollectiveOp::all_reduce, .group = GroupKind::ends};
  if (!job.model.tied_embeddings || plan.pipeline == 1) return exchange;
  if (folds(plan)) return exchange;  // both on the first stage
  if (job.fine_tuning.objective == Objective::reward) return exchange;
  exchange.payload = Bytes{gradient_bytes(job) * rank_ends(job, Counted::trained).table};
  return exchange;
}

Seconds tied_embedding_time(const Job& job) {
  const Exchange exchange = tied_exchange(job);
  return exchange.payload > Bytes{} ? ExchangePrices{job}.time(exchange) : Seconds{};
}

namespace {

ShardTraffic spread(const Job& job, const ShardTimes& times) {
  return {gathering_forwards(job) * times.gather, of_inputs * times.backward,
          (1.0 - of_inputs) * times.backward};
}

}  // namespace

PieceTraffic shard_traffic(const Job& job, const PieceParameters& parameters) {
  if (job.parallel.zero < 2 || parameters.dense + parameters.experts <= 0.0) return {};
  return {spread(job, shard_times(job, parameters, beside_kernels(job))),
          spread(job, shard_times(job, parameters, after_kernels(job)))};
}

namespace {

ShardTimes sum_of(const ShardTimes& a, const ShardTimes& b) {
  return {a.gather + b.gather, a.backward + b.backward};
}

/// What `beside` and `after` add to the passes of a piece.
ShardTraffic added(const Job& job, const PieceTimes& piece, const ShardTimes& beside,
                   const ShardTimes& after) {
  const StackTimes& stack = job.stack.times;
  const double forwards = gathering_forwards(job);
  const Seconds inputs = piece.input_gradient.total();
  const Seconds weights = piece.weight_gradient.total();
  ShardTraffic sum = spread(job, after);
  sum.forward += forwards * visible(piece.forward.total(), beside.gather, stack);
  if (parts_backward(job.parallel) || inputs + weights <= Seconds{}) {
    sum.input_gradient += visible(inputs, of_inputs * beside.backward, stack);
    sum.weight_gradient += visible(weights, (1.0 - of_inputs) * beside.backward, stack);
    return sum;
  }
  const Seconds shown = visible(inputs + weights, beside.backward, stack);
  const double share = inputs / (inputs + weights);
  sum.input_gradient += share * shown;
  sum.weight_gradient += (1.0 - share) * shown;
  return sum;
}

}  // namespace

OffloadShown add_shard_traffic(const Job& job, const PieceParameters& parameters,
                               PieceTimes& piece) {
  if (job.parallel.zero < 2 || parameters.dense + parameters.experts <= 0.0) return {};
  const ShardTimes beside = shard_times(job, parameters, beside_kernels(job));
  const ShardTimes after = shard_times(job, parameters, after_kernels(job));
  const ShardTraffic traffic = added(job, piece, beside, after);
  OffloadShown copies;
  if (job.offloads_parameters()) {
    const ShardTraffic all =
        added(job, piece, sum_of(beside, host_times(job, parameters, beside_kernels(job))),
              sum_of(after, host_times(job, parameters, after_kernels(job))));
    copies = {all.forward - traffic.forward, all.input_gradient - traffic.input_gradient +
                                                 all.weight_gradient - traffic.weight_gradient};
  }
  piece.forward.data += traffic.forward + copies.forward;
  piece.input_gradient.data += traffic.input_gradient + copies.backward;
  piece.weight_gradient.data += traffic.weight_gradient;
  return copies;
}

Seconds sharded_update_time(const Job& job) {
  if (job.parallel.zero < 1) return Seconds{};
  return job.stack.times.shard_update * (dense_groups(job).shard.ranks - 1.0);
}

ShardGroups dense_groups(const Job& job) {
  const Parallel& plan = job.parallel;
  const Packing packing = job.cluster.packing();
  const Group holders = ProcessGrid{plan}.group(GroupKind::holders);
  const int ranks = holders.ranks();
  const int shard = shard_size(plan, ranks);
  return {holders.part(shard).on_hosts(packing), holders.copies(shard).on_hosts(packing)};
}

ShardGroups expert_groups(const Job& job) {
  const Packing packing = job.cluster.packing();
  const ProcessGrid grid{job.parallel};
  const Group holders = grid.group(GroupKind::expert_data);
  const int all = grid.group(GroupKind::holders).ranks();
  const int copies = std::max(1, all / shard_size(job.parallel, all));
  if (copies == 1) return {holders.on_hosts(packing), CommGroup{}};
  const int shard = std::max(1, holders.ranks() / copies);
  return {holders.part(shard).on_hosts(packing), holders.copies(shard).on_hosts(packing)};
}

double gradient_bytes(const Job& job) {
  const bool wide = job.communication.gradient_dtype == Precision::fp32;
  return wide && !job.training.narrow_weights() ? 4.0 : 2.0;
}

Buckets cut_buckets(double parameters, double bucket, double embedding) {
  Buckets buckets;
  const double edge = std::max(bucket, embedding);
  if (parameters <= edge) return buckets;
  constexpr double most = 1e6;
  const double inners = std::min(most, std::ceil((parameters - edge) / bucket));
  const double layers = 1.0 - embedding / parameters;  // of the traffic; made evenly by the pass
  buckets.edge = edge / parameters;
  buckets.inners = static_cast<int>(inners);
  buckets.inner = (1.0 - buckets.edge) / inners;
  buckets.first = buckets.inner / layers;
  buckets.last = (1.0 - buckets.edge) / layers;
  return buckets;
}

double bucket_parameters(const Job& job) {
  const StackTimes& stack = job.stack.times;
  const double each = job.communication.gradient_dtype == Precision::fp32 ? 4.0 : 2.0;
  const bool chosen = job.communication.bucket != Communication{}.bucket;
  if (chosen || stack.bucket <= 0.0) return job.communication.bucket.value() / each;
  const Group holders = ProcessGrid{job.parallel}.group(GroupKind::holders);
  return std::max(stack.bucket, stack.bucket_per_rank * holders.ranks());
}

// Buckets but the edge are alike and become full at an even pace, so that of all of them either the
// first or the last decides when the rest is through.
Seconds reduced_at(const Buckets& buckets, Seconds time, const TrafficSpan& pass, Seconds leaves,
                   Seconds free) {
  Seconds end = max(free + time, leaves + buckets.edge * time);
  if (buckets.inners == 0) return end;
  const Seconds duration = pass.end - pass.begin;
  end = max(end, pass.begin + buckets.first * duration + time);
  return max(end, pass.begin + buckets.last * duration + (buckets.inner + buckets.edge) * time);
}

TrafficSpan gathered_pass(const Buckets& buckets, Seconds time, Seconds from, Seconds ready,
                          Seconds duration) {
  TrafficSpan pass;
  pass.begin = max(ready, from + buckets.lead() * time);
  pass.end = pass.begin + duration;
  if (buckets.inners == 0) return pass;
  pass.end = max(pass.end, from + (buckets.edge + buckets.inner) * time + buckets.last * duration);
  pass.end = max(pass.end, from + time + buckets.first * duration);
  return pass;
}

}  // namespace foretrain
