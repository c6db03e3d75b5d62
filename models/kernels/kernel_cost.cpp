// SPDX-License-Identifier: Apache-2.0

#include "models/kernels/kernel_cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "models/base/require.hpp"
#include "models/inputs/recipe.hpp"

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

double smooth_max(double a, double b) {
  const double larger = std::max(a, b);
  if (larger <= 0.0) return 0.0;
  const double ratio = std::min(a, b) / larger;
  const double cube = ratio * ratio * ratio;
  const double sixth = cube * cube;
  // Most products are far from either bound: a series to 1e-13 in place of two roots.
  constexpr double small = 1e-3;
  if (sixth < small)
    return larger * (1.0 + sixth * (1.0 / 6.0 - sixth * (5.0 / 72.0 - sixth * (55.0 / 1296.0))));
  return larger * std::cbrt(std::sqrt(1.0 + sixth));
}

namespace {

struct Tile {
  double rows;
  double columns;
  double rate;  ///< relative to GemmProfile::tile_128 where that applies, see gemm_compute_seconds
};

// Tile shapes of the vendor's kernels, largest first. The two large ones run at full rate.
constexpr std::array<Tile, 6> tiles{{{256, 128, 1.0},
                                     {128, 256, 1.0},
                                     {128, 128, 1.0},
                                     {64, 128, 0.8},
                                     {64, 64, 0.6},
                                     {32, 64, 0.4}}};
constexpr double large_tile = 256.0 * 128.0;
constexpr double ramp_length = 512.0;  // key length at which attention reaches half its rate
constexpr double query_tile = 128.0;
constexpr double small_head_dim = 64.0;
constexpr double backward_over_forward = 2.5;
constexpr double tensor_core_width = 8.0;  // 16-bit elements of one wide load

double gemm_bytes(const Gemm& gemm, double in, double out) {
  return gemm.batch * (in * (gemm.m * gemm.k + gemm.k * gemm.n) + out * gemm.m * gemm.n);
}

}  // namespace

GemmRates gemm_rates(const KernelDevice& on) {
  const auto found = on.profile.gemm.find(on.precision);
  FORETRAIN_REQUIRE(found != on.profile.gemm.end());
  const GemmProfile& profile = found->second;
  const double peak = on.device.peak_of(on.precision).value();
  FORETRAIN_REQUIRE(peak > 0.0 && on.device.multiprocessors > 0);
  return {peak * profile.efficiency * (on.alone ? 1.0 : profile.sustained),
          static_cast<double>(on.device.multiprocessors),
          1.0 / profile.tile_128,
          profile.ramp_k,
          operand_bytes(on.precision),
          result_bytes(on.precision),
          streaming_time(Bytes{1.0}, on).value(),
          profile.launch.value(),
          on.alone ? on.profile.alone.boost.value() : 0.0,
          on.profile.alone.long_clock,
          on.alone};
}

namespace {

/// std::ceil for counts, without a library call: a plan search prices millions of products.
inline double whole(double count) {
  const auto below = static_cast<double>(static_cast<std::int64_t>(count));
  return below < count ? below + 1.0 : below;
}

// Where the tiles leave multiprocessors idle, libraries cut the depth into this many parts (never
// shorter than `least_depth`) and add the partial sums, in single precision, in a second kernel.
// Only in forecasts of kernels alone: the stacks' constants describe steps without it.
constexpr std::array<double, 9> depth_splits{{2, 3, 4, 5, 6, 8, 10, 12, 16}};
constexpr double least_depth = 1024.0;
constexpr double partial_bytes = 8.0;  // written and read again

/// Seconds that the multiprocessors compute, with the best tile shape and split.
double gemm_compute_seconds(const Gemm& gemm, const GemmRates& on) {
  const double result = gemm.batch * gemm.m * gemm.n;
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : tiles) {
    const double area = tile.rows * tile.columns;
    const double relative = area >= large_tile ? 1.0 : on.slower / tile.rate;
    const double per_depth = area * relative * on.processors * 2.0 / on.rate;
    const double count = whole(gemm.m / tile.rows) * whole(gemm.n / tile.columns) * gemm.batch;
    best = std::min(best, whole(count / on.processors) * per_depth * (gemm.k + on.ramp_k));
    if (count >= on.processors || !on.splits) continue;
    for (const double parts : depth_splits) {
      const double depth = gemm.k / parts;
      if (depth < least_depth) break;
      best = std::min(best, whole(count * parts / on.processors) * per_depth * (depth + on.ramp_k) +
                                partial_bytes * parts * result * on.byte_time + on.launch);
    }
  }
  return best;
}

