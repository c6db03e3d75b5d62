// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/job.hpp"

namespace foretrain {

/// A way to recompute as two numbers, for tables by axes: equal for equal ways, and for them alone.
struct RecomputeKey {
  int way = 0;
  int modules = 0;
};

[[nodiscard]] RecomputeKey recompute_key(const Recompute& recompute);

}  // namespace foretrain
