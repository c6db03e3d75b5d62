// SPDX-License-Identifier: Apache-2.0
#include "sim/simgrid/internal/fabric_zone.hpp"

#include <map>
#include <utility>

#include "models/base/index.hpp"
#include "models/base/require.hpp"

namespace foretrain {

FabricZone::FabricZone(const std::string& name, const FlowNetwork& network,
                       const simgrid::kernel::routing::NetZoneImpl& root)
    : NetZoneImpl(name), fabric_{network.fabric} {
  set_network_model(root.get_network_model());
  set_cpu_pm_model(root.get_cpu_pm_model());
  set_cpu_vm_model(root.get_cpu_vm_model());
  set_disk_model(root.get_disk_model());
  set_host_model(root.get_host_model());
  if (fabric_ != nullptr) {
    add_fabric(*fabric_);
  } else {
    for (const char* end : {"from", "to"})
      hosts_.push_back(get_iface()->create_host(name + "." + end, 1e9));
  }
  while (links_.size() < network.links.size()) add_link();
}

/// GPUs come first among the nodes, so that SimGrid's number of a host is its rank.
void FabricZone::add_fabric(const Fabric& fabric) {
  from_ = fabric.from;
  to_ = fabric.to;
  for (NodeId gpu = 0; gpu < fabric.gpus(); ++gpu)
    hosts_.push_back(get_iface()->create_host(node_name(fabric, gpu), 1e9));
  std::map<std::pair<NodeId, NodeId>, int> parallel;
  for (std::size_t link = 0; link < from_.size(); ++link) {
    const int earlier = parallel[{from_[link], to_[link]}]++;
    add_link(node_name(fabric, from_[link]) + ">" + node_name(fabric, to_[link]) +
             (earlier > 0 ? "#" + std::to_string(earlier) : ""));
  }
}

void FabricZone::add_link(const std::string& name) {
  links_.push_back(get_iface()->create_link(name, 1.0)->seal());
}

std::uint32_t FabricZone::add_link() {
  add_link(get_name() + "." + std::to_string(links_.size()));
  return static_cast<std::uint32_t>(links_.size() - 1);
}

bool FabricZone::stands_for(const FlowNetwork& network) const {
  if (network.fabric == nullptr) return from_.empty();
  return network.fabric->from == from_ && network.fabric->to == to_ &&
         network.fabric->gpus() == static_cast<int>(hosts_.size());
}

void FabricZone::serve(const FlowNetwork& network) {
  FORETRAIN_REQUIRE(stands_for(network));
  fabric_ = network.fabric;
  while (links_.size() < network.links.size()) add_link();
}

void FabricZone::set_capacity(std::uint32_t link, double capacity) {
  links_.at(link)->set_bandwidth(capacity);
}

std::vector<Hop> FabricZone::way(int from, int to, const RouteChoice& choice) {
  FORETRAIN_REQUIRE(fabric_ != nullptr);
  struct Asking {
    const RouteChoice*& choice;
    ~Asking() { choice = nullptr; }
  };
  choice_ = &choice;
  const Asking asking{choice_};
  std::vector<simgrid::s4u::Link*> found;
  double latency = 0.0;
  hosts_.at(index(from))->route_to(hosts_.at(index(to)), found, &latency);
  FORETRAIN_REQUIRE(found.size() == route_.size());
  std::vector<Hop> hops;
  for (std::size_t i = 0; i < found.size(); ++i) {
    FORETRAIN_REQUIRE(found[i] == links_[index(route_[i])]);
    hops.push_back({static_cast<std::uint32_t>(route_[i])});
  }
  return hops;
}

FabricZone::HostPair FabricZone::ends(const std::vector<Hop>& links) const {
  const HostPair any{hosts_.front(), hosts_.back()};
  if (from_.empty()) return any;
  NodeId begin = -1;
  NodeId end = -1;
  for (const Hop& hop : links) {
    if (hop.link >= from_.size()) continue;  // a stream of a rank, or the rate of a flow
    if (begin < 0) begin = from_[hop.link];
    if (end >= 0 && end != from_[hop.link]) return any;
    end = to_[hop.link];
  }
  const auto is_gpu = [&](NodeId node) { return node >= 0 && node < fabric_->gpus(); };
  if (!is_gpu(begin) || !is_gpu(end)) return any;
  return {hosts_[index(begin)], hosts_[index(end)]};
}

simgrid::s4u::CommPtr FabricZone::send(const std::vector<Hop>& links, std::uint64_t size,
                                       void* data) {
  const auto [from, to] = ends(links);
  decided_ = &links;
  simgrid::s4u::CommPtr comm = simgrid::s4u::Comm::sendto_init(from, to);
  comm->set_payload_size(size)->set_data(data);
  comm->vetoable_start();
  decided_ = nullptr;
  return comm;
}

void FabricZone::get_local_route(const NetPoint* from, const NetPoint* to,
                                 simgrid::kernel::routing::Route* into, double* /*latency*/) {
  if (decided_ != nullptr) {
    for (const Hop& hop : *decided_) into->link_list_.push_back(links_[hop.link]->get_impl());
    return;
  }
  FORETRAIN_REQUIRE(choice_ != nullptr && fabric_ != nullptr);
  FORETRAIN_REQUIRE(
      route(*fabric_, static_cast<int>(from->id()), static_cast<int>(to->id()), *choice_, route_));
  for (const LinkId link : route_) into->link_list_.push_back(links_[index(link)]->get_impl());
}

}  // namespace foretrain
