// SPDX-License-Identifier: Apache-2.0

#include "models/collectives/collective_cost.hpp"

#include <cmath>

#include "models/base/require.hpp"
#include "models/network/network_share.hpp"

namespace foretrain {
namespace {

BytesPerSecond scale_up_rate(const CollectivePath& path) {
  return path.cluster.host.gpu_link.bandwidth * path.device.inside.share;
}

/// What the NICs deliver per GPU: datasheet, large-message share, `site_share`, and the share that
/// the fabric leaves them.
BytesPerSecond nic_rate_per_gpu(double fabric_share, double site_share,
                                const CollectivePath& path) {
  return path.cluster.inter_host_bandwidth_per_gpu() * path.cluster.network.nic_link.achievable *
         site_share * fabric_share;
}

/// `passes` times (n-1) steps around the ring.
Seconds ring_time(const CommGroup& group, Bytes payload, double passes,
                  const CollectivePath& path) {
  FORETRAIN_REQUIRE(group.ranks >= 1 && group.ranks_per_domain >= 1);
  if (group.ranks == 1) return Seconds{};
  const double ranks = group.ranks;
  const double crossings = group.domains() - 1.0;
  const double local_steps = ranks - 1.0 - crossings;
  const CollectiveCost& level = crossings > 0 ? path.site.across : path.device.inside;
  const Network& network = path.cluster.network;
  const Seconds crossing = path.site.across.per_step + network.step_latency + network.path_latency;
  Seconds time = level.launch + level.ramp * std::sqrt(payload.value());
  if (group.ranks_per_domain > 1) time += path.site.wait;
  time += passes * (local_steps * path.device.inside.per_step + crossings * crossing);
  time += passes * ((ranks - 1.0) / ranks) * payload / bus_bandwidth(group, path);
  return time;
}

}  // namespace

BytesPerSecond bus_bandwidth(const CommGroup& group, const CollectivePath& path) {
  const BytesPerSecond inside = scale_up_rate(path);
  if (group.domains() == 1) return inside;
  const double fabric = shift_share(path.cluster, group.hosts_apart(), group.span_hosts);
  if (group.ranks_per_domain == 1) return nic_rate_per_gpu(fabric, path.site.lone_share, path);
  // The traffic that leaves a host is what its members' NICs carry together.
  const BytesPerSecond each = nic_rate_per_gpu(fabric, path.site.across.share, path);
  return min(inside, each * static_cast<double>(group.ranks_per_domain));
}

Seconds all_gather_time(const CommGroup& group, Bytes payload, const CollectivePath& path) {
  return ring_time(group, payload, 1.0, path);
}

Seconds reduce_scatter_time(const CommGroup& group, Bytes payload, const CollectivePath& path) {
  return ring_time(group, payload, 1.0, path);
}

Seconds all_reduce_time(const CommGroup& group, Bytes payload, const CollectivePath& path) {
  return ring_time(group, payload, 2.0, path);
}

Seconds all_to_all_time(const CommGroup& group, const AllToAllTraffic& traffic,
                        const CollectivePath& path) {
  if (group.ranks == 1) return Seconds{};
  const bool leaves = group.domains() > 1;
  const CollectiveCost& level = leaves ? path.site.across : path.device.inside;
  Seconds wire = traffic.inside / scale_up_rate(path);
  if (leaves)
    wire =
        max(wire, traffic.across / nic_rate_per_gpu(all_pairs_share(path.cluster, group.span_hosts),
                                                    path.site.across.share, path));
  const double payload = (traffic.inside + traffic.across).value();
  return level.launch + level.ramp * std::sqrt(payload) + wire;
}

Seconds send_time(Bytes payload, int span_hosts, const CollectivePath& path) {
  if (span_hosts <= 1) return path.device.inside.launch + payload / scale_up_rate(path);
  return path.site.across.launch + path.cluster.network.path_latency +
         payload / nic_rate_per_gpu(shift_share(path.cluster, span_hosts - 1, span_hosts),
                                    path.site.send_share, path);
}

}  // namespace foretrain
