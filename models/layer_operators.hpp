// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/job.hpp"
#include "models/names.hpp"
#include "models/pass_times.hpp"
#include "models/quantity.hpp"

namespace foretrain {

enum class OperatorKind : std::uint8_t { product, attention, streaming, tensor, context, expert };
FORETRAIN_ENUM_NAMES(OperatorKind, {OperatorKind::product, "product"},
                     {OperatorKind::attention, "attention"}, {OperatorKind::streaming, "streaming"},
                     {OperatorKind::tensor, "tensor"}, {OperatorKind::context, "context"},
                     {OperatorKind::expert, "expert"});

/// One kernel, or one exchange, of one micro-batch on one rank, with the time that it takes in each
/// pass. Exchanges carry their exposed time. Zero where a pass does not run it.
struct Operator {
  std::string_view name;  ///< static text, e.g. "QKV product"
  OperatorKind kind = OperatorKind::product;
  Seconds forward;
  Seconds input_gradient;
  Seconds weight_gradient;
  Seconds recompute;  ///< run again before the backward pass of this layer
  Flop flop;          ///< forward
  Bytes bytes;        ///< forward: memory traffic of a streaming kernel, payload of an exchange
};

/// The operators of a piece of the model in forward order.
using Operators = std::vector<Operator>;

}  // namespace foretrain
