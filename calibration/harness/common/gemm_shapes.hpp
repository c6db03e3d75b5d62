// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace foretrain::harness {

enum class NumberType : std::uint8_t { fp32, tf32, fp16, bf16, fp8 };
enum class GemmPass : std::uint8_t { forward, input_gradient, weight_gradient };

[[nodiscard]] std::string_view name(NumberType type);
[[nodiscard]] std::string_view name(GemmPass pass);

/// A matrix product of a linear layer, in its own words: `tokens` rows of `in` columns times the
/// layer's weights of `out` x `in`. m, n, k of the product follow from the pass.
struct LinearShape {
  std::int64_t tokens = 0;
  std::int64_t out = 0;
  std::int64_t in = 0;
  int batch = 1;  ///< independent products of this shape in one call

  friend bool operator==(const LinearShape&, const LinearShape&) = default;
};

/// m x n outputs, each a sum over k, of operands stored column by column as cuBLAS has them:
/// forward is TN (weights transposed), the input's gradient NN, the weights' gradient NT.
struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
};

[[nodiscard]] GemmShape gemm_shape(const LinearShape& linear, GemmPass pass);

struct GemmCase {
  LinearShape shape;
  GemmPass pass = GemmPass::forward;
  NumberType type = NumberType::bf16;

  friend bool operator==(const GemmCase&, const GemmCase&) = default;
};

/// One case per line: TOKENS OUT IN [BATCH] PASS TYPE, e.g. "8192 12288 4096 forward bf16"; blank
/// lines and lines that begin with # are left out.
/// @return the cases, or one sentence that names the line and what is wrong with it.
[[nodiscard]] std::variant<std::vector<GemmCase>, std::string> parse_cases(std::string_view text);

/// What is measured when nobody says: layers of models from 125M to 405B at tensor degrees 1 to 8,
/// a grid around tile edges, and small batched products; every beginning of the list is spread over
/// all of it, since a budget may cut it.
[[nodiscard]] std::vector<GemmCase> default_cases(const std::vector<NumberType>& types);

}  // namespace foretrain::harness
