// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/device.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Bytes of an operand's element in a product, with its share of the scales.
[[nodiscard]] double operand_bytes(Precision precision);
/// Bytes of an element of a product's result.
[[nodiscard]] double result_bytes(Precision precision);
/// Linear layers multiply in less than 16 bits, everything else computes in bf16.
[[nodiscard]] bool quantised(Precision precision);

/// How a training brings the operands of its linear layers below 16 bits: what memory, casts and
/// exchanges have to know of it. Attention, router, embedding, output layer and loss stay in 16
/// bits in all of them. Sources: models/inputs/README.md, "Recipes".
struct Recipe {
  Precision products = Precision::bf16;  ///< of linear layers, forward and backward
  /// Less than 16 bits; false leaves the rest of this without a meaning.
  bool quantised = false;
  double element = 2.0;      ///< bytes of a cast element in one layout, scales included
  double scale_reads = 0.0;  ///< bytes per element that finding its scale reads before the cast
  /// Layouts that the three products need of an operand: two where they read along one dimension
  /// only, or where the scales of the other dimension are others.
  int layouts = 1;
  bool turns = false;    ///< the second layout follows from the first
  bool gathers = false;  ///< tensor-parallel ranks gather operands cast
  /// Weights that are kept cast (memory.fp8_parameters) travel so; else in 16 bits, as the cast
  /// follows the gather.
  bool weights_travel = false;
  bool keeps_weights = false;  ///< frameworks can keep weights cast only

  /// Bytes of a weight's element as products need it.
  [[nodiscard]] double weight_copies() const { return layouts * element; }
  /// Bytes that casting an element moves at least, into all layouts.
  [[nodiscard]] double cast() const { return scale_reads + 2.0 + layouts * element; }
};

/// The recipe of a training on a device of that architecture. Hopper's tensor cores read 8-bit
/// operands along the depth only, so that gradients need them transposed; Blackwell's do not.
[[nodiscard]] Recipe recipe_of(const Training& training, Architecture architecture);
[[nodiscard]] Recipe recipe_of(const Job& job);

/// Layers at both ends of the model that a quantised training computes in bf16, else none.
[[nodiscard]] int bf16_end_layers(const Training& training);

/// A way to recompute as two numbers, for tables by axes: equal for equal ways, and for them alone.
struct RecomputeKey {
  int way = 0;
  int modules = 0;
};

[[nodiscard]] RecomputeKey recompute_key(const Recompute& recompute);

}  // namespace foretrain
