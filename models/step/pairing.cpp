// SPDX-License-Identifier: Apache-2.0
#include "models/step/internal/pairing.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace foretrain::internal {

TimeParts parts_of_operator(OperatorKind kind, Seconds duration, bool again) {
  TimeParts parts;
  switch (kind) {
    case OperatorKind::tensor:
      parts.tensor = duration;
      break;
    case OperatorKind::context:
      parts.context = duration;
      break;
    case OperatorKind::expert:
      parts.expert = duration;
      break;
    case OperatorKind::product:
    case OperatorKind::attention:
    case OperatorKind::scan:
    case OperatorKind::streaming:
      (again ? parts.recompute : parts.compute) = duration;
      break;
  }
  return parts;
}

void Pairing::run(std::vector<OperatorStep> operators) {
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const OperatorStep& op = operators[i];
    const bool after = op.beside_next && i + 1 < operators.size();
    if (after && covers(operators[i + 1].step, op.beside)) {
      cut_after(op, operators[i + 1].step);
      if (duration(operators[++i].step) > rounding) steps_.push_back(operators[i].step);
    } else if (!op.beside_next && !steps_.empty() && covers(steps_.back(), op.beside)) {
      cut_before(op);
    } else {
      steps_.push_back(op.step);
    }
  }
}

bool Pairing::covers(const PassStep& step, const ExposedExchange& beside) const {
  return beside.both > rounding && step.kind == TaskKind::compute && step.link == StepLink::chain &&
         duration(step) >= beside.both - rounding;
}

void Pairing::cut_after(const OperatorStep& op, PassStep& kernel) {
  const double covering = std::min(1.0, op.beside.both / duration(kernel));
  PassStep beside = kernel;
  beside.cost = rows_.add_share(kernel.cost, covering);
  kernel.cost = rows_.add_share(kernel.cost, 1.0 - covering);
  pair(op, beside);
}

void Pairing::cut_before(const OperatorStep& op) {
  PassStep kernel = steps_.back();
  const double covering = std::min(1.0, op.beside.both / duration(kernel));
  steps_.back().cost = rows_.add_share(kernel.cost, 1.0 - covering);
  if (duration(steps_.back()) <= rounding) steps_.pop_back();
  kernel.cost = rows_.add_share(kernel.cost, covering);
  pair(op, kernel);
}

void Pairing::pair(const OperatorStep& op, const PassStep& beside) {
  const Seconds shown = op.beside.alone - op.beside.both;
  TaskCost exchange = rows_.cost(op.step.cost);
  exchange.duration = op.beside.alone;
  exchange.parts = parts_of_operator(op.kind, shown, false);
  PassStep fork = op.step;
  fork.cost = rows_.add_cost(std::move(exchange));
  fork.link = StepLink::fork;
  fork.shown = shown;
  steps_.push_back(fork);
  steps_.push_back(beside);
  PassStep slowed = beside;
  slowed.cost = rows_.add_cost({"slowed by traffic", op.beside.slowed,
                                parts_of_operator(op.kind, op.beside.slowed, false), Bytes{}});
  slowed.link = StepLink::join;
  steps_.push_back(slowed);
}

}  // namespace foretrain::internal
