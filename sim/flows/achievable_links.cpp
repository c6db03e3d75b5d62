// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/achievable_links.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

namespace foretrain {
namespace {

double best_share(const CollectiveProtocols& protocols) {
  double best = 0.0;
  for (const ProtocolLines* lines : {&protocols.gather, &protocols.all_reduce, &protocols.exchange})
    for (const ProtocolLine& line : *lines) best = std::max(best, line.share);
  return best;
}

/// What large messages get out of a NIC, where sweeps over the fabric saw more than its link
/// promises.
double nic_share(const Network& network) {
  double best = 1.0;
  if (network.protocols)
    for (const HostCrossing& crossing : network.protocols->crossing)
      best = std::max(best, crossing.nic_share);
  return best * network.nic_link.achievable;
}

}  // namespace

FlowNetwork achievable_links(const Fabric& fabric, const Cluster& cluster,
                             const DeviceProfile& device) {
  const double inside = best_share(device.protocols);
  const double outside = nic_share(cluster.network);
  FlowNetwork network;
  network.links.reserve(fabric.capacity.size());
  for (std::size_t link = 0; link < fabric.capacity.size(); ++link) {
    const LinkKind kind = fabric.kind[link];
    const double share = kind == LinkKind::gpu_link ? inside
                         : kind == LinkKind::pcie   ? cluster.host.pcie.achievable
                                                    : outside;
    network.links.emplace_back(fabric.capacity[link] * share);
  }
  return network;
}

FabricSpec striped(FabricSpec spec) {
  HostShape& host = spec.host;
  const int nics = host.nics / host.ports;
  if (nics <= host.gpus || nics % host.gpus != 0) return spec;
  const double joined = static_cast<double>(nics) / host.gpus;
  host.nics = host.gpus * host.ports;
  host.nic *= joined;
  if (auto* torus = std::get_if<TorusShape>(&spec.network)) torus->channel *= joined;
  if (auto* irregular = std::get_if<std::shared_ptr<const IrregularShape>>(&spec.network)) {
    auto first_of_each = std::make_shared<IrregularShape>(**irregular);
    const auto each = static_cast<std::size_t>(std::lround(joined));
    first_of_each->nics.clear();
    for (std::size_t nic = 0; nic < (*irregular)->nics.size(); nic += each)
      first_of_each->nics.push_back((*irregular)->nics[nic]);
    *irregular = first_of_each;
  }
  return spec;
}

}  // namespace foretrain
