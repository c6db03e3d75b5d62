// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/inputs/job.hpp"

namespace foretrain {

/// What a record says in words, as values of a job. A word that is not known is a reason to refuse
/// the record, never a default.

struct RecordPrecision {
  Precision precision = Precision::bf16;
  Fp8Scaling scaling = Fp8Scaling::tensor;
  bool pure = false;                     ///< weights, gradients and states in 16 bits
  std::vector<std::string> assumptions;  ///< what the words leave open
  std::string why;                       ///< that it is not modelled; empty: it is
};

/// @param eight_bits whether the device has fp8: then a precision that is not stated is refused.
[[nodiscard]] RecordPrecision record_precision(const std::string& words, bool eight_bits);

/// The scales of an fp8 run whose record says tensor, current, row or block, where its precision
/// says no more than fp8.
/// @return false where the word is none of these
[[nodiscard]] bool add_scaling(const std::string& word, RecordPrecision& told);

struct RecordRecompute {
  RecomputeKind kind = RecomputeKind::none;
  LayerModules modules{.core_attention = true};
  bool every_second_matmul = false;
  bool stated = true;  ///< false: nothing is said, or only that a part is recomputed
  std::string why;     ///< that it is not modelled; empty: it is
};

[[nodiscard]] RecordRecompute record_recompute(const std::string& words);

/// Layers differ in their mixers, which a record's own numbers do not say.
[[nodiscard]] bool is_hybrid_architecture(const std::string& architecture);

/// Why models of this architecture are not modelled; empty where they are. An architecture that is
/// not stated is taken as a transformer.
[[nodiscard]] std::string refused_architecture(const std::string& architecture);

}  // namespace foretrain
