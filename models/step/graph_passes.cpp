// SPDX-License-Identifier: Apache-2.0
#include "models/step/internal/graph_passes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "models/base/ranges.hpp"
#include "models/step/internal/graph_rows.hpp"

namespace foretrain::internal {
namespace {

/// Runs exchanges beside the kernels next to them: these are cut where the exchange begins or ends.
class Pairing {
 public:
  Pairing(GraphRows& rows, std::vector<PassStep>& steps) : rows_{rows}, steps_{steps} {}

  void run(std::vector<OperatorStep> operators);

 private:
  [[nodiscard]] Seconds duration(const PassStep& step) const { return rows_.duration(step.cost); }

  [[nodiscard]] bool covers(const PassStep& step, const ExposedExchange& beside) const;

  /// The exchange begins with the kernel; what is left of this follows the exchange.
  void cut_after(const OperatorStep& op, PassStep& kernel);

  /// The exchange begins when so much of the kernel is left as covers it.
  void cut_before(const OperatorStep& op);

  void pair(const OperatorStep& op, const PassStep& beside);

  GraphRows& rows_;
  std::vector<PassStep>& steps_;
};

/// The part of a pass that an operator's time is booked to; `again`: recomputation.
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

/// Role of an exchange; none for kernels.
std::optional<TaskRole> exchange_role(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::tensor:
      return TaskRole::tensor;
    case OperatorKind::context:
      return TaskRole::context;
    case OperatorKind::expert:
      return TaskRole::expert;
    case OperatorKind::product:
    case OperatorKind::attention:
    case OperatorKind::scan:
    case OperatorKind::streaming:
      return std::nullopt;
  }
  return std::nullopt;
}

/// Traffic of torch.nn.DataParallel around a pass.
std::string_view replica_traffic_name(PieceKind piece, bool forward) {
  if (piece == PieceKind::replicas) return forward ? "inputs and weights" : "gradients to GPU 0";
  return forward ? "outputs to GPU 0" : "gradients of outputs";
}

}  // namespace

TaskRole role_of(PassKind kind) {
  switch (kind) {
    case PassKind::forward:
      return TaskRole::forward;
    case PassKind::backward:
      return TaskRole::backward;
    case PassKind::input_gradient:
      return TaskRole::input_gradient;
    case PassKind::weight_gradient:
      return TaskRole::weight_gradient;
  }
  return TaskRole::forward;
}

TimeParts parts_of(const PieceTimes& times, PassKind kind) {
  switch (kind) {
    case PassKind::forward:
      return times.forward;
    case PassKind::backward:
      return times.backward();
    case PassKind::input_gradient:
      return times.input_gradient;
    case PassKind::weight_gradient:
      return times.weight_gradient;
  }
  return {};
}

PassSteps::PassSteps(const StepCosts& costs, bool split_backward, Detail detail,
                     const PassContents& contents, GraphRows& rows)
    : costs_{costs},
      detail_{detail},
      contents_{contents},
      rows_{rows},
      steps_(costs.chunks.size() * kinds) {
  constexpr std::array whole_kinds{PassKind::forward, PassKind::backward};
  constexpr std::array half_kinds{PassKind::input_gradient, PassKind::weight_gradient};
  const auto price = [&](std::size_t chunk, PassKind kind) {
    Steps& steps = steps_[chunk * kinds + static_cast<std::size_t>(kind)];
    detail_ == Detail::pass ? whole(chunk, kind, steps) : layers(chunk, kind, steps);
  };
  for (std::size_t chunk = 0; chunk < costs.chunks.size(); ++chunk) {
    for (const PassKind kind : whole_kinds) price(chunk, kind);
    if (!split_backward) continue;
    for (const PassKind kind : half_kinds) price(chunk, kind);
  }
}

std::span<const PieceRun> PassSteps::content_of(std::size_t chunk) const {
  const int chunks = costs_.shape.chunks;
  return costs_.content({static_cast<int>(chunk) / chunks, static_cast<int>(chunk) % chunks});
}

