// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/quantity.hpp"
#include "sim/serving/serving_run.hpp"

namespace foretrain {
namespace internal {

inline double ttft_of(const ServedRequest& request) {
  return request.first_token - request.submitted;
}
inline double queue_of(const ServedRequest& request) { return request.started - request.submitted; }
inline double tpot_of(const ServedRequest& request) { return request.per_token(); }

}  // namespace internal

/// Of the counted requests, the time that the share `percentile` (0 to 100) does not exceed.
[[nodiscard]] Seconds reached(const ServingSample& sample, double percentile,
                              double (*value)(const ServedRequest&));

}  // namespace foretrain
