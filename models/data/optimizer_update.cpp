// SPDX-License-Identifier: Apache-2.0
#include "models/data/optimizer_update.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "models/data/gradient_projection.hpp"
#include "models/data/optimizer_states.hpp"
#include "models/data/state_shards.hpp"
#include "models/kernels/kernel_cost.hpp"
#include "models/layers/eight_bit_weights.hpp"

namespace foretrain {
namespace {

/// Parameters of a rank as its optimizer sees them.
struct Shares {
  double matrices = 0.0;
  double others = 0.0;

  [[nodiscard]] double all() const { return matrices + others; }
};

int owners(const Job& job, const ShardGroups& groups) {
  return job.parallel.zero >= 1 ? groups.shard.ranks : 1;
}

/// Gradients are read for the norm of all of them and for the update; where each is used at once,
/// there is no such norm.
Bytes state_traffic(const Job& job, const Shares& held, const FormCounts& layers) {
  const OptimizerStates states = optimizer_states(job);
  const double bytes = gradient_bytes(job);
  double kept =
      states.master * held.all() + states.matrix * held.matrices + states.other * held.others;
  for (const bool experts : {false, true})
    kept -= projected_states(job, layers, experts).saved(states.matrix, bytes);
  const double reads = job.training.steps_in_backward() ? 1.0 : 2.0;
  const double passes = reads * bytes + optimizer_rule(job.training.optimizer).passes;
  return Bytes{2.0 * kept + passes * held.all()};
}

/// Parameters that the host updates: their gradients go down, its processors, which all ranks of
/// the host share, read and write the states, and 16-bit weights come up (arXiv 2101.06840;
/// Megatron-Core, cpu_offloading/hybrid_optimizer.py). One after the other.
Seconds host_time(const Job& job, double held) {
  constexpr double narrow = 2.0;
  const Host& host = job.cluster.host;
  const Link& link = host.pcie;
  const double sharing = std::min(host.gpus, job.parallel.gpus());
  const Bytes copied{held * (gradient_bytes(job) + narrow)};
  return copied / (link.achievable * link.bandwidth) + held * sharing * job.stack.times.host_update;
}

Seconds muon_products(const Job& job, const RankParameters& parameters) {
  std::vector<MatrixShape> dense = matrix_shapes(job, parameters.forms, FusedMatrices::gates);
  std::vector<MatrixShape> experts;
  const auto first = std::stable_partition(
      dense.begin(), dense.end(),
      [](const MatrixShape& shape) { return shape.part != LayerPart::experts; });
  experts.assign(first, dense.end());
  dense.erase(first, dense.end());
  return busiest_owner(dense, owners(job, dense_groups(job)), job) +
         busiest_owner(experts, owners(job, expert_groups(job)), job);
}

}  // namespace

Seconds orthogonalisation_time(const MatrixShape& shape, const Job& job) {
  const KernelDevice device{job.cluster.host.device, job.device_profile, Precision::bf16};
  const double small = std::min(shape.rows, shape.columns);
  const double large = std::max(shape.rows, shape.columns);
  // A = X X^T, A A, and that times X.
  const Seconds step = gemm_time({small, small, large}, device) +
                       gemm_time({small, small, small}, device) +
                       gemm_time({small, large, small}, device);
  return job.training.newton_schulz_steps * step;
}

Seconds busiest_owner(const std::vector<MatrixShape>& shapes, int owners, const Job& job) {
  FORETRAIN_REQUIRE(owners >= 1);
  std::vector<MatrixShape> order = shapes;
  std::stable_sort(order.begin(), order.end(), [](const MatrixShape& a, const MatrixShape& b) {
    return a.elements() > b.elements();
  });
  std::vector<Seconds> busy(static_cast<std::size_t>(owners));
  std::int64_t dealt = 0;
  for (const MatrixShape& shape : order) {
    const Seconds each = orthogonalisation_time(shape, job);
    // Two rounds give every owner one of two matrices; only what is left of them is dealt out.
    const std::int64_t round = 2LL * owners;
    const std::int64_t whole = std::max<std::int64_t>(0, shape.count - round) / round;
    for (Seconds& time : busy) time += 2.0 * static_cast<double>(whole) * each;
    for (std::int64_t left = shape.count - whole * round; left > 0; --left, ++dealt) {
      const std::int64_t at = dealt % round;
      busy[static_cast<std::size_t>(at < owners ? at : round - 1 - at)] += each;
    }
  }
  return *std::max_element(busy.begin(), busy.end());
}

Seconds optimizer_time(const Job& job, const RankParameters& parameters) {
  const KernelDevice device{job.cluster.host.device, job.device_profile, job.training.precision};
  const double dense_share = owners(job, dense_groups(job));
  const double expert_share = owners(job, expert_groups(job));
  const double experts = parameters.experts / expert_share;
  const double matrices = (parameters.layers - parameters.vectors) / dense_share;
  const Shares held{matrices + experts, parameters.dense() / dense_share - matrices};
  const WeightBytes written = gathered_weight_bytes(job, parameters);
  const double away = host_updates(job.memory.offload) ? job.memory.offload_share : 0.0;
  const Bytes traffic = state_traffic(job, held, parameters.forms) + written.dense / dense_share +
                        written.experts / expert_share;
  Seconds update = (1.0 - away) * streaming_time(traffic, device);
  if (away > 0.0) update += host_time(job, away * held.all());
  update += projection_time(job, parameters.forms);
  if (job.training.optimizer != OptimizerKind::muon) return update;
  return update + muon_products(job, parameters);
}

}  // namespace foretrain