/// What pieces exchange inside a pass that is not taken apart.
std::uint32_t PassSteps::inside(std::span<const PieceRun> content, PassKind pass) {
  if (contents_.exchanges == nullptr) return no_exchange;
  Exchanges sum;
  for (const PieceRun& run : content) {
    const auto piece = static_cast<std::size_t>(run.kind);
    const auto kind = static_cast<std::size_t>(pass);
    add_exchanges(contents_.exchanges->operators[piece][kind], run.count, sum.each);
    add_exchanges(contents_.exchanges->shards[piece][kind], run.count, sum.each);
  }
  return rows_.add_exchanges(std::move(sum));
}

/// Traffic of a piece's weights and gradients in a pass, of one cover where it is given;
/// torch.nn.DataParallel's has no price here.
std::uint32_t PassSteps::shards(PieceKind kind, PassKind pass, std::optional<Cover> cover) {
  if (contents_.exchanges == nullptr) return no_exchange;
  std::vector<Exchange> exchanges =
      contents_.exchanges->shards[static_cast<std::size_t>(kind)][static_cast<std::size_t>(pass)];
  std::erase_if(exchanges, [&](const Exchange& one) { return cover && one.cover != *cover; });
  const bool replicas = kind == PieceKind::replicas || kind == PieceKind::outputs;
  return rows_.add_exchanges(replicas ? Exchanges{exchanges, {}, {}}
                                      : contents_.exchanges->prices.priced(exchanges));
}

void PassSteps::whole(std::size_t chunk, PassKind kind, Steps& steps) {
  const TimeParts parts = parts_of(costs_.chunks[chunk], kind);
  // Without exchanges nobody asks what the chunk holds.
  const auto content = contents_.exchanges ? content_of(chunk) : std::span<const PieceRun>{};
  const std::uint32_t cost = rows_.add_cost(
      {std::string(name_of(kind)), parts.total(), parts, Bytes{}, inside(content, kind)});
  steps.push_back({cost, TaskKind::compute, StreamKind::compute, role_of(kind), -1});
}

/// Pieces in the order in which the pass meets them: backward passes from the last to the first.
void PassSteps::layers(std::size_t chunk, PassKind kind, Steps& steps) {
  int layer = 0;
  std::vector<Steps> blocks;
  for (const PieceRun& run : content_of(chunk)) {
    Steps one = piece(run.kind, kind);
    for (int i = 0; i < run.count; ++i, ++layer) {
      for (PassStep& step : one) step.layer = layer;
      blocks.push_back(one);
    }
  }
  if (kind != PassKind::forward) std::ranges::reverse(blocks);
  for (const Steps& block : blocks) steps.insert(steps.end(), block.begin(), block.end());
  // A chunk without layers still hands its input on.
  if (steps.empty()) whole(chunk, kind, steps);
}

PassSteps::Steps PassSteps::piece(PieceKind kind, PassKind pass) {
  const auto index = static_cast<std::size_t>(kind);
  const TimeParts parts = parts_of(costs_.pieces[index], pass);
  Steps steps;
  if (kind == PieceKind::replicas || kind == PieceKind::outputs) {
    if (parts.total() <= Seconds{}) return steps;
    const bool forward = pass == PassKind::forward;
    const std::string name{replica_traffic_name(kind, forward)};
    const TaskRole role = forward ? TaskRole::weights : TaskRole::gradients;
    const std::uint32_t cost =
        rows_.add_cost({name, parts.total(), parts, Bytes{}, shards(kind, pass, std::nullopt)});
    steps.push_back({cost, TaskKind::collective, StreamKind::data, role, -1});
    return steps;
  }
  if (detail_ == Detail::layer) {
    const PieceRun once{kind, 1};
    const std::uint32_t cost =
        rows_.add_cost({piece_name(kind), parts.total(), parts, Bytes{}, inside({&once, 1}, pass)});
    steps.push_back({cost, TaskKind::compute, StreamKind::compute, role_of(pass), -1});
    return steps;
  }
  operators_of((*contents_.operators)[index], pass, steps);
  add_launch(parts, steps);
  add_away(kind, pass, steps);
  add_shards(parts, kind, pass, steps);
  add_offload(kind, pass, steps);
  return steps;
}

