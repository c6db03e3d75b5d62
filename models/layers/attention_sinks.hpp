// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Why no kernel computes the job's attention with learned sinks; nothing where one does, or where
/// there are none. cuDNN's fused attention (since 9.13) and unfused attention do; FlashAttention-2
/// does not (Transformer Engine, `dot_product_attention/utils.py`). Context ranks:
/// context_kinds.hpp.
[[nodiscard]] std::optional<Infeasible> refuse_sinks(const Job& job);

}  // namespace foretrain
