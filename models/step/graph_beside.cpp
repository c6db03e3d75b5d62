// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "models/base/ranges.hpp"
#include "models/step/internal/graph_passes.hpp"

/// Exchanges that run beside all of a piece, not beside one kernel of it: gathers and reductions of
/// sharded weights, and all-to-alls of experts beside another micro-batch. Both are tasks of their
/// whole time; the pass lasts as its price says. models/step/README.md, "Overlap".
namespace foretrain::internal {
namespace {

/// The exchanges of a pass that run beside another micro-batch: how many, and what they take alone.
struct Away {
  double count = 0.0;
  Seconds time;
};

Away away_in(const Operators& operators, PassKind pass) {
  Away sum;
  for (const Operator& op : operators) {
    if (!runs_away(op)) continue;
    const ExposedExchange& forward = op.beside;
    const double again = pass == PassKind::forward ? 1.0 : op.recompute / forward.shown();
    sum.count += again;
    sum.time += again * forward.alone;
    if (pass == PassKind::forward) continue;
    sum.count += 1.0;
    sum.time += op.beside_backward.alone;
  }
  return sum;
}

Seconds alone_in(const ShardTraffic& traffic, PassKind pass) {
  switch (pass) {
    case PassKind::forward:
      return traffic.forward;
    case PassKind::backward:
      return traffic.input_gradient + traffic.weight_gradient;
    case PassKind::input_gradient:
      return traffic.input_gradient;
    case PassKind::weight_gradient:
      return traffic.weight_gradient;
  }
  return {};
}

/// What a pass lasts without the traffic of shards.
Seconds room_in(const TimeParts& parts) { return parts.total() - parts.data; }

}  // namespace

bool runs_away(const Operator& op) {
  return op.kind == OperatorKind::expert && op.beside.both > rounding;
}

/// Forks the exchanges where the piece begins and joins them where it ends. The last step is what
/// its kernels lose meanwhile, and what else its price has.
void PassSteps::run_beside(const BesidePiece& beside, PassKind pass, Steps& steps) {
  Seconds kernels, alone;
  for (const PassStep& step : steps)
    kernels += step.link == StepLink::fork ? step.shown : rows_.duration(step.cost);
  for (const PassStep& exchange : beside.exchanges) alone += rows_.duration(exchange.cost);
  const auto booked = [&](Seconds time) {
    TimeParts parts;
    parts.*beside.part = time;
    return parts;
  };
  const double uncovered = max(Seconds{}, alone - kernels) / alone;
  Steps forks = beside.exchanges;
  for (PassStep& fork : forks) {
    TaskCost cost = rows_.cost(fork.cost);
    fork.link = StepLink::fork;
    fork.shown = uncovered * cost.duration;
    cost.parts = booked(fork.shown);
    fork.cost = rows_.add_cost(std::move(cost));
  }
  const Seconds lost = max(Seconds{}, kernels + beside.shown - max(kernels, alone));
  PassStep join{rows_.add_cost({"slowed by traffic", lost, booked(lost), Bytes{}}),
                TaskKind::compute, StreamKind::compute, role_of(pass), -1};
  join.link = StepLink::join;
  join.joins = forks.front().stream;
  steps.insert(steps.begin(), forks.begin(), forks.end());
  steps.push_back(join);
}

/// The exchanges of a pass that run beside another micro-batch; the gradients of weights have none
/// of their own, and those of inputs stand for their part of all.
std::vector<OperatorStep> PassSteps::away_steps(PieceKind kind, PassKind pass) {
  std::vector<OperatorStep> run;
  const auto add = [&](const Operator& op, Seconds duration, bool again, bool forward) {
    if (!runs_away(op) || duration <= Seconds{}) return;
    run.push_back(operator_step(op, {duration, pass, again, forward}));
    run.back().step.stream = StreamKind::expert;
  };
  const Operators& operators = (*contents_.operators)[static_cast<std::size_t>(kind)];
  if (pass == PassKind::forward) {
    for (const Operator& op : operators) add(op, op.forward, false, true);
    return run;
  }
  for (const Operator& op : operators) add(op, op.recompute, true, true);
  for (const Operator& op : Reversed(operators)) add(op, op.input_gradient, false, false);
  return run;
}

/// Both passes' exchanges are spread evenly over both: they run beside another micro-batch, which
/// is anywhere in them.
void PassSteps::add_away(PieceKind kind, PassKind pass, Steps& steps) {
  const auto piece = static_cast<std::size_t>(kind);
  const Operators& operators = (*contents_.operators)[piece];
  if (std::ranges::none_of(operators, runs_away)) return;
  const std::vector<OperatorStep> exchanges = away_steps(kind, pass);
  const PieceTimes& times = costs_.pieces[piece];
  const TimeParts parts = parts_of(times, pass);
  const double share = room_in(parts) / room_in(times.all());
  const Away own = away_in(operators, pass);
  const Away forward = away_in(operators, PassKind::forward);
  const Away backward = away_in(operators, PassKind::backward);
  const Seconds time = min(share * (forward.time + backward.time), room_in(parts));
  if (time <= rounding || own.time <= Seconds{}) return;
  BesidePiece beside{{}, &TimeParts::expert, parts.expert};
  for (const OperatorStep& exchange : exchanges) {
    TaskCost cost = rows_.cost(exchange.step.cost);
    cost.duration = (time / own.time) * exchange.beside.alone;
    cost.share = share * (forward.count + backward.count) / own.count;
    beside.exchanges.push_back(exchange.step);
    beside.exchanges.back().cost = rows_.add_cost(std::move(cost));
  }
  run_beside(beside, pass, steps);
}

/// Traffic of sharded weights and gradients: what kernels wait for after them, the rest beside
/// them. Without exchanges nobody asks for all of it.
void PassSteps::add_shards(const TimeParts& parts, PieceKind kind, PassKind pass, Steps& steps) {
  const Seconds data = parts.data - offload_in(kind, pass);
  if (data <= rounding) return;
  const auto shown = [&](Seconds time, std::optional<Cover> cover) -> PassStep {
    TimeParts booked;
    booked.data = time;
    return {rows_.add_cost({"sharded weights", time, booked, Bytes{}, shards(kind, pass, cover)}),
            TaskKind::collective, StreamKind::data, TaskRole::weights, -1};
  };
  const PieceTraffic alone = contents_.exchanges
                                 ? contents_.exchanges->alone[static_cast<std::size_t>(kind)]
                                 : PieceTraffic{};
  const Seconds beside = min(alone_in(alone.beside, pass), parts.total());
  if (beside <= rounding || steps.empty()) return steps.push_back(shown(data, std::nullopt));
  const Seconds after = alone_in(alone.after, pass);
  const PassStep fork = shown(data - after, Cover::kernels);
  TaskCost cost = rows_.cost(fork.cost);
  cost.duration = beside;
  BesidePiece piece{{fork}, &TimeParts::data, data - after};
  piece.exchanges.front().cost = rows_.add_cost(std::move(cost));
  run_beside(piece, pass, steps);
  if (after > rounding) steps.push_back(shown(after, Cover::nothing));
}

}  // namespace foretrain::internal
