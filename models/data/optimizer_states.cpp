// SPDX-License-Identifier: Apache-2.0
#include "models/data/optimizer_states.hpp"

#include <algorithm>
#include <array>

#include "models/base/require.hpp"

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

}  // namespace

const OptimizerRule& optimizer_rule(OptimizerKind kind) {
  const auto* const row = std::find_if(rules.begin(), rules.end(),
                                       [kind](const Row& each) { return each.kind == kind; });
  FORETRAIN_REQUIRE(row != rules.end());
  return row->rule;
}

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

}  // namespace foretrain
