// SPDX-License-Identifier: Apache-2.0
#include "models/data/sync_traffic.hpp"

#include <algorithm>
#include <cmath>

#include "models/grid/process_grid.hpp"

namespace foretrain {

Buckets cut_buckets(double parameters, double bucket, double embedding) {
  Buckets buckets;
  const double edge = std::max(bucket, embedding);
  if (parameters <= edge) return buckets;
  constexpr double most = 1e6;
  const double inners = std::min(most, std::ceil((parameters - edge) / bucket));
  const double layers = 1.0 - embedding / parameters;  // of the traffic; made evenly by the pass
  buckets.edge = edge / parameters;
  buckets.inners = static_cast<int>(inners);
  buckets.inner = (1.0 - buckets.edge) / inners;
  buckets.first = buckets.inner / layers;
  buckets.last = (1.0 - buckets.edge) / layers;
  return buckets;
}

double bucket_parameters(const Job& job) {
  const StackTimes& stack = job.stack.times;
  const double each = job.communication.gradient_dtype == Precision::fp32 ? 4.0 : 2.0;
  const bool chosen = job.communication.bucket != Communication{}.bucket;
  if (chosen || stack.bucket <= 0.0) return job.communication.bucket.value() / each;
  const Group holders = ProcessGrid{job.parallel}.group(GroupKind::holders);
  return std::max(stack.bucket, stack.bucket_per_rank * holders.ranks());
}

// Buckets but the edge are alike and become full at an even pace, so that of all of them either the
// first or the last decides when the rest is through.
Seconds reduced_at(const Buckets& buckets, Seconds time, const TrafficSpan& pass, Seconds leaves,
                   Seconds free) {
  Seconds end = max(free + time, leaves + buckets.edge * time);
  if (buckets.inners == 0) return end;
  const Seconds duration = pass.end - pass.begin;
  end = max(end, pass.begin + buckets.first * duration + time);
  return max(end, pass.begin + buckets.last * duration + (buckets.inner + buckets.edge) * time);
}

TrafficSpan gathered_pass(const Buckets& buckets, Seconds time, Seconds from, Seconds ready,
                          Seconds duration) {
  TrafficSpan pass;
  pass.begin = max(ready, from + buckets.lead() * time);
  pass.end = pass.begin + duration;
  if (buckets.inners == 0) return pass;
  pass.end = max(pass.end, from + (buckets.edge + buckets.inner) * time + buckets.last * duration);
  pass.end = max(pass.end, from + time + buckets.first * duration);
  return pass;
}

}  // namespace foretrain
