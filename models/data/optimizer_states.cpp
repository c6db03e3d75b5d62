// SPDX-License-Identifier: Apache-2.0
#include "models/data/optimizer_states.hpp"

namespace foretrain {

OptimizerStates optimizer_states(const Job& job) {
  constexpr double both_moments = 8.0;  // of MemoryRules::optimizer_bytes
  // One byte per moment and an fp32 scale per block of 256.
  constexpr double eight_bit_moments = 2.0 * (1.0 + 4.0 / 256.0);
  const Training& training = job.training;
  const double master =
      training.narrow_weights()
          ? 0.0
          : (job.stack.memory.optimizer_bytes - both_moments) * training.master_bytes / 4.0;
  const double first = training.first_moment();
  const double both = first + training.second_moment();
  switch (training.optimizer) {
    case OptimizerKind::adamw:
      return {master, both, both};
    case OptimizerKind::adam8bit:
      return {master, eight_bit_moments, eight_bit_moments};
    case OptimizerKind::sgd:
      return {master, first, first};
    case OptimizerKind::muon:
      return {master, first, both};
    case OptimizerKind::adafactor:
      // Sums over the rows and columns of a matrix; norms and biases are next to nothing as well.
      return {master, 0.0, 0.0};
  }
  return {master, both, both};
}

}  // namespace foretrain