// Streams that a library launches the products of a group on (Transformer Engine's
// cublaslt_gemm.cu, nvte_multi_tensor_gemm: four).
constexpr double group_streams = 4.0;

/// Seconds that the multiprocessors compute `batch` products that are launched one after another:
/// what each alone would leave idle in its last wave is filled by its neighbours on other streams.
double grouped_compute_time(const Gemm& gemm, const GemmRates& on) {
  double together = std::numeric_limits<double>::infinity();
  double apart = together;
  for (const Tile& tile : tiles) {
    const double area = tile.rows * tile.columns;
    const double relative = area >= large_tile ? 1.0 : on.slower / tile.rate;
    const double wave = area * relative * on.processors * 2.0 / on.rate * (gemm.k + on.ramp_k);
    const double each = whole(gemm.m / tile.rows) * whole(gemm.n / tile.columns);
    together = std::min(together, whole(each * gemm.batch / on.processors) * wave);
    apart = std::min(apart, gemm.batch * whole(each / on.processors) * wave);
  }
  return together + std::max(0.0, apart - together) / group_streams;
}

/// The same for a kernel alone: the longer it runs, the more the power limit takes of its clock.
double with_boost(double time, const GemmRates& on) {
  if (on.boost <= 0.0) return time;
  return time / (1.0 - (1.0 - on.long_clock) * time / (time + on.boost));
}

Seconds grouped_time_on(const GemmRates& on, const Gemm& gemm) {
  FORETRAIN_REQUIRE(gemm.m >= 1 && gemm.n >= 1 && gemm.k >= 1 && gemm.batch >= 1);
  const double bytes = gemm_bytes(gemm, on.in, on.out);
  const double compute = with_boost(grouped_compute_time(gemm, on), on);
  return Seconds{smooth_max(compute, bytes * on.byte_time)} +
         std::max(1.0, gemm.batch / group_streams) * Seconds{on.launch};
}

Seconds gemm_time_on(const GemmRates& on, const Gemm& gemm) {
  FORETRAIN_REQUIRE(gemm.m >= 1 && gemm.n >= 1 && gemm.k >= 1 && gemm.batch >= 1);
  const double bytes = gemm_bytes(gemm, on.in, on.out);
  return Seconds{smooth_max(with_boost(gemm_compute_seconds(gemm, on), on), bytes * on.byte_time)} +
         Seconds{on.launch};
}

}  // namespace

Seconds gemm_compute_time(const Gemm& gemm, const GemmRates& rates) {
  return Seconds{gemm_compute_seconds(gemm, rates)};
}

Bytes gemm_traffic(const Gemm& gemm, Precision precision) {
  return Bytes{gemm_bytes(gemm, operand_bytes(precision), result_bytes(precision))};
}

bool has_gemm_profile(const KernelDevice& on) {
  return on.profile.gemm.contains(on.precision) &&
         on.device.peak_of(on.precision) > FlopPerSecond{} && on.device.multiprocessors > 0;
}

Seconds gemm_time(const Gemm& gemm, const KernelDevice& on) {
  return gemm_time_on(gemm_rates(on), gemm);
}

GemmPasses gemm_pass_times(const Gemm& gemm, const KernelDevice& on) {
  const GemmRates device = gemm_rates(on);
  return {gemm_time_on(device, gemm), gemm_time_on(device, gemm.data_gradient()),
          gemm_time_on(device, gemm.weight_gradient())};
}

Seconds grouped_gemm_time(const Gemm& gemm, const KernelDevice& on) {
  return grouped_time_on(gemm_rates(on), gemm);
}

GemmPasses grouped_pass_times(const Gemm& gemm, const KernelDevice& on) {
  const GemmRates device = gemm_rates(on);
  return {grouped_time_on(device, gemm), grouped_time_on(device, gemm.data_gradient()),
          grouped_time_on(device, gemm.weight_gradient())};
}

