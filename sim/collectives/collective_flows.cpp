// SPDX-License-Identifier: Apache-2.0
#include "sim/collectives/internal/collective_flows.hpp"

#include <algorithm>

namespace foretrain {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

bool outside_hosts(LinkKind kind) { return kind != LinkKind::gpu_link && kind != LinkKind::pcie; }

}  // namespace

StepOrder::StepOrder(const StepPlan& plan, int members)
    : left_{static_cast<std::uint32_t>(plan.transfers.size())} {
  int channels = 0;
  for (const StepTransfer& transfer : plan.transfers)
    channels = std::max(channels, transfer.channel + 1);
  nodes_.resize(static_cast<std::size_t>(channels) * static_cast<std::size_t>(members));
  for (std::uint32_t id = 0; id < left_; ++id) {
    const StepTransfer& transfer = plan.transfers[id];
    const auto node = [&](int member) {
      return static_cast<std::uint32_t>(transfer.channel * members + member);
    };
    from_.push_back(join(node(transfer.from), transfer.step));
    to_.push_back(join(node(transfer.to), transfer.step));
    nodes_[from_.back().node].groups[from_.back().group].sends.push_back(id);
  }
  for (const Node& node : nodes_)
    if (!node.groups.empty())
      first_.insert(first_.end(), node.groups.front().sends.begin(),
                    node.groups.front().sends.end());
}

/// Transfers come by step, so a new step is a new group at the end.
StepOrder::Place StepOrder::join(std::uint32_t node, int step) {
  std::vector<Group>& groups = nodes_[node].groups;
  if (groups.empty() || groups.back().step != step) groups.push_back({step, 0, {}});
  ++groups.back().open;
  return {node, static_cast<std::uint32_t>(groups.size() - 1)};
}

void StepOrder::close(const Place& place, std::vector<std::uint32_t>& ready) {
  Node& node = nodes_[place.node];
  --node.groups[place.group].open;
  while (node.now < node.groups.size() && node.groups[node.now].open == 0) {
    if (++node.now == node.groups.size()) return;
    const Group& next = node.groups[node.now];
    ready.insert(ready.end(), next.sends.begin(), next.sends.end());
  }
}

std::vector<std::uint32_t> StepOrder::ended(std::uint32_t transfer) {
  std::vector<std::uint32_t> ready;
  close(from_[transfer], ready);
  close(to_[transfer], ready);
  --left_;
  return ready;
}

CollectiveRoutes::CollectiveRoutes(const CollectiveSetting& setting)
    : setting_{setting}, adaptive_{setting.routing == RoutingKind::adaptive} {
  if (!adaptive_) return;
  load_.assign(at(setting.fabric.links()), 0.0);
  taken_ = load_;
}

RouteChoice CollectiveRoutes::choice(int flow) const {
  RouteChoice result;
  result.seed = setting_.seed;
  result.flow = flow;
  result.load = adaptive_ ? &load_ : nullptr;
  result.down = setting_.down;
  if (setting_.routing == RoutingKind::spray)
    result.uplink = spray_uplink(setting_.fabric,
                                 flow % flows_between_hosts(setting_.fabric, setting_.routing, 1));
  return result;
}

void CollectiveRoutes::note(const std::vector<LinkId>& links) {
  if (!adaptive_) return;
  for (const LinkId link : links) {
    load_[at(link)] += 1.0;
    if (taken_[at(link)] == 0.0) touched_.push_back(link);
    taken_[at(link)] += 1.0;
  }
}

std::vector<LinkUses> CollectiveRoutes::taken() {
  std::vector<LinkUses> uses;
  uses.reserve(touched_.size());
  for (const LinkId link : touched_) uses.push_back({link, std::exchange(taken_[at(link)], 0.0)});
  touched_.clear();
  return uses;
}

void CollectiveRoutes::release(const std::vector<LinkUses>& links) {
  for (const auto& [link, times] : links) load_[at(link)] -= times;
}

/// From a GPU up to the switch of its host.
LinkId CollectiveRoutes::switch_link(int gpu) const {
  const Fabric& fabric = setting_.fabric;
  const int gpus = fabric.spec.host.gpus;
  return gpu / gpus * fabric.links_per_host + 2 * (gpu % gpus);
}

bool CollectiveRoutes::of(const CollectiveCall& call, const Transfer& transfer,
                          std::vector<LinkId>& links) {
  links.clear();
  if (transfer.to == Transfer::host_switch) {
    links.push_back(switch_link(call.seats.gpu[at(transfer.from)]));
  } else if (transfer.from == Transfer::host_switch) {
    links.push_back(switch_link(call.seats.gpu[at(transfer.to)]) ^ 1);
  } else if (!call.through_host || !call.seats.same_host(transfer.from, transfer.to)) {
    if (!route(setting_.fabric, call.seats.gpu[at(transfer.from)], call.seats.gpu[at(transfer.to)],
               choice(transfer.channel), links))
      return false;
    if (call.through_host)
      std::erase_if(links,
                    [&](LinkId link) { return !outside_hosts(setting_.fabric.kind[at(link)]); });
  }
  note(links);
  return true;
}

/// Every channel has its switch at the top, which the first cable out of the leaf decides; each
/// member of a host sends on the channel of its own NIC.
std::optional<std::vector<LinkId>> CollectiveRoutes::climb(const CollectiveCall& call) {
  const Seats& seats = call.seats;
  std::vector<LinkId> cables, links;
  for (int host = 0; host < seats.host_count(); ++host)
    for (int channel = 0; channel < seats.channels(); ++channel) {
      RouteChoice wanted = choice(channel);
      wanted.uplink = channel;
      const int far = (host + std::max(1, seats.host_count() / 2)) % seats.host_count();
      if (!route(setting_.fabric, seats.gpu[at(seats.head(host, channel))],
                 seats.gpu[at(seats.head(far, channel))], wanted, links))
        return std::nullopt;
      for (const LinkId link : links)
        if (link % 2 == 0 && outside_hosts(setting_.fabric.kind[at(link)]))
          cables.insert(cables.end(), {link, link ^ 1});
    }
  std::ranges::sort(cables);
  cables.erase(std::unique(cables.begin(), cables.end()), cables.end());
  note(cables);
  return cables;
}

void CoupledFlow::add(const std::vector<LinkId>& route, Bytes bytes) {
  for (const LinkId link : route) {
    if (count_[at(link)]++ == 0) touched_.push_back(link);
    bytes_[at(link)] += bytes.value();
  }
}

Flow CoupledFlow::flow() const {
  Flow flow;
  double most = 0.0;
  for (const LinkId link : touched_)
    if (bytes_[at(link)] > most) {
      most = bytes_[at(link)];
      flow.weight = count_[at(link)];  // it stands for as many flows there
    }
  for (const LinkId link : touched_)
    flow.route.push_back({static_cast<std::uint32_t>(link), bytes_[at(link)] / most});
  flow.bytes = Bytes{most};
  return flow;
}

}  // namespace foretrain
