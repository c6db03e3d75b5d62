// SPDX-License-Identifier: Apache-2.0
#include "models/data/optimizer_update.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "models/data/optimizer_states.hpp"
#include "models/data/state_shards.hpp"
#include "models/kernels/kernel_cost.hpp"
#include "models/layers/eight_bit_weights.hpp"
#include "models/layers/layer_description.hpp"

namespace foretrain {
namespace {

/// Adafactor as plain kernels (arXiv 1804.04235, algorithm 4; Hugging Face's Adafactor.step):
/// squared gradients made, offset, summed over rows and over columns, their rank-one estimate
/// written and multiplied with the gradient, the norm of the update, two scalings, the sum with the
/// fp32 weights. Bytes per parameter beside the states and the gradient.
constexpr double adafactor_bytes = 8.0 + 8.0 + 4.0 + 4.0 + 4.0 + 12.0 + 4.0 + 8.0 + 8.0;

/// Parameters of a rank as its optimizer sees them.
struct Shares {
  double matrices = 0.0;
  double others = 0.0;

  [[nodiscard]] double all() const { return matrices + others; }
};

int owners(const Job& job, const ShardGroups& groups) {
  return job.parallel.zero >= 1 ? groups.shard.ranks : 1;
}

Bytes state_traffic(const Job& job, const Shares& held) {
  const OptimizerStates states = optimizer_states(job);
  const double kept =
      states.master * held.all() + states.matrix * held.matrices + states.other * held.others;
  double passes = 2.0 * gradient_bytes(job);
  if (job.training.optimizer == OptimizerKind::adafactor) passes += adafactor_bytes;
  return Bytes{2.0 * kept + passes * held.all()};
}

/// Linear weights of layers of a kind, fused projections of queries, keys and values apart
/// (Megatron-Core's muon_split_qkv).
void add_shapes(const Job& job, const LayerType& type, int layers, std::vector<MatrixShape>& dense,
                std::vector<MatrixShape>& experts) {
  if (layers == 0) return;
  LayerDescription layer{job, false};
  describe_layer(job.model, type, layer_cut(job.parallel), layer);
  for (const LayerOperator& op : layer.operators()) {
    if (!op.is_product() || op.tied || op.frozen) continue;
    const auto add = [&](std::vector<MatrixShape>& list, double rows) {
      if (rows >= 1.0) list.push_back({rows, op.in, layers * static_cast<int>(op.copies)});
    };
    if (op.part == LayerPart::experts) {
      add(experts, op.out);
    } else if (op.part == LayerPart::attention && op.out == layer.heads.all()) {
      for (const double rows : {layer.heads.query, layer.heads.key, layer.heads.value})
        add(dense, rows);
    } else {
      add(dense, op.out);
    }
  }
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
  std::vector<MatrixShape> dense;
  std::vector<MatrixShape> experts;
  for (std::size_t form = 0; form < layer_forms; ++form)
    add_shapes(job, layer_types[form], parameters.forms[form], dense, experts);
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
  const double away = job.memory.offload == OffloadKind::none ? 0.0 : job.memory.offload_share;
  const Bytes traffic =
      state_traffic(job, held) + written.dense / dense_share + written.experts / expert_share;
  Seconds update = (1.0 - away) * streaming_time(traffic, device);
  if (away > 0.0) update += host_time(job, away * held.all());
  if (job.training.optimizer != OptimizerKind::muon) return update;
  return update + muon_products(job, parameters);
}

}  // namespace foretrain
