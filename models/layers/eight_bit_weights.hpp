// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"
#include "models/layers/parameters.hpp"

namespace foretrain {

/// Parameters of a rank whose weights rest in 8 bits (memory.fp8_parameters).
struct EightBitWeights {
  double dense = 0.0;
  double experts = 0.0;
};

/// The linear layers' weights of a quantised training that keeps no 16-bit copy of them, but for
/// the layers that compute in bf16, which are taken as spread over all stages; else none.
/// models/layers/README.md, "Time of a layer", Quantised training.
[[nodiscard]] EightBitWeights eight_bit_weights(const Job& job, const RankParameters& parameters);

/// A rank's weights as the ranks that share them gather them after an optimizer step.
struct WeightBytes {
  Bytes dense;
  Bytes experts;

  [[nodiscard]] Bytes total() const { return dense + experts; }
};

/// Two bytes per parameter, those of the recipe where weights are kept and travel in 8 bits.
[[nodiscard]] WeightBytes gathered_weight_bytes(const Job& job, const RankParameters& parameters);

/// Share of the 16 bits of a linear layer's weight that gathers of shards (ZeRO-3, FSDP) leave out:
/// with memory.fp8_parameters every rank casts its shard, and what travels is the recipe's element
/// (torchao's enable_fsdp_float8_all_gather). 0: they travel in 16 bits.
[[nodiscard]] double narrower_shards(const Job& job);

/// Why a job that asks for weights in 8 bits is not modelled; nothing where it is.
[[nodiscard]] std::optional<Infeasible> refuse_eight_bit_weights(const Job& job);

}  // namespace foretrain
