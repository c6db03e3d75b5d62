// SPDX-License-Identifier: Apache-2.0

#include "models/step/step_exchanges.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/data/data_parallel.hpp"
#include "models/data/single_process.hpp"
#include "models/layers/parameters.hpp"
#include "models/schedules/registry.hpp"

namespace foretrain {
namespace {

std::vector<Exchange>& in(StepExchanges::ByPass& passes, PassKind kind) {
  return passes[static_cast<std::size_t>(kind)];
}

void add_operator(const Operator& op, StepExchanges::ByPass& passes) {
  const std::vector<Exchange> forward = exchanges_of(op, true);
  const std::vector<Exchange> backward = exchanges_of(op, false);
  const double again = op.forward > Seconds{} ? op.recompute / op.forward : 0.0;
  add_exchanges(forward, 1.0, in(passes, PassKind::forward));
  for (const PassKind kind : {PassKind::backward, PassKind::input_gradient}) {
    add_exchanges(forward, again, in(passes, kind));
    add_exchanges(backward, 1.0, in(passes, kind));
  }
}

/// Traffic of shards goes to the halves of a backward pass as its time does.
void add_shards(const Job& job, const PieceParameters& parameters, StepExchanges::ByPass& passes) {
  constexpr double of_inputs = 2.0 / 3.0;
  const std::vector<Exchange> backward = backward_shard_exchanges(job, parameters);
  add_exchanges(forward_shard_exchanges(job, parameters), 1.0, in(passes, PassKind::forward));
  add_exchanges(backward, 1.0, in(passes, PassKind::backward));
  add_exchanges(backward, of_inputs, in(passes, PassKind::input_gradient));
  add_exchanges(backward, 1.0 - of_inputs, in(passes, PassKind::weight_gradient));
}

/// Stages that exchange what the one before them does are not priced again.
void add_priced(const ExchangePrices& prices, std::vector<Exchange> exchanges,
                std::vector<Exchanges>& by_stage) {
  std::erase_if(exchanges, [](const Exchange& one) { return one.payload <= Bytes{}; });
  Exchanges priced = by_stage.empty() ? Exchanges{} : by_stage.back();
  const auto alike = [](const Exchange& a, const Exchange& b) { return a.payload == b.payload; };
  if (!std::equal(exchanges.begin(), exchanges.end(), priced.each.begin(), priced.each.end(),
                  alike))
    priced = prices.priced(exchanges);
  by_stage.push_back(std::move(priced));
}

/// Traffic of torch.nn.DataParallel around the passes.
void add_replicas(const Job& job, const StageLayout& layout, StepExchanges& exchanges) {
  const Bytes weights{parameter_bytes(job).weight * rank_parameters(job, layout, 0).total()};
  const auto set = [&](PieceKind piece, PassKind pass, CollectiveOp op, Bytes payload) {
    const Exchange exchange{.op = op, .group = GroupKind::data, .payload = payload};
    in(exchanges.shards[static_cast<std::size_t>(piece)], pass) = {exchange};
  };
  set(PieceKind::replicas, PassKind::forward, CollectiveOp::broadcast, weights);
  set(PieceKind::replicas, PassKind::backward, CollectiveOp::reduce, weights);
  set(PieceKind::outputs, PassKind::forward, CollectiveOp::gather, gathered_logits(job));
  set(PieceKind::outputs, PassKind::backward, CollectiveOp::scatter, gathered_logits(job));
}

}  // namespace

void add_exchanges(const std::vector<Exchange>& more, double count, std::vector<Exchange>& sum) {
  if (count <= 0.0) return;
  for (const Exchange& exchange : more) {
    const auto same = std::ranges::find_if(sum, [&](const Exchange& other) {
      return other.op == exchange.op && other.group == exchange.group &&
             other.shard == exchange.shard && other.cover == exchange.cover &&
             other.algorithm == exchange.algorithm;
    });
    if (same != sum.end()) {
      same->payload += count * exchange.payload;
      same->across += count * exchange.across;
      continue;
    }
    sum.push_back(exchange);
    sum.back().payload = count * exchange.payload;
    sum.back().across = count * exchange.across;
  }
}

std::vector<Exchange> exchanges_of(const Operator& op, bool forward) {
  const OperatorExchange& what = op.exchange;
  const std::optional<CollectiveOp> run = forward ? what.forward : what.backward;
  if (!run) return {};
  const bool direct = *run == CollectiveOp::send || *run == CollectiveOp::all_to_all;
  return {{.op = *run,
           .group = what.group,
           .payload = forward ? what.sent : what.returned,
           .across = what.across,
           .cover = Cover::kernels,
           .algorithm = direct ? CollectiveAlgorithm::direct : CollectiveAlgorithm::ring}};
}

StepExchanges step_exchanges(const Job& job, const StageLayout& layout,
                             const PieceOperators& operators) {
  StepExchanges exchanges{ExchangePrices{job}, {}, {}, {}, {}, {}, {}, {}};
  for (std::size_t piece = 0; piece < piece_kinds; ++piece)
    for (const Operator& op : operators[piece]) add_operator(op, exchanges.operators[piece]);
  const HeldLayers layers = held_layers(job);
  for (const PieceKind kind : pieces_with_parameters(job)) {
    const auto piece = static_cast<std::size_t>(kind);
    const PieceParameters parameters = piece_parameters(job, layers, kind);
    add_shards(job, parameters, exchanges.shards[piece]);
    exchanges.alone[piece] = shard_traffic(job, parameters);
  }
  if (job.parallel.single_process()) add_replicas(job, layout, exchanges);
  for (int stage = 0; stage < layout.stages(); ++stage) {
    const RankParameters held = rank_parameters(job, layers.trained, layout, stage);
    add_priced(exchanges.prices, gradient_exchanges(job, held), exchanges.gradients);
    add_priced(exchanges.prices, weight_exchanges(job, held), exchanges.weights);
    exchanges.transfers.push_back(exchanges.prices.priced({transfer_exchange(job, stage)}));
  }
  exchanges.tied = exchanges.prices.priced({tied_exchange(job)});
  return exchanges;
}

namespace {

constexpr double grain = 64.0;  // steps of a rounded time, of the longest pass

Seconds rounded(Seconds time, Seconds longest) {
  return Seconds{std::round(grain * (time / longest)) / grain};
}

}  // namespace

ScheduleTimes schedule_times(const StepCosts& costs) {
  ScheduleTimes times;
  times.weight_share = costs.weight_share;
  if (traits_of(costs.shape.kind).fitted == Fitted::nothing) return times;
  Seconds longest;
  for (const PieceTimes& chunk : costs.chunks)
    longest = max(longest, max(chunk.forward.total(), chunk.backward().total()));
  if (longest <= Seconds{}) return times;
  times.places.reserve(costs.chunks.size());
  for (const PieceTimes& chunk : costs.chunks)
    times.places.push_back({rounded(chunk.forward.total(), longest),
                            rounded(chunk.input_gradient.total(), longest),
                            rounded(chunk.weight_gradient.total(), longest)});
  Seconds transfers;
  for (const StageCosts& stage : costs.stages) transfers += stage.transfer;
  times.transfer = rounded(transfers / static_cast<double>(costs.stages.size()), longest);
  return times;
}

Schedule step_schedule(const StepCosts& costs) {
  const ScheduleTimes times = schedule_times(costs);
  return times.places.empty() ? make_schedule(costs.shape) : make_schedule(costs.shape, times);
}

}  // namespace foretrain
