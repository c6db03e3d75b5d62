// SPDX-License-Identifier: Apache-2.0
#include "models/data/single_process.hpp"

#include <cmath>
#include <string_view>

#include "models/base/require.hpp"
#include "models/collectives/collective_cost.hpp"
#include "models/data/data_parallel.hpp"
#include "models/grid/process_grid.hpp"
#include "models/kernels/kernel_cost.hpp"

namespace foretrain {
namespace {

constexpr double token_bytes = 8.0;   // int64 token ids and labels
constexpr double scalar_bytes = 4.0;  // a loss and its gradient

double others(const Job& job) { return job.parallel.data - 1.0; }

double local_tokens_of(const Job& job) {
  return static_cast<double>(job.training.micro_batch) * job.training.sequence;
}

/// Pipelined ring from or to GPU 0: all bytes cross every link once. One call after the other, each
/// with its launch, steps and ramp; the ranks of the host are waited for once.
Seconds ring_from_first(const Job& job, Bytes payload) {
  const CollectivePath path{job.cluster, job.device_profile, job.site};
  const CollectiveCost& level = job.device_profile.inside;
  const double calls = replica_calls(job, payload).count;
  const CommGroup group =
      ProcessGrid{job.parallel}.group(GroupKind::data).on_hosts(job.cluster.packing());
  const Seconds ramp = level.ramp * std::sqrt(payload.value() / calls);
  return job.site.wait + calls * (level.launch + others(job) * level.per_step + ramp) +
         payload / bus_bandwidth(group, path);
}

/// Tensors are read and written once to stand in a buffer in a row.
Seconds joining(const Job& job, Bytes payload) {
  if (!replica_calls(job, payload).joined) return Seconds{};
  const KernelDevice device{job.cluster.host.device, job.device_profile, job.training.precision};
  return streaming_time(2.0 * payload, device);
}

/// One copy after the other: all of them cross the link of GPU 0.
Seconds copies(const Job& job, Bytes each) {
  return others(job) * send_time(each, 1, {job.cluster, job.device_profile, job.site});
}

}  // namespace

ReplicaCalls replica_calls(const Job& job, Bytes payload) {
  const double count = sync_calls(job, payload, replica_buffer);
  return {count, count >= payload / replica_buffer};
}

Bytes gathered_logits(const Job& job) {
  if (job.parallel.gather == GatherKind::loss) return Bytes{};
  const double element = full_precision(job.training.precision) ? 4.0 : 2.0;
  const double heads = 1.0 + job.model.mtp_layers;
  return Bytes{element * heads * local_tokens_of(job) * job.vocabulary()};
}

ReplicaTraffic replica_traffic(const Job& job, const RankParameters& parameters) {
  FORETRAIN_REQUIRE(job.parallel.single_process());
  // Gradients have the type of the weights that they belong to.
  const double each = parameter_bytes(job).weight;
  const Bytes all{each * parameters.total()};
  const bool whole = job.parallel.gather == GatherKind::outputs;
  const double arrays = whole ? 1.0 : 2.0;
  const Seconds ring = ring_from_first(job, all) + joining(job, all);
  const Bytes returned = whole ? gathered_logits(job) : Bytes{scalar_bytes};
  ReplicaTraffic traffic;
  traffic.inputs = copies(job, Bytes{arrays * token_bytes * local_tokens_of(job)});
  traffic.weights = ring;
  traffic.gradients = ring;
  traffic.outputs = copies(job, returned);
  traffic.output_gradients = copies(job, returned);
  return traffic;
}

PieceTimes replicas_piece(const ReplicaTraffic& traffic) {
  PieceTimes piece;
  piece.forward.data = traffic.inputs + traffic.weights;
  piece.weight_gradient.data = traffic.gradients;
  return piece;
}

PieceTimes outputs_piece(const ReplicaTraffic& traffic) {
  PieceTimes piece;
  piece.forward.data = traffic.outputs;
  piece.input_gradient.data = traffic.output_gradients;
  return piece;
}

Operators other_loss_operators(const Job& job) {
  if (job.parallel.gather == GatherKind::loss) return {};
  Operators result = loss_operators(job);
  for (Operator& op : result) {
    op.name = "loss of the other replicas";
    op.forward *= others(job);
    op.input_gradient *= others(job);
    op.bytes *= others(job);
  }
  return result;
}

PieceTimes other_loss_piece(const Job& job) {
  PieceTimes piece;
  for (const Operator& op : other_loss_operators(job)) {
    piece.forward.compute += op.forward;
    piece.input_gradient.compute += op.input_gradient;
  }
  return piece;
}

Provenance single_process_provenance() {
  return {Trust::extrapolated,
          "torch.nn.DataParallel by its source (torch/nn/parallel, torch/csrc/cuda/comm.cpp), with "
          "the rates of collectives between processes; no run of it was measured here",
          "2026-11-21", -1.0};
}

}  // namespace foretrain
