// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/base/prediction.hpp"
#include "models/base/quantity.hpp"
#include "models/serving/deployment.hpp"

namespace foretrain {

/// Cache of a layer form on one GPU.
struct LayerCache {
  double bytes_per_token = 0.0;     ///< of every token, or of those in the window
  double bytes_per_sequence = 0.0;  ///< states of state-space and delta mixers, whatever the length
  int window = 0;                   ///< tokens that are kept at most; 0: all
  int layers = 0;                   ///< of the stage
};

/// What sequences keep on one GPU, of the stage that keeps most.
struct CacheSize {
  std::vector<LayerCache> layers;
  Bytes weights;    ///< of the heaviest GPU
  Bytes available;  ///< for the cache of one GPU, after weights, graphs and workspace
  int block_tokens = 1;

  /// Of a sequence of `tokens`, in whole blocks.
  [[nodiscard]] Bytes sequence(double tokens) const;
  /// Bytes of one more token far behind all windows.
  [[nodiscard]] double bytes_per_token() const;
  /// Sequences of `tokens` that one attention group holds at once; of a replica attention_data
  /// times as many.
  [[nodiscard]] double sequences(double tokens) const;
  /// Tokens of one sequence alone that fit; 0: weights alone do not.
  [[nodiscard]] double longest() const;
};

/// Exact bytes: keys and values of grouped-query attention 2 x heads x width, of latent attention
/// one latent vector with its rotary key on every tensor rank, of windows the window alone.
/// models/serving/README.md, "Memory".
[[nodiscard]] CacheSize cache_size(const Deployment& deployment);

/// Weights, cache for `sequences` of `tokens` each, graphs and workspace as rows, and whether all
/// of it fits, of the heaviest GPU.
struct ServingMemory {
  std::vector<MemoryRow> rows;
  Bytes need;
  Bytes usable;

  [[nodiscard]] bool fits() const { return need <= usable; }
};
[[nodiscard]] ServingMemory serving_memory(const Deployment& deployment, double sequences,
                                           double tokens);

}  // namespace foretrain
