// SPDX-License-Identifier: Apache-2.0
#include "models/data/optimizer_update.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/base/require.hpp"
#include "models/data/data_parallel.hpp"
#include "models/data/gradient_projection.hpp"
#include "models/kernels/kernel_cost.hpp"
#include "models/layers/eight_bit_weights.hpp"

namespace foretrain {
namespace {

/// Adafactor as plain kernels (arXiv 1804.04235, algorithm 4; Hugging Face's Adafactor.step):
/// squared gradients made, offset, summed over rows and over columns, their rank-one estimate
/// written and multiplied with the gradient, the norm of the update, two scalings, the sum with the
/// fp32 weights. AdaLomo (arXiv 2310.10195, algorithm 2) does the same.
constexpr double factored = 8.0 + 8.0 + 4.0 + 4.0 + 4.0 + 12.0 + 4.0 + 8.0 + 8.0;

struct Row {
  OptimizerKind kind;
  OptimizerRule rule;
};

/// Sums over the rows and columns of a matrix are next to nothing.
constexpr auto rules = std::to_array<Row>({
    {OptimizerKind::adamw, {1, 1, 1, 0}},
    {OptimizerKind::adam8bit, {1, 1, 1, 0}},
    {OptimizerKind::sgd, {1, 0, 0, 0}},
    {OptimizerKind::muon, {1, 0, 1, 0}},
    {OptimizerKind::adafactor, {0, 0, 0, factored}},
    {OptimizerKind::lion, {1, 0, 0, 0}},
    {OptimizerKind::rmsprop, {0, 1, 1, 0}},
    {OptimizerKind::adagrad, {0, 1, 1, 0}},
    {OptimizerKind::schedule_free, {1, 1, 1, 0}},      // z, exp_avg_sq
    {OptimizerKind::schedule_free_sgd, {1, 0, 0, 0}},  // z
    {OptimizerKind::ademamix, {2, 1, 1, 0}},           // two means of gradients
    {OptimizerKind::adan, {3, 1, 1, 0}},  // mean, of differences, gradient before; mean of squares
    {OptimizerKind::grokadamw, {2, 1, 1, 0}},  // a slow mean of gradients
    {OptimizerKind::lomo, {0, 0, 0, 0}},
    {OptimizerKind::adalomo, {0, 0, 0, factored}},
});
static_assert(rules.size() == EnumNames<OptimizerKind>::names.size());

/// Parameters of a rank as its optimizer sees them.
struct Shares {
  double matrices = 0.0;
  double others = 0.0;

  [[nodiscard]] double all() const { return matrices + others; }
};

int owners(const Job& job, const ShardGroups& groups) {
  return job.parallel.zero >= 1 ? groups.shard.ranks : 1;
}

/// What an update rule keeps. Sources: models/data/README.md, "Optimizers".
const OptimizerRule& optimizer_rule(OptimizerKind kind) {
  const auto* const row =
      std::ranges::find_if(rules, [kind](const Row& each) { return each.kind == kind; });
  FORETRAIN_REQUIRE(row != rules.end());
  return row->rule;
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
/// the host share where threads of one process already fill them, read and write the states, and
/// 16-bit weights come up (arXiv 2101.06840; Megatron-Core, cpu_offloading/hybrid_optimizer.py).
/// One after the other.
Seconds host_time(const Job& job, double held) {
  constexpr double narrow = 2.0;
  const Host& host = job.cluster.host;
  const Link& link = host.pcie;
  const StackTimes& times = job.stack.times;
  const int sharing = times.updates_side_by_side ? 1 : std::min(host.gpus, job.parallel.gpus());
  // Of offloaded parameters either goes with the passes (add_shard_traffic).
  const Bytes copied{job.offloads_parameters() ? 0.0 : held * (gradient_bytes(job) + narrow)};
  return copied / (link.achievable * link.bandwidth) + held * sharing * times.host_update;
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

OptimizerStates optimizer_states(const Job& job) {
  constexpr double both_moments = 8.0;  // of MemoryRules::optimizer_bytes
  // One byte and a share of an fp32 scale per block of 256.
  constexpr double eight_bits = 1.0 + 4.0 / 256.0;
  const Training& training = job.training;
  const double master =
      training.narrow_weights()
          ? 0.0
          : (job.stack.memory.optimizer_bytes - both_moments) * training.master_bytes / 4.0;
  const bool eight = training.optimizer == OptimizerKind::adam8bit;
  const double first = eight ? eight_bits : training.first_moment();
  const double second = eight ? eight_bits : training.second_moment();
  const OptimizerRule& rule = optimizer_rule(training.optimizer);
  return {master, rule.first * first + rule.second * second,
          rule.first * first + rule.other_second * second};
}

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
  std::ranges::stable_sort(order, [](const MatrixShape& a, const MatrixShape& b) {
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
  return *std::ranges::max_element(busy);
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