double flash_factor(const StackTimes& stack, AttentionLibrary library,
                    const DeviceProfile& device) {
  const FlopPerSecond none{};
  const AttentionProfile& training = device.attention;
  const AttentionKernels& alone = device.alone.attention;
  double over_vendor = 1.0;
  if (library == AttentionLibrary::flash2 && training.flash2_rate > none)
    over_vendor = training.flash2_rate / training.rate;
  if (library == AttentionLibrary::flash3 && alone.flash3 > none && alone.vendor > none)
    over_vendor = alone.flash3 / alone.vendor;
  return stack.flash_factor * over_vendor;
}

PassTimes flash_attention_time(const AttentionWork& work, const KernelDevice& on, double factor) {
  FORETRAIN_REQUIRE(work.query_length >= 1 && work.key_length >= 1 && factor > 0);
  const AttentionProfile& profile = on.profile.attention;
  FORETRAIN_REQUIRE(profile.rate > FlopPerSecond{});
  const double query_tiles = work.batch * work.heads * std::ceil(work.query_length / query_tile);
  double share = work.key_length / (work.key_length + ramp_length);
  share *= query_tiles / (query_tiles + profile.tiles_half);
  if (work.head_dim <= small_head_dim) share *= profile.small_head;
  const Seconds forward = work.causal_forward_flop() / (profile.rate * (share * factor));
  return {forward, backward_over_forward * forward};
}

namespace {

FlopPerSecond rate_alone(const AttentionKernels& kernels, AttentionLibrary library) {
  switch (library) {
    case AttentionLibrary::flash3:
      return kernels.flash3;
    case AttentionLibrary::vendor:
      return kernels.vendor;
    case AttentionLibrary::flash2:
      return kernels.flash2;
    case AttentionLibrary::stack:
      break;
  }
  return {};
}

}  // namespace

bool has_attention_alone(const DeviceProfile& profile, AttentionLibrary library) {
  return rate_alone(profile.alone.attention, library) > FlopPerSecond{};
}

Seconds flash_attention_alone(const AttentionWork& work, const KernelDevice& on,
                              AttentionLibrary library, bool backward) {
  FORETRAIN_REQUIRE(work.query_length >= 1 && work.key_length >= 1);
  const AttentionKernels& kernels = on.profile.alone.attention;
  FORETRAIN_REQUIRE(has_attention_alone(on.profile, library));
  const double query_tiles = work.batch * work.heads * std::ceil(work.query_length / query_tile);
  double share = work.key_length / (work.key_length + kernels.length_half);
  share *= query_tiles / (query_tiles + kernels.tiles_half);
  if (work.head_dim <= small_head_dim) share *= kernels.small_head;
  const FlopPerSecond rate = rate_alone(kernels, library) * share;
  if (!backward) return work.causal_forward_flop() / rate;
  return (1.0 + backward_over_forward) * work.causal_forward_flop() / (rate * kernels.flash2_both);
}

PassTimes unfused_attention_time(const AttentionWork& work, const KernelDevice& on,
                                 const StackTimes& stack) {
  const double batch = work.batch * work.heads;
  const Gemm scores{work.query_length, work.key_length, work.head_dim, batch};
  const Gemm values{work.query_length, work.value_dim, work.key_length, batch};
  const double elements = batch * work.query_length * work.key_length;
  const bool aligned = std::fmod(work.head_dim, tensor_core_width) == 0.0;
  const double slower = aligned ? 1.0 : on.profile.attention.misaligned;
  const Seconds forward = slower * (gemm_time(scores, on) + gemm_time(values, on));
  const Seconds backward =
      slower * (gemm_time(scores.data_gradient(), on) + gemm_time(scores.weight_gradient(), on) +
                gemm_time(values.data_gradient(), on) + gemm_time(values.weight_gradient(), on));
  return {forward + streaming_time(Bytes{stack.score_forward_bytes * elements}, on),
          backward + streaming_time(Bytes{stack.score_backward_bytes * elements}, on)};
}

Seconds streaming_time(Bytes traffic, const KernelDevice& on) {
  FORETRAIN_REQUIRE(on.profile.memory_efficiency > 0);
  return traffic / (on.device.memory_bandwidth * on.profile.memory_efficiency);
}

}  // namespace foretrain
