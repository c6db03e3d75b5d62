// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "models/step/graph_build.hpp"
#include "models/step/internal/graph_rows.hpp"

namespace foretrain::internal {

/// How a step stands to the others of its pass.
enum class StepLink : std::uint8_t {
  chain,  ///< runs after the step before it
  fork,   ///< an exchange beside the steps after it, until the next join of its stream
  join    ///< runs after the step before it and after the exchange forked last on `joins`
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
  Seconds shown{};  ///< of a fork: what the steps beside it do not cover
  StreamKind joins = StreamKind::tensor;
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

/// Exchanges beside all of a piece, which begin with it and run one after another.
struct BesidePiece {
  std::vector<PassStep> exchanges;  ///< with what they take alone
  Seconds TimeParts::*part;         ///< that their time is booked to
  Seconds shown;                    ///< what the pass lasts longer because of them
};

/// Whether an exchange runs beside the kernels of another micro-batch.
[[nodiscard]] bool runs_away(const Operator& op);

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
  void add_launch(const TimeParts& parts, Steps& steps);
  void add_away(PieceKind kind, PassKind pass, Steps& steps);
  void add_shards(const TimeParts& parts, PieceKind kind, PassKind pass, Steps& steps);
  [[nodiscard]] Seconds offload_in(PieceKind kind, PassKind pass) const;
  void add_offload(PieceKind kind, PassKind pass, Steps& steps);
  void run_beside(const BesidePiece& beside, PassKind pass, Steps& steps);
  [[nodiscard]] std::vector<OperatorStep> away_steps(PieceKind kind, PassKind pass);
  [[nodiscard]] std::span<const PieceRun> content_of(std::size_t chunk) const;
  [[nodiscard]] std::uint32_t inside(std::span<const PieceRun> content, PassKind pass);
  [[nodiscard]] std::uint32_t shards(PieceKind kind, PassKind pass, std::optional<Cover> cover);

  const StepCosts& costs_;
  Detail detail_;
  PassContents contents_;
  GraphRows& rows_;
  std::vector<Steps> steps_;
};

[[nodiscard]] TaskRole role_of(PassKind kind);

/// What of a piece one pass kind runs.
[[nodiscard]] TimeParts parts_of(const PieceTimes& times, PassKind kind);

}  // namespace foretrain::internal
