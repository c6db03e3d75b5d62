// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "models/step/graph_build.hpp"
#include "models/step/internal/graph_rows.hpp"

namespace foretrain::internal {

/// A stretch of a pass: one task of the graph. The steps of a pass run one after another.
struct PassStep {
  std::uint32_t cost = 0;
  TaskKind kind = TaskKind::compute;
  StreamKind stream = StreamKind::compute;
  TaskRole role = TaskRole::forward;
  int layer = -1;
};

/// What passes are taken apart with; null where nobody asks.
struct PassContents {
  const PieceOperators* operators = nullptr;
  const StepExchanges* exchanges = nullptr;
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
