// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/step/internal/graph_passes.hpp"
#include "models/step/internal/graph_rows.hpp"

namespace foretrain::internal {

/// The part of a pass that an operator's time is booked to; `again`: recomputation.
[[nodiscard]] TimeParts parts_of_operator(OperatorKind kind, Seconds duration, bool again);

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

}  // namespace foretrain::internal