namespace {

/// In forward order a gather and the ring of attention run beside the operator after them, sums of
/// outputs beside the one before; the other way round in a backward pass.
bool beside_next(const Operator& op, bool forward) {
  const std::optional<CollectiveOp>& first = op.exchange.forward;
  const bool gathers =
      op.kind == OperatorKind::context || !first || first == CollectiveOp::all_gather;
  return gathers == forward;
}

}  // namespace

OperatorStep PassSteps::operator_step(const Operator& op, const OperatorPass& run) {
  OperatorStep result;
  result.kind = op.kind;
  std::uint32_t moved = no_exchange;
  if (contents_.exchanges)
    moved = rows_.add_exchanges(contents_.exchanges->prices.priced(exchanges_of(op, run.forward)));
  const auto exchange = exchange_role(op.kind);
  // Of a kernel the task's bytes are those that decide its time.
  const bool moves =
      exchange || op.kind == OperatorKind::streaming || op.kind == OperatorKind::scan;
  const std::uint32_t cost = rows_.add_cost({std::string(op.name), run.duration,
                                             parts_of_operator(op.kind, run.duration, run.again),
                                             moves ? op.bytes : Bytes{}, moved});
  result.step = {cost, exchange ? TaskKind::collective : TaskKind::compute,
                 exchange ? StreamKind::tensor : StreamKind::compute,
                 exchange.value_or(role_of(run.pass)), -1};
  result.beside_next = beside_next(op, run.forward);
  // Sums of the gradients of inputs run beside products of weights' gradients, where these follow.
  const bool parted = run.pass == PassKind::input_gradient && op.kind == OperatorKind::tensor;
  const ExposedExchange& whole = run.forward ? op.beside : op.beside_backward;
  if (whole.both > Seconds{} && whole.shown() > Seconds{} && (result.beside_next || !parted))
    result.beside = (run.duration / whole.shown()) * whole;
  return result;
}

void PassSteps::operators_of(const Operators& operators, PassKind pass, Steps& steps) {
  std::vector<OperatorStep> run;
  const auto add = [&](const Operator& op, Seconds duration, bool again, bool forward) {
    if (duration <= Seconds{} || runs_away(op)) return;
    run.push_back(operator_step(op, {duration, pass, again, forward}));
  };
  if (pass == PassKind::forward) {
    for (const Operator& op : operators) add(op, op.forward, false, true);
  } else {
    if (pass != PassKind::weight_gradient)
      for (const Operator& op : operators) add(op, op.recompute, true, true);
    for (const Operator& op : Reversed(operators)) {
      if (pass != PassKind::weight_gradient) add(op, op.input_gradient, false, false);
      if (pass != PassKind::input_gradient) add(op, op.weight_gradient, false, false);
    }
  }
  Pairing{rows_, steps}.run(std::move(run));
}

/// What a piece costs beyond its operators where the processor launches kernels slowly.
void PassSteps::add_launch(const TimeParts& parts, Steps& steps) {
  if (parts.launch <= rounding) return;
  TimeParts launch;
  launch.launch = parts.launch;
  steps.push_back({rows_.add_cost({"launch", parts.launch, launch, Bytes{}}), TaskKind::delay,
                   StreamKind::compute, steps.empty() ? TaskRole::forward : steps.front().role,
                   -1});
}

/// What the piece's kernels do not cover of the way of saved tensors and weights to host memory
/// and back.
Seconds PassSteps::offload_in(PieceKind kind, PassKind pass) const {
  const OffloadShown& shown = costs_.offload[static_cast<std::size_t>(kind)];
  if (pass == PassKind::forward) return shown.forward;
  return pass == PassKind::weight_gradient ? Seconds{} : shown.backward;
}

void PassSteps::add_offload(PieceKind kind, PassKind pass, Steps& steps) {
  TimeParts parts;
  parts.data = offload_in(kind, pass);
  if (parts.data <= rounding) return;
  steps.push_back(
      {rows_.add_cost({"copies over the link to host memory", parts.data, parts, Bytes{}}),
       TaskKind::delay, StreamKind::compute, TaskRole::offload, -1});
}

}  // namespace foretrain::internal
