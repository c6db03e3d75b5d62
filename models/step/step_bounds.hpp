// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/memo.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// What one micro-batch takes through a piece of the model.
struct PassSeconds {
  Seconds forward;
  Seconds backward;
};

/// Times that steps are not below, from the passes of layers alone: a first look at many plans of
/// one job, which least_step_seconds() takes closer and step_seconds() at last. Times of a layer
/// are kept by the sizes that cut it, micro-batch and recomputation, half a megabyte in all. Plans
/// may differ as those of MemoryNeeds; clear() when anything else changes.
class StepBounds {
 public:
  /// All passes of the busiest stage after the first activation's way to it, and, where backward
  /// passes are whole, before the last gradient's way back; transfers and exchanges between
  /// replicas take no time. 0 where stages hold those of others, and where layers of one kind
  /// differ.
  /// @pre the plan is legal and modelled
  [[nodiscard]] Seconds least(const Job& job, const StageLayout& layout);
  void clear() { layers_.clear(); }

 private:
  struct Pieces {
    PassSeconds embedding;
    PassSeconds head;
    std::array<PassSeconds, layer_forms> layers;  ///< by form_index()
    std::array<PassSeconds, layer_forms> again;   ///< forward passes run again
  };

  [[nodiscard]] const Pieces& pieces(const Job& job);
  static Pieces price(const Job& job);
  static PassSeconds chunk(const Job& job, const ChunkLayers& layers, const Pieces& pieces);

  Memo<12, Pieces, 2048> layers_;
};

}  // namespace foretrain
