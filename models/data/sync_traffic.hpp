// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/quantity.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// How the parameters of a chunk are cut into buckets, in the order in which a backward pass makes
/// their gradients: shares of the chunk's traffic, and of the pass. Weights are gathered in the
/// same buckets, the other way round. By default all of it in one.
struct Buckets {
  double edge = 1.0;   ///< of the traffic: the bucket that is full only when the pass is over
  double inner = 0.0;  ///< of the traffic: each other bucket
  int inners = 0;      ///< other buckets
  double first = 1.0;  ///< of the pass: over when the first bucket is full
  double last = 1.0;   ///< of the pass: over when the last but the edge is full

  /// Of weights: what a pass needs before it can begin.
  [[nodiscard]] double lead() const { return last < 1.0 ? edge : edge + inner; }
};

/// @param parameters of the chunk on a rank @param bucket parameters of a bucket
/// @param embedding of the parameters, those whose gradients are made when the pass is over
[[nodiscard]] Buckets cut_buckets(double parameters, double bucket, double embedding);

/// Parameters of the buckets that the job's framework makes: communication.bucket where it is given
/// or the framework has no rule of its own. models/data/README.md, "Data parallelism".
[[nodiscard]] double bucket_parameters(const Job& job);

/// What a chunk of a stage exchanges with the ranks that hold the same weights, once per step.
struct ChunkTraffic {
  Buckets buckets;
  Seconds gradients;  ///< alone
  Seconds weights;    ///< alone
};

/// A pass beside which an exchange goes on.
struct TrafficSpan {
  Seconds begin;
  Seconds end;
};

/// When gradients have been exchanged that take `time` alone and leave bucket by bucket as `pass`
/// fills them; the edge leaves at `leaves`, nothing before `free`.
[[nodiscard]] Seconds reduced_at(const Buckets& buckets, Seconds time, const TrafficSpan& pass,
                                 Seconds leaves, Seconds free);

/// When a pass of `duration` is over that could begin at `ready`, and that waits for its weights
/// bucket by bucket: they take `time` alone and are gathered from `from` on.
[[nodiscard]] TrafficSpan gathered_pass(const Buckets& buckets, Seconds time, Seconds from,
                                        Seconds ready, Seconds duration);

}  // namespace foretrain
