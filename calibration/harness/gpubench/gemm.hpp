// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "calibration/harness/common/gemm_shapes.hpp"
#include "calibration/harness/gpubench/cuda.hpp"

namespace foretrain::harness {

/// How far sampled outputs are from sums taken in double precision, as a share of what rounding of
/// inputs, sums and outputs allows. At most 1 is right.
struct GemmCheck {
  int samples = 0;
  double worst = 0.0;
};

/// One matrix product through cuBLASLt with the algorithm that its heuristic ranks first, on
/// random data.
class Gemm {
 public:
  /// @throws CudaError where memory runs out or cuBLASLt has no algorithm.
  explicit Gemm(const GemmCase& what);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  void run(cudaStream_t stream) const;
  [[nodiscard]] GemmCheck verify(cudaStream_t stream) const;
  [[nodiscard]] double flops() const;
  /// Bytes of both operands and the result.
  [[nodiscard]] double bytes() const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace foretrain::harness
