// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>

#include "models/layers/layer_operators.hpp"

namespace foretrain::test {

inline void add_to(TimeParts& parts, OperatorKind kind, Seconds time) {
  switch (kind) {
    case OperatorKind::tensor:
      parts.tensor += time;
      break;
    case OperatorKind::context:
      parts.context += time;
      break;
    case OperatorKind::expert:
      parts.expert += time;
      break;
    default:
      parts.compute += time;
  }
}

/// The passes of a piece as the sums of its operators.
inline PieceTimes sum_of(const Operators& operators) {
  PieceTimes sum;
  for (const Operator& op : operators) {
    add_to(sum.forward, op.kind, op.forward);
    add_to(sum.input_gradient, op.kind, op.input_gradient);
    add_to(sum.weight_gradient, op.kind, op.weight_gradient);
    TimeParts again;
    add_to(again, op.kind, op.recompute);
    again.recompute = again.compute;
    again.compute = Seconds{};
    sum.input_gradient += again;
  }
  return sum;
}

inline void check_equal(const TimeParts& sum, const TimeParts& parts) {
  CHECK(sum.compute.value() == Approx(parts.compute.value()).epsilon(1e-12));
  CHECK(sum.recompute.value() == Approx(parts.recompute.value()).epsilon(1e-12));
  CHECK(sum.tensor.value() == Approx(parts.tensor.value()).epsilon(1e-12));
  CHECK(sum.context.value() == Approx(parts.context.value()).epsilon(1e-12));
  CHECK(sum.expert.value() == Approx(parts.expert.value()).epsilon(1e-12));
}

/// Launch excess and gaps aside: no operator has them.
inline void check_equal(const PieceTimes& sum, const PieceTimes& piece) {
  check_equal(sum.forward, piece.forward);
  check_equal(sum.input_gradient, piece.input_gradient);
  check_equal(sum.weight_gradient, piece.weight_gradient);
}

}  // namespace foretrain::test
