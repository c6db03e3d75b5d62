// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/provenance.hpp"
#include "models/base/quantity.hpp"
#include "models/inputs/device.hpp"
#include "models/inputs/profile.hpp"

namespace foretrain {

/// One matrix product C[m,n] += A[m,k] B[k,n], `batch` times over.
struct Gemm {
  double m = 0.0;
  double n = 0.0;
  double k = 0.0;
  double batch = 1.0;

  [[nodiscard]] Flop flop() const { return Flop{2.0 * m * n * k * batch}; }
  /// The product that gives the gradient of A: the same work, k and n exchanged.
  [[nodiscard]] Gemm data_gradient() const { return {m, k, n, batch}; }
  /// The product that gives the gradient of B: depth is the token dimension.
  [[nodiscard]] Gemm weight_gradient() const { return {n, k, m, batch}; }
};

/// The device a kernel runs on: datasheet and what was measured of it.
struct KernelDevice {
  const Device& device;
  const DeviceProfile& profile;
  Precision precision;
  /// One kernel run again and again, as benchmarks do, in place of hours of training: a short one
  /// keeps the highest clock, see KernelsAlone::boost.
  bool alone = false;
};

/// True when the profile holds what pricing matrix products in this precision needs.
[[nodiscard]] bool has_gemm_profile(const KernelDevice& on);

/// What every product on a device in one precision is priced from, looked up once.
struct GemmRates {
  double rate;  ///< FLOP/s of a long full wave of large tiles
  double processors;
  double slower;  ///< 128 x 128 tiles against large ones
  double ramp_k;
  double in;          ///< bytes per operand element
  double out;         ///< bytes per result element
  double byte_time;   ///< seconds per byte of memory traffic
  double launch;      ///< seconds
  double boost;       ///< seconds, of a kernel alone; 0: one clock
  double long_clock;  ///< of a kernel alone for much longer than `boost`
  bool splits;        ///< depth may be cut where tiles leave multiprocessors idle
};
/// @pre has_gemm_profile(on)
[[nodiscard]] GemmRates gemm_rates(const KernelDevice& on);

/// Time that the multiprocessors compute, without memory traffic and launch. @pre as gemm_time()
[[nodiscard]] Seconds gemm_compute_time(const Gemm& gemm, const GemmRates& rates);

/// The larger of two times, nearly, without a kink where they meet: (a^6 + b^6)^(1/6).
[[nodiscard]] double smooth_max(double a, double b);

/// Duration of a matrix product on the best of six tile shapes: whole waves of tiles over the
/// multiprocessors, each tile paying ramp_k extra depth; where the tiles do not fill the device,
/// the depth may be split; combined by a 6-norm with the time to move the operands through memory,
/// plus a launch floor. models/kernels/README.md, "GEMM".
/// @pre m, n, k, batch >= 1 and has_gemm_profile(on).
[[nodiscard]] Seconds gemm_time(const Gemm& gemm, const KernelDevice& on);

/// Operands and result moved once: the least memory traffic of a product, as gemm_time() has it.
[[nodiscard]] Bytes gemm_traffic(const Gemm& gemm, Precision precision);

/// A linear layer's product in its three passes: `gemm`, and what gives the gradients of A and B.
struct GemmPasses {
  Seconds forward;
  Seconds data_gradient;
  Seconds weight_gradient;
};
[[nodiscard]] GemmPasses gemm_pass_times(const Gemm& gemm, const KernelDevice& on);

/// Products of `batch` groups with operands of their own, as libraries run the experts of a rank:
/// one launch after another on a few streams. models/kernels/README.md, "GEMM".
/// @pre as gemm_time()
[[nodiscard]] Seconds grouped_gemm_time(const Gemm& gemm, const KernelDevice& on);
[[nodiscard]] GemmPasses grouped_pass_times(const Gemm& gemm, const KernelDevice& on);

/// Attention of `batch` sequences, `heads` query heads on this rank.
struct AttentionWork {
  double batch = 1.0;
  double heads = 1.0;
  double query_length = 0.0;  ///< query tokens on this rank
  double key_length = 0.0;    ///< keys that they see at most
  double head_dim = 128.0;    ///< of queries and keys
  double value_dim = 128.0;

  /// Forward FLOPs with the causal half counted; the backward pass does 2.5 times as many
  /// (FlashAttention-2, arXiv 2307.08691 section 4.1).
  [[nodiscard]] Flop causal_forward_flop() const {
    return Flop{batch * heads * query_length * key_length * (head_dim + value_dim)};
  }
};

struct PassTimes {
  Seconds forward;
  Seconds backward;
};

/// Fused attention of a stack by a library on a device, against AttentionProfile::rate, which is
/// the vendor's in training: FlashAttention-2's own rate, and FlashAttention-3's by how the two run
/// alone. A rate that was not measured counts as the vendor's.
[[nodiscard]] double flash_factor(const StackTimes& stack, AttentionLibrary library,
                                  const DeviceProfile& device);

/// Fused attention; `factor` is that of flash_factor().
/// models/kernels/README.md, "Attention".
[[nodiscard]] PassTimes flash_attention_time(const AttentionWork& work, const KernelDevice& on,
                                             double factor);

/// Fused attention run alone: the forward pass, with `backward` both passes.
/// @pre the profile has a rate of that library for it (see has_attention_alone)
[[nodiscard]] Seconds flash_attention_alone(const AttentionWork& work, const KernelDevice& on,
                                            AttentionLibrary library, bool backward);
[[nodiscard]] bool has_attention_alone(const DeviceProfile& profile, AttentionLibrary library);

/// Unfused attention: two batched products per pass direction and the traffic of the score matrix.
[[nodiscard]] PassTimes unfused_attention_time(const AttentionWork& work, const KernelDevice& on,
                                               const StackTimes& stack);

/// A kernel that is bound by memory traffic.
[[nodiscard]] Seconds streaming_time(Bytes traffic, const KernelDevice& on);

/// A time with its P10 to P90.
struct TimeBand {
  Seconds low;
  Seconds high;
  Trust trust = Trust::measured;  ///< of the constants, and whether they were fitted in this range
};

/// Band of a matrix product that takes `time`: the residuals of the benchmarks of this device and
/// precision; wider (root of squares) where the profile is extrapolated or from the datasheet,
/// where no benchmark was fitted, and outside the sizes that were. models/forecast/README.md,
/// "Band".
[[nodiscard]] TimeBand gemm_band(const Gemm& gemm, Seconds time, const KernelDevice& on);

/// The same for fused attention alone.
[[nodiscard]] TimeBand attention_band(const AttentionWork& work, Seconds time,
                                      const KernelDevice& on);

/// The same for kernels that stream through memory.
[[nodiscard]] TimeBand streaming_band(Bytes traffic, Seconds time, const KernelDevice& on);

}  // namespace foretrain
