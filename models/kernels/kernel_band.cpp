// SPDX-License-Identifier: Apache-2.0
#include "models/kernels/kernel_band.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain {
namespace {

// Shares of the time that are added where an input was not measured. models/forecast/README.md,
// "Band".
constexpr double no_benchmark = 0.15;
constexpr double extrapolated_device = 0.10;
constexpr double datasheet_device = 0.20;
constexpr double per_decade = 0.10;  // beyond the fitted sizes

/// Sizes that the benchmarks of calibration/measured/kernels.csv span.
struct Range {
  double least;
  double most;
};
constexpr Range gemm_flop{6.7e7, 1.8e13};
constexpr Range attention_flop{2.6e8, 2e13};
constexpr Range streaming_bytes{1e6, 1e11};

double decades_outside(double value, const Range& range) {
  if (value < range.least) return std::log10(range.least / value);
  if (value > range.most) return std::log10(value / range.most);
  return 0.0;
}

double device_part(const DeviceProfile& profile) {
  const Trust trust = profile.provenance.trust;
  if (trust == Trust::extrapolated) return std::hypot(extrapolated_device, profile.apart);
  return trust == Trust::datasheet ? datasheet_device : 0.0;
}

TimeBand band_of(Seconds time, const ResidualBand& residual, double outside,
                 const DeviceProfile& profile) {
  const Trust trust = profile.provenance.trust;
  const bool known = residual.low < 1.0 || residual.high > 1.0;
  const double device = device_part(profile);
  const double none = known ? 0.0 : no_benchmark;
  const double range = per_decade * outside;
  const double extra = device * device + none * none + range * range;
  const auto widened = [extra](double part) { return std::sqrt(part * part + extra); };
  TimeBand band;
  band.low = time / (1.0 + widened(std::max(0.0, 1.0 / residual.low - 1.0)));
  band.high = time * (1.0 + widened(std::max(0.0, residual.high - 1.0)));
  band.trust = trust;
  if (!known) band.trust = std::max(trust, Trust::interpolated);
  if (outside > 0.0) band.trust = std::max(trust, Trust::extrapolated);
  return band;
}

}  // namespace

TimeBand gemm_band(const Gemm& gemm, Seconds time, const KernelDevice& on) {
  return band_of(time, on.profile.alone.gemm_band, decades_outside(gemm.flop().value(), gemm_flop),
                 on.profile);
}

TimeBand attention_band(const AttentionWork& work, Seconds time, const KernelDevice& on) {
  return band_of(time, on.profile.alone.attention_band,
                 decades_outside(work.causal_forward_flop().value(), attention_flop), on.profile);
}

TimeBand streaming_band(Bytes traffic, Seconds time, const KernelDevice& on) {
  return band_of(time, on.profile.alone.memory_band,
                 decades_outside(traffic.value(), streaming_bytes), on.profile);
}

}  // namespace foretrain
