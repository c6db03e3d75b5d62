// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "models/schedules/schedule.hpp"

namespace foretrain {

/// Passes of one chunk of one stage whose activations are alive when the stage holds most, counted
/// from the order of its passes.
struct LivePasses {
  int whole = 0;        ///< between forward pass and (input) gradients, the newest included
  int for_weights = 0;  ///< operands that wait for the weight gradients

  [[nodiscard]] int held() const { return whole + for_weights; }
  friend bool operator==(const LivePasses&, const LivePasses&) = default;
};

/// @pre 0 <= stage < stages, 0 <= chunk < chunks.
[[nodiscard]] LivePasses live_passes(const ScheduleShape& shape, int stage, int chunk);

/// Of all stages and chunks of a job's schedule, looked up once. All whole where its fitted form
/// fills the memory, with those that a vocabulary split over the stages adds. 1F1B with several
/// chunks is run interleaved (arXiv 2104.04473 section 2.2).
class JobLivePasses {
 public:
  explicit JobLivePasses(const Job& job);

  /// @pre 0 <= stage < pipeline, 0 <= chunk < chunks of the schedule.
  [[nodiscard]] LivePasses at(int stage, int chunk) const;

 private:
  ScheduleShape shape_;
  std::shared_ptr<const std::vector<LivePasses>> lives_;  ///< by stage * chunks + chunk
  bool all_whole_ = false;
  int delayed_ = 0;  ///< micro-batches that wait for the vocabulary
};

}  // namespace foretrain
