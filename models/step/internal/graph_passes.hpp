// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "models/step/graph_build.hpp"
#include "models/step/internal/graph_rows.hpp"

namespace foretrain::internal {

/// How a step stands to the others of its pass.
enum class StepLink : std::uint8_t {
  chain,  ///< runs after the step before it
  fork,   ///< an exchange beside the step after it
  join    ///< runs after the step before it and after the exchange that was forked last
};

/// A stretch of a pass: one task of the graph. But for forks, the steps of a pass run one after
/// another.
struct PassStep {
  std::uint32_t cost = 0;
  TaskKind kind = TaskKind::compute;
  StreamKind stream = StreamKind::compute;
  TaskRole role = TaskRole::forward;
  int layer = -1;
  StepLink link = StepLink::chain;
  Seconds shown{};  ///< of a fork: what the step beside it does not cover
};

/// What passes are taken apart with; null where nobody asks.
struct PassContents {
  const PieceOperators* operators = nullptr;
  const StepExchanges* exchanges = nullptr;
};

/// What a pass runs of an operator.
struct OperatorPass {
  Seconds duration;
  PassKind pass = PassKind::forward;
  bool again = false;    ///< recomputation
  bool forward = false;  ///< in forward order
};

/// An operator as one step, and of an exchange what runs beside the kernel next to it.
struct OperatorStep {
  PassStep step;
  OperatorKind kind = OperatorKind::product;
  ExposedExchange beside;
  bool beside_next = false;  ///< the one after it in the pass, else the one before
};

/// The steps of every pass at one level of detail. All micro-batches share the cost keys.
class PassSteps {
 public:
  PassSteps(const StepCosts& costs, bool split_backward, Detail detail,
            const PassContents& contents, GraphRows& rows);

  [[nodiscard]] const std::vector<PassStep>& of(std::size_t chunk, PassKind kind) const {
    return steps_[chunk * kinds + static_cast<std::size_t>(kind)];
  }

 private:
  static constexpr std::size_t kinds = EnumNames<PassKind>::names.size();
  using Steps = std::vector<PassStep>;

  void whole(std::size_t chunk, PassKind kind, Steps& steps);
  void layers(std::size_t chunk, PassKind kind, Steps& steps);
  [[nodiscard]] Steps piece(PieceKind kind, PassKind pass);
  void operators_of(const Operators& operators, PassKind pass, Steps& steps);
  [[nodiscard]] OperatorStep operator_step(const Operator& op, const OperatorPass& run);
  void rest_of_piece(const TimeParts& parts, PieceKind kind, PassKind pass, Steps& steps);
  [[nodiscard]] std::span<const PieceRun> content_of(std::size_t chunk) const;
  [[nodiscard]] std::uint32_t inside(std::span<const PieceRun> content, PassKind pass);
  [[nodiscard]] std::uint32_t shards(PieceKind kind, PassKind pass);

  const StepCosts& costs_;
  Detail detail_;
  PassContents contents_;
  GraphRows& rows_;
  std::vector<Steps> steps_;
};

/// What of a piece one pass kind runs.
[[nodiscard]] TimeParts parts_of(const PieceTimes& times, PassKind kind);

}  // namespace foretrain::internal
