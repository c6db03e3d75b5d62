// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/base/prediction.hpp"
#include "models/base/quantity.hpp"
#include "models/inputs/job.hpp"
#include "models/layers/layer_operators.hpp"
#include "models/layers/parameters.hpp"
#include "models/layers/pass_times.hpp"

namespace foretrain {

/// What torch.nn.DataParallel moves between GPU 0 and the others around every forward and backward
/// pass. Nothing of it hides behind kernels: replication ends before the first kernel of a replica,
/// and the sum of the gradients waits for all of them. models/data/README.md, "One process for all
/// GPUs".
struct ReplicaTraffic {
  Seconds inputs;            ///< tokens, and labels where the loss is in the module, to every GPU
  Seconds weights;           ///< broadcast from GPU 0, copies into its buffers included
  Seconds gradients;         ///< reduced to GPU 0, copies included
  Seconds outputs;           ///< what replicas return, to GPU 0
  Seconds output_gradients;  ///< back to the replicas

  [[nodiscard]] Seconds total() const {
    return inputs + weights + gradients + outputs + output_gradients;
  }
};

/// Prices one micro-batch. @pre job.parallel.single_process(); broken_rules(job) is empty.
[[nodiscard]] ReplicaTraffic replica_traffic(const Job& job, const RankParameters& parameters);

/// Bytes that every broadcast or reduction carries at most: torch.nn.parallel.comm joins smaller
/// tensors up to this size. No option of DataParallel changes it.
inline constexpr Bytes replica_buffer = 10.0 * MiB;

/// Calls that it takes to move `payload` bytes of all weights or gradients; larger tensors go alone
/// and are not copied into a buffer first.
struct ReplicaCalls {
  double count = 1.0;
  bool joined = false;  ///< tensors are smaller than a buffer in the mean
};
[[nodiscard]] ReplicaCalls replica_calls(const Job& job, Bytes payload);

/// Bytes of the logits that one replica returns of a micro-batch; none where only losses are
/// gathered.
[[nodiscard]] Bytes gathered_logits(const Job& job);

/// The pieces of a chunk that replicas add (PieceKind::replicas, outputs, other_loss).
[[nodiscard]] PieceTimes replicas_piece(const ReplicaTraffic& traffic);
[[nodiscard]] PieceTimes outputs_piece(const ReplicaTraffic& traffic);
[[nodiscard]] PieceTimes other_loss_piece(const Job& job);
/// The kernels of the last one.
[[nodiscard]] Operators other_loss_operators(const Job& job);

/// What torch.nn.DataParallel cannot run, key by key; empty for other jobs.
[[nodiscard]] std::vector<Infeasible> single_process_rules(const Job& job);

/// Where the forecast of its traffic comes from.
[[nodiscard]] Provenance single_process_provenance();

}  // namespace foretrain
