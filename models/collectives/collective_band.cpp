// SPDX-License-Identifier: Apache-2.0
#include "models/collectives/collective_band.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain {
namespace {

// Measured over predicted, P10 and P90 over the points of nccl_sweeps.csv: calls that latency
// rules, and those that bandwidth does.
constexpr ResidualBand inside_small{0.91, 1.15};
constexpr ResidualBand inside_large{0.93, 1.14};
constexpr ResidualBand between_small{0.90, 1.23};
constexpr ResidualBand between_large{0.90, 1.21};
constexpr Bytes large = 1.0 * MiB;

constexpr double extrapolated = 0.15;  // share of the time, per layer of constants
constexpr double datasheet = 0.30;
constexpr double per_apart = 2.0;     // libraries change with generations more than kernels do
constexpr double most_hosts = 128.0;  // of the sweeps
constexpr double per_doubling = 0.05;
constexpr int most_in_a_domain = 8;

double part(Trust trust) {
  if (trust == Trust::extrapolated) return extrapolated;
  return trust == Trust::datasheet ? datasheet : 0.0;
}

}  // namespace

TimeBand collective_band(CollectiveOp op, const CommGroup& group, Bytes payload, Seconds time,
                         const CollectivePath& path) {
  const bool between = group.domains() > 1;
  const bool big = payload >= large;
  ResidualBand residual = big ? inside_large : inside_small;
  if (between) residual = big ? between_large : between_small;
  const Trust device = path.device.provenance.trust;
  const double generations = device == Trust::extrapolated ? per_apart * path.device.apart : 0.0;
  const Trust fabric = between ? path.cluster.network.provenance.trust : Trust::measured;
  const double outside = std::max(0.0, std::log2(group.domains() / most_hosts)) * per_doubling;
  // Broadcast, reduce and point-to-point were measured at a few sizes only.
  const bool swept = op == CollectiveOp::all_reduce || op == CollectiveOp::all_gather ||
                     op == CollectiveOp::reduce_scatter || op == CollectiveOp::all_to_all;
  // No domain of several hosts was swept when the constants were fitted.
  const bool wide = !between && group.domain_hosts > 1 && group.ranks > most_in_a_domain;
  const double thin = (swept ? 0.0 : extrapolated) + (wide ? extrapolated : 0.0);
  const double extra = part(device) * part(device) + part(fabric) * part(fabric) +
                       generations * generations + outside * outside + thin * thin;
  const auto widened = [extra](double side) { return std::sqrt(side * side + extra); };
  TimeBand band;
  band.low = time / (1.0 + widened(1.0 / residual.low - 1.0));
  band.high = time * (1.0 + widened(residual.high - 1.0));
  band.trust = std::max(device, fabric);
  if (!swept) band.trust = std::max(band.trust, Trust::interpolated);
  if (outside > 0.0 || wide) band.trust = std::max(band.trust, Trust::extrapolated);
  return band;
}

}  // namespace foretrain
