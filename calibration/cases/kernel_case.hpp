// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "calibration/records/measured_data.hpp"
#include "models/base/quantity.hpp"
#include "models/inputs/device.hpp"
#include "models/kernels/kernel_cost.hpp"

namespace foretrain {

/// A measured matrix product.
struct GemmCase {
  Gemm gemm;
  bool quantises = false;  ///< the time includes bringing the 16-bit operand A to the format
  bool looped = false;     ///< products of the batch are launches of their own, as of experts
};

/// A measured fused attention.
struct AttentionCase {
  AttentionWork work;
  double kv_heads = 0.0;
  bool forward = true;
  bool backward = false;
  AttentionLibrary library = AttentionLibrary::flash2;
  bool fills_cache = false;  ///< the time includes writing keys and values to an inference cache
};

/// A measured kernel that is bound by memory.
struct StreamCase {
  Bytes traffic;
};

/// A measured kernel as the cost models see it.
struct KernelCase {
  std::string device;  ///< catalog name
  std::string kind;    ///< "gemm bf16", "flash attention", "streaming": what is summarised together
  Precision precision = Precision::bf16;
  std::variant<GemmCase, AttentionCase, StreamCase> work;
  Seconds measured;
};

/// A row as a kernel, or why it cannot be one.
struct MappedKernel {
  std::optional<KernelCase> kernel;
  std::string why;
  std::vector<std::string> assumptions;
};

[[nodiscard]] MappedKernel map_kernel(const KernelRecord& record);

/// What aiconfigurator's timings of inference kernels hold besides the kernel that training runs as
/// well: passes over memory at the datasheet's bandwidth, and fixed times.
struct InferenceExtras {
  /// Bringing A[m,k] from 16 bits to a format with scales of its own.
  struct Quantising {
    double bytes = 0.0;  ///< per element
    Seconds fixed;
  };
  Quantising fp8;
  Quantising nvfp4;
  double cache_passes = 0.0;  ///< over keys and values, to write them to the cache
  double query_passes = 0.0;  ///< over queries and results
  Seconds cache_fixed;
};
/// A format's own. @pre it is fp8 or nvfp4; of others there are no such benchmarks.
[[nodiscard]] InferenceExtras::Quantising InferenceExtras::*quantising_of(Precision precision);
/// As fit_kernels() gives them on measured/kernels.csv, which a test repeats. They belong to those
/// benchmarks, not to a device, so that no profile holds them: check_kernels() alone prices with
/// them.
[[nodiscard]] InferenceExtras inference_extras();

/// Time of a kernel run again and again alone, as benchmarks measure it.
/// @param extras  what the benchmark holds besides; none: InferenceExtras{}
/// @pre the profile has the kernel's precision, or its library's rate of attention alone
[[nodiscard]] Seconds kernel_time(const KernelCase& kernel, const Device& device,
                                  const DeviceProfile& profile, const InferenceExtras& extras);

}  // namespace foretrain
