// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/grid/stage_layout.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// How much longer a step takes than expected where something is slower: what is hidden shows only
/// then. Shares of the step, 0 or more. The job has to outlive this.
class SlowerStep {
 public:
  explicit SlowerStep(const Job& job);

  /// NICs reach half of what is expected of them: traffic that hides behind kernels no longer does.
  [[nodiscard]] double network() const;
  /// GPUs that PCIe joins reach each other as slowly as on the slowest host that was measured.
  [[nodiscard]] double pcie() const;
  /// The processor takes twice as long for launches, which then show where kernels are small.
  [[nodiscard]] double launches() const;
  /// What routes, permutes and runs experts is slower; 0 of a dense model.
  [[nodiscard]] double experts() const;
  /// How much of the step comes of uneven routing: what it takes beyond one with forced balance.
  [[nodiscard]] double routing() const;

 private:
  [[nodiscard]] Seconds seconds(const Job& job) const;
  [[nodiscard]] double longer(const Job& slow) const;

  const Job& job_;
  StageLayout layout_;
  Seconds expected_;
};

}  // namespace foretrain
