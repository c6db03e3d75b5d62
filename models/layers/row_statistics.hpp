// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/job.hpp"

namespace foretrain {

/// What the rows of a job hold on average, in tokens. Equations: models/layers/README.md,
/// "Samples".
struct RowStatistics {
  double tokens = 0.0;    ///< of samples
  double computed = 0.0;  ///< that kernels work on, pads included
  double keys = 0.0;      ///< length of the sample that a token is in, on average over tokens
  double slowest = 1.0;   ///< tokens of the replica with most of them over the mean
};

[[nodiscard]] RowStatistics row_statistics(const Job& job);

/// Tokens of samples in an optimizer step: pads are none.
[[nodiscard]] double tokens_per_step(const Job& job);
/// The same of another global batch.
[[nodiscard]] double tokens_per_step(const Job& job, int global_batch);

}  // namespace foretrain
