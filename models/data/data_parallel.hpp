// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/base/quantity.hpp"
#include "models/grid/group_exchange.hpp"
#include "models/inputs/job.hpp"
#include "models/layers/memory_parameters.hpp"
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
void add_shard_traffic(const Job& job, const PieceParameters& parameters, PieceTimes& piece);

/// What that traffic takes alone, kernels aside. Either half of a backward pass has its usual
/// share.
struct ShardTraffic {
  Seconds forward;
  Seconds input_gradient;
  Seconds weight_gradient;
};
[[nodiscard]] ShardTraffic shard_traffic(const Job& job, const PieceParameters& parameters);

/// What of it a forward pass and a backward pass exchange.
[[nodiscard]] std::vector<Exchange> forward_shard_exchanges(const Job& job,
                                                            const PieceParameters& parameters);
[[nodiscard]] std::vector<Exchange> backward_shard_exchanges(const Job& job,
                                                             const PieceParameters& parameters);

/// What sending each rank's updated shard on its own costs per step, where the stack does so.
[[nodiscard]] Seconds sharded_update_time(const Job& job);

}  // namespace foretrain
