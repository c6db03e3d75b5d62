// SPDX-License-Identifier: Apache-2.0
// Exchanges of the small sizes of inference steps.
#pragma once

#include "models/base/quantity.hpp"
#include "models/serving/deployment.hpp"

namespace foretrain::serving_detail {

/// Time of an exchange by its bytes: the smallest of up to three straight lines.
struct ExchangeLine {
  struct Line {
    double start = 0.0;     ///< seconds
    double per_byte = 0.0;  ///< seconds
  };
  Line lines[3];
  int count = 0;

  void add(double start, double per_byte) { lines[count++] = {start, per_byte}; }
  [[nodiscard]] Seconds time(double bytes) const;
};

/// All-reduce among the tensor ranks: in one shot (every rank reads all others' parts), in two
/// (reduce-scatter and all-gather in one kernel), or the library's for large sizes.
[[nodiscard]] ExchangeLine all_reduce_line(const Deployment& deployment, int ranks);

/// Rows of `row_bytes` to the ranks of their experts, or back; bytes are those that one rank sends.
[[nodiscard]] ExchangeLine dispatch_line(const Deployment& deployment);

/// Between neighbouring pipeline stages.
[[nodiscard]] ExchangeLine stage_line(const Deployment& deployment);

}  // namespace foretrain::serving_detail
