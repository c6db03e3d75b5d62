// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/base/quantity.hpp"
#include "models/collectives/collective_cost.hpp"
#include "models/grid/process_grid.hpp"
#include "models/inputs/job.hpp"
#include "models/layers/parameters.hpp"
#include "models/layers/pass_times.hpp"

namespace foretrain {

// Parameters are those that are trained (Counted::trained), here and below, but for pieces.

/// Reduction of a rank's gradients, once per step: all-reduce, or reduce-scatter where gradients or
/// optimizer states are sharded; experts over the ranks that hold the same ones. Nothing from
/// ZeRO-2 on, where every pass reduces (shard_traffic), nor under torch.nn.DataParallel, where
/// every micro-batch does (replica_traffic). Alone: what passes cover follows from when they run.
/// models/data/README.md, "Data parallelism".
[[nodiscard]] Seconds gradient_time(const Job& job, const RankParameters& parameters);

/// Calls that move `payload` bytes of a model's tensors in buffers of `bucket` bytes, which hold
/// whole tensors: no more than there are tensors.
[[nodiscard]] double sync_calls(const Job& job, Bytes payload, Bytes bucket);

/// All-gather of updated weights, once per step, with ZeRO-1 and 2.
[[nodiscard]] Seconds weight_time(const Job& job, const RankParameters& parameters);

/// Which of them run beside passes, and what passes lose to them: a share of the time in which both
/// run.
struct SyncOverlap {
  bool gradients = false;
  bool weights = false;
  double slowdown = 0.0;
};
[[nodiscard]] SyncOverlap sync_overlap(const Job& job);

/// All-reduce of the gradients of tied embeddings between the first and the last stage; without
/// payload where nothing is tied.
[[nodiscard]] Exchange tied_exchange(const Job& job);
[[nodiscard]] Seconds tied_embedding_time(const Job& job);

/// What gradient_time() and weight_time() are made of.
[[nodiscard]] std::vector<Exchange> gradient_exchanges(const Job& job,
                                                       const RankParameters& parameters);
[[nodiscard]] std::vector<Exchange> weight_exchanges(const Job& job,
                                                     const RankParameters& parameters);

/// Parameters of a piece of the model on one rank: those that are gathered, in units of 16 bits,
/// and those whose gradients are summed.
struct PieceParameters {
  double dense = 0.0;
  double experts = 0.0;
  double trained_dense = 0.0;
  double trained_experts = 0.0;
  double forward_only = 0.0;  ///< of `dense`: those that no gradient goes through
};

/// Adds the exposed traffic of sharded gradients (ZeRO-2) and weights (ZeRO-3, FSDP) to every pass
/// through a piece: weights are gathered beside the piece before, gradients scattered beside the
/// one after. Nothing below ZeRO-2.
/// @return what of it is copies between host memory and the GPU, of weights that rest there
OffloadShown add_shard_traffic(const Job& job, const PieceParameters& parameters,
                               PieceTimes& piece);

/// What that traffic takes alone, kernels aside. Either half of a backward pass has its usual
/// share.
struct ShardTraffic {
  Seconds forward;
  Seconds input_gradient;
  Seconds weight_gradient;
};

/// Of a piece: what runs beside its kernels, and what they wait for (communication.overlap).
struct PieceTraffic {
  ShardTraffic beside;
  ShardTraffic after;
};
[[nodiscard]] PieceTraffic shard_traffic(const Job& job, const PieceParameters& parameters);

/// What of it a forward pass and a backward pass exchange.
[[nodiscard]] std::vector<Exchange> forward_shard_exchanges(const Job& job,
                                                            const PieceParameters& parameters);
[[nodiscard]] std::vector<Exchange> backward_shard_exchanges(const Job& job,
                                                             const PieceParameters& parameters);

/// What sending each rank's updated shard on its own costs per step, where the stack does so.
[[nodiscard]] Seconds sharded_update_time(const Job& job);

/// Ranks over which states are spread, and ranks that hold the same shard.
struct ShardGroups {
  CommGroup shard;
  CommGroup replicas;
};

/// Replicas of everything but the routed experts.
[[nodiscard]] ShardGroups dense_groups(const Job& job);
/// Ranks that hold the same routed experts.
[[nodiscard]] ShardGroups expert_groups(const Job& job);

/// Bytes of a gradient on its way to its sum.
[[nodiscard]] double gradient_bytes(const Job& job);

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

/// How much of a pass that takes `duration` and ends at `end` ran before `gathered`, when the
/// gathers beside it are over. Only those make a pass wait, so that what runs later runs at once.
[[nodiscard]] constexpr Seconds beside_gathers(Seconds duration, Seconds end, Seconds gathered) {
  return max(Seconds{}, duration - max(Seconds{}, end - gathered));
}

}  // namespace foretrain
