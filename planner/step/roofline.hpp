// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/base/quantity.hpp"
#include "models/inputs/job.hpp"
#include "models/layers/layer_operators.hpp"

namespace foretrain {

/// Kernel time of a step by what bounds it, summed over the stages and micro-batches of a replica;
/// recomputation not counted.
struct KernelShares {
  Seconds products;
  Seconds attention;
  Seconds streaming;  ///< bound by memory
  Flop product_flop;  ///< forward and both halves of the backward pass

  [[nodiscard]] Seconds total() const { return products + attention + streaming; }
};

/// @pre broken_rules(job) and not_modelled(job) are empty
[[nodiscard]] KernelShares kernel_shares(const Job& job);

struct Scene;
struct SceneSpace;

/// One kind of kernel of a step on one GPU.
struct RooflineKernel {
  std::string name;
  OperatorKind kind = OperatorKind::product;  ///< product, attention or streaming
  Precision precision = Precision::bf16;
  Flop flop;           ///< of one forward run; zero where none are counted
  Bytes bytes;         ///< that it moves at least
  Seconds time;        ///< of one forward run
  Seconds total;       ///< all its passes of a step, mean over the stages
  double share = 0.0;  ///< of the time of all kernels

  [[nodiscard]] FlopPerSecond rate() const { return flop / time; }
  [[nodiscard]] BytesPerSecond traffic() const { return bytes / time; }
  [[nodiscard]] double intensity() const { return flop.value() / bytes.value(); }
};

/// A ceiling of the device for one number format.
struct RooflineCeiling {
  Precision precision = Precision::bf16;
  FlopPerSecond peak;  ///< dense, datasheet
};

/// Kernels of a job between what the device can compute and what its memory can move.
struct Roofline {
  std::vector<RooflineCeiling> ceilings;  ///< of the formats that kernels use, the highest first
  BytesPerSecond bandwidth;               ///< datasheet
  std::vector<RooflineKernel> kernels;    ///< the largest share first

  /// What the device allows a kernel: the lower one of its ceiling and its intensity times the
  /// bandwidth.
  [[nodiscard]] FlopPerSecond bound(const RooflineKernel& kernel) const;
  [[nodiscard]] FlopPerSecond peak_of(Precision precision) const;
};

/// FLOPs and bytes are those that the cost model prices kernels by; exchanges are left out.
/// Recomputed runs count as runs.
/// @pre broken_rules(job) and not_modelled(job) are empty
[[nodiscard]] Roofline roofline(const Job& job);

/// Kernels under the roofs of the device: rate against FLOPs per byte, both logarithmic, a point as
/// large as the kernel's share of the time; beside it a list of all. @pre there is a kernel
[[nodiscard]] Scene roofline_chart(const Roofline& roofline, const std::string& device,
                                   const SceneSpace& space);
[[nodiscard]] std::string roofline_csv(const Roofline& roofline);

}  // namespace foretrain
