// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "models/base/quantity.hpp"
#include "models/inputs/cluster.hpp"
#include "models/inputs/profile.hpp"

namespace foretrain {

/// The ranks of one communicator and how they sit on the machine: in scale-up domains, which are
/// hosts or several hosts each (Packing), and on hosts of the network. Of a job's groups:
/// ProcessGrid.
struct CommGroup {
  int ranks = 1;
  int ranks_per_domain = 1;  ///< members that scale-up links join
  int span_hosts = 1;        ///< hosts from the first to the last member; 1 within one domain
  int domain_hosts = 1;      ///< of the machine

  [[nodiscard]] int domains() const { return (ranks + ranks_per_domain - 1) / ranks_per_domain; }
  /// Hosts from the members of one domain to those of the next, the same for all.
  /// @pre domains() > 1
  [[nodiscard]] int hosts_apart() const {
    const int domains_apart = (span_hosts - 1) / domain_hosts / (domains() - 1);
    return std::max(1, domains_apart) * domain_hosts;
  }
};

/// What collectives run on.
struct CollectivePath {
  const Cluster& cluster;
  const DeviceProfile& device;
  const SiteProfile& site;
};

/// Rate at which every member of `group` passes ring traffic on: the scale-up link within a domain;
/// across domains at most the NICs that the domain's members own together.
[[nodiscard]] BytesPerSecond bus_bandwidth(const CommGroup& group, const CollectivePath& path);

/// Ring all-gather or reduce-scatter of `payload` bytes (the whole gathered buffer): n-1 steps of
/// payload/n each, plus the ramp of the level it runs on. One rank costs nothing.
/// Source: Thakur et al. 2005 (ring, bandwidth term); ramp and latencies:
/// models/collectives/README.md, "Collectives in training".
[[nodiscard]] Seconds all_gather_time(const CommGroup& group, Bytes payload,
                                      const CollectivePath& path);
[[nodiscard]] Seconds reduce_scatter_time(const CommGroup& group, Bytes payload,
                                          const CollectivePath& path);
/// Ring all-reduce: a reduce-scatter followed by an all-gather in one call, 2(n-1) steps.
[[nodiscard]] Seconds all_reduce_time(const CommGroup& group, Bytes payload,
                                      const CollectivePath& path);

/// What one rank sends in an all-to-all.
struct AllToAllTraffic {
  Bytes inside;  ///< to ranks of its domain, or on behalf of other domains over the scale-up link
  Bytes across;  ///< to other domains
};

/// All-to-all: the scale-up link and the NICs carry their traffic side by side; ramp and launch of
/// the slower level. One rank costs nothing. Sources: models/collectives/README.md, "Collectives in
/// training".
[[nodiscard]] Seconds all_to_all_time(const CommGroup& group, const AllToAllTraffic& traffic,
                                      const CollectivePath& path);

/// One transfer between two ranks that are `span_hosts` hosts apart, both counted; 1: same domain.
[[nodiscard]] Seconds send_time(Bytes payload, int span_hosts, const CollectivePath& path);

/// An exchange that runs beside kernels, which share multiprocessors, memory and power with it.
struct ExposedExchange {
  Seconds alone;   ///< the exchange, with nothing beside it
  Seconds both;    ///< of it while kernels run
  Seconds slowed;  ///< what these lose meanwhile

  /// What a pass lasts longer than its kernels alone.
  [[nodiscard]] Seconds shown() const { return alone - both + slowed; }
};

/// An exchange beside kernels that can cover `kernels` of it and lose `slowdown` times the time in
/// which both run. 0: hides as far as they last; 1: as if nothing ran beside it. Faster kernels
/// never make both together slower.
[[nodiscard]] inline ExposedExchange exposed_exchange(Seconds exchange, Seconds kernels,
                                                      double slowdown) {
  if (slowdown >= 1.0) return {exchange, {}, {}};  // one after the other
  const Seconds both = min(exchange, kernels);
  return {exchange, both, slowdown * both};
}

[[nodiscard]] inline ExposedExchange operator*(double factor, const ExposedExchange& one) {
  return {factor * one.alone, factor * one.both, factor * one.slowed};
}

}  // namespace foretrain
