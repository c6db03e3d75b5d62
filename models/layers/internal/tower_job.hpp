// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/job.hpp"

namespace foretrain::layer_detail {

/// The tower of a job as jobs of their own on one rank, whose micro-batch is that many images: of
/// patches in its layers, of tokens in its projectors.
struct TowerJob {
  /// @pre job.has_tower()
  explicit TowerJob(const Job& job);

  Job layers;
  Job projectors;
  bool trains_layers;
  bool trains_projectors;
  double share;  ///< images of the job's micro-batch over those of these jobs

  [[nodiscard]] bool trains() const { return trains_layers || trains_projectors; }
};

/// Layers of the tower whose forward pass runs again.
[[nodiscard]] int recomputed_tower_layers(const TowerJob& tower);

}  // namespace foretrain::layer_detail
