// SPDX-License-Identifier: Apache-2.0
#include "topologies/routes/routing.hpp"

#include <algorithm>

#include "models/base/require.hpp"
#include "topologies/fabrics/internal/fabric_builder.hpp"
#include "topologies/routes/internal/route_parts.hpp"

namespace foretrain {
namespace {

/// Flows between two GPUs, one after another, and the way found so far.
class Flow {
 public:
  Flow(const Fabric& fabric, int from, int to, const RouteChoice& choice,
       std::vector<LinkId>& links)
      : fabric_{fabric}, host_{fabric.spec.host}, chooser_{choice, from, to}, links_{links} {
    from_host_ = from / host_.gpus;
    to_host_ = to / host_.gpus;
    from_ = from % host_.gpus;
    to_ = to % host_.gpus;
    const int domain = fabric.spec.packing().domain;
    one_domain_ = from / domain == to / domain;
    keeps_ends_ = choice.down == nullptr && host_.scale_up != ScaleUpKind::nvlink_mesh;
    has_nics_ = fabric.count(NodeKind::nic) > 0;
  }

  /// The way of the flow that the choice names now.
  bool find() {
    chooser_.restart();
    if (one_domain_) {
      links_.clear();
      if (inside_domain()) return true;
    }
    return has_nics_ && over_network();
  }

 private:
  [[nodiscard]] int links_before_nics() const {
    const int pairs = static_cast<int>(host_.pairs.size());
    return 2 * (host_.scale_up == ScaleUpKind::nvlink_mesh ? pairs : host_.gpus);
  }

  bool push(LinkId link) {
    if (!chooser_.up(link)) return false;
    links_.push_back(link);
    return true;
  }

  /// From a GPU of the fabric up to the switch of its domain.
  [[nodiscard]] LinkId to_switch(int gpu) const {
    return gpu / host_.gpus * fabric_.links_per_host + 2 * (gpu % host_.gpus);
  }

  /// Between two GPUs of a domain, without leaving it.
  bool inside(int from, int to) {
    if (from == to) return true;
    if (host_.scale_up == ScaleUpKind::nvlink_mesh)
      return through_mesh(from / host_.gpus * fabric_.links_per_host, from % host_.gpus,
                          to % host_.gpus);
    const std::size_t before = links_.size();
    if (push(to_switch(from)) && push(to_switch(to) ^ 1)) return true;
    links_.resize(before);
    return false;
  }
  bool inside_domain() {
    return inside(from_host_ * host_.gpus + from_, to_host_ * host_.gpus + to_);
  }
  bool inside_host(int host, int from, int to) {
    return inside(host * host_.gpus + from, host * host_.gpus + to);
  }

  bool through_mesh(LinkId first, int from, int to) {
    const auto link = [&](int a, int b) {
      const int relative =
          fabric_.mesh_link[static_cast<std::size_t>(a) * static_cast<std::size_t>(host_.gpus) +
                            static_cast<std::size_t>(b)];
      return relative < 0 || !chooser_.up(first + relative) ? -1 : first + relative;
    };
    if (const LinkId direct = link(from, to); direct >= 0) {
      links_.push_back(direct);
      return true;
    }
    const int start = chooser_.draw(host_.gpus);
    for (int step = 0; step < host_.gpus; ++step) {
      const int relay = (start + step) % host_.gpus;
      const LinkId there = link(from, relay);
      const LinkId onward = link(relay, to);
      if (there < 0 || onward < 0) continue;
      links_.insert(links_.end(), {there, onward});
      return true;
    }
    // Only with something down: a whole mesh joins any two GPUs through one other.
    for (int one = 0; one < host_.gpus; ++one)
      for (int two = 0; two < host_.gpus; ++two) {
        if (link(from, one) < 0 || link(one, two) < 0 || link(two, to) < 0) continue;
        links_.insert(links_.end(), {link(from, one), link(one, two), link(two, to)});
        return true;
      }
    return false;
  }

  /// A NIC next to a GPU, on the flow's port.
  int nic_beside(int gpu) {
    const int nics = host_.nics / host_.ports;
    const int port = chooser_.choice().flow % host_.ports;
    if (host_.scale_up == ScaleUpKind::pcie || nics < host_.gpus)
      return gpu * nics / host_.gpus * host_.ports + port;
    const int first = (gpu * nics + host_.gpus - 1) / host_.gpus;
    const int end = ((gpu + 1) * nics + host_.gpus - 1) / host_.gpus;
    return (first + (end - first > 1 ? chooser_.draw(end - first) : 0)) * host_.ports + port;
  }
  /// The port that a flow arrives on: where ports meet above their leaves, switches there choose by
  /// hash; a leaf that both NICs are plugged into keeps it.
  int arriving_port(int out_nic, int in_nic) {
    const auto* clos = std::get_if<ClosShape>(&fabric_.spec.network);
    if (host_.ports == 1 || clos == nullptr || !clos->joined_ports ||
        leaf_of(fabric_, from_host_, out_nic) == leaf_of(fabric_, to_host_, in_nic))
      return in_nic;
    return in_nic / host_.ports * host_.ports + chooser_.draw(host_.ports);
  }

  /// The link between a NIC and a GPU beside it: the GPU itself where it is one whose link works,
  /// for it saves a hop.
  struct Attachment {
    int gpu = 0;
    LinkId link = 0;  ///< towards the NIC
  };
  [[nodiscard]] Attachment attachment(int host, int nic, int gpu, int direction) const {
    const LinkId first = host * fabric_.links_per_host + links_before_nics();
    if (host_.nics >= host_.gpus) return {nic * host_.gpus / host_.nics, first + 2 * nic};
    const int begin = (nic * host_.gpus + host_.nics - 1) / host_.nics;
    const int count = ((nic + 1) * host_.gpus + host_.nics - 1) / host_.nics - begin;
    const int start = begin <= gpu && gpu < begin + count ? gpu - begin : gpu % count;
    for (int step = 0; step < count; ++step) {
      const int beside = begin + (start + step) % count;
      if (chooser_.up((first + 2 * beside) ^ direction)) return {beside, first + 2 * beside};
    }
    return {begin + start, first + 2 * (begin + start)};
  }

  /// From a GPU to a NIC of its host.
  bool to_nic(int host, int gpu, int nic) {
    const LinkId first = host * fabric_.links_per_host;
    if (host_.scale_up == ScaleUpKind::pcie)
      return push(first + 2 * gpu) && push(first + links_before_nics() + 2 * nic);
    const Attachment beside = attachment(host, nic, gpu, 0);
    return inside_host(host, gpu, beside.gpu) && push(beside.link);
  }

  bool from_nic(int host, int nic, int gpu) {
    const LinkId first = host * fabric_.links_per_host;
    if (host_.scale_up == ScaleUpKind::pcie)
      return push(first + links_before_nics() + 2 * nic + 1) && push(first + 2 * gpu + 1);
    const Attachment beside = attachment(host, nic, gpu, 1);
    return push(beside.link ^ 1) && inside_host(host, beside.gpu, gpu);
  }

  bool between_leaves(int from, int to) {
    if (from == to) return true;
    if (std::holds_alternative<ClosShape>(fabric_.spec.network))
      return clos_path(fabric_, from, to, chooser_, links_);
    if (std::holds_alternative<DragonflyShape>(fabric_.spec.network))
      return dragonfly_path(fabric_, from, to, chooser_, links_);
    if (!std::holds_alternative<TorusShape>(fabric_.spec.network))
      return irregular_path(fabric_, from, to, chooser_, links_);
    return torus_path(fabric_, from, to, chooser_, links_);
  }

  /// From the GPU to the leaf of a NIC.
  bool leave(int out_nic) {
    links_.clear();
    from_leaf_ = leaf_of(fabric_, from_host_, out_nic);
    return to_nic(from_host_, from_, out_nic) &&
           push(fabric_.first_nic_link + 2 * (from_host_ * host_.nics + out_nic));
  }
  bool arrive(int in_nic) {
    return push(fabric_.first_nic_link + 2 * (to_host_ * host_.nics + in_nic) + 1) &&
           from_nic(to_host_, in_nic, to_);
  }

  /// Out on one NIC, in on another, as the flow before did or not.
  bool over(int out_nic, int in_nic) {
    const bool known = head_ > 0 && out_nic == out_nic_ && in_nic == in_nic_;
    if (known) {
      links_.resize(head_);
      if (!between_leaves(from_leaf_, to_leaf_)) return false;
      links_.insert(links_.end(), tail_.begin(), tail_.end());
      return true;
    }
    to_leaf_ = leaf_of(fabric_, to_host_, in_nic);
    bool found = leave(out_nic);
    head_ = links_.size();
    found = found && between_leaves(from_leaf_, to_leaf_);
    const auto before = static_cast<std::ptrdiff_t>(links_.size());
    found = found && arrive(in_nic);
    tail_.assign(links_.begin() + before, links_.end());
    out_nic_ = out_nic;
    in_nic_ = in_nic;
    if (!found || !keeps_ends_) head_ = 0;
    if (!found) links_.clear();
    return found;
  }

  bool over_network() {
    const auto* clos = std::get_if<ClosShape>(&fabric_.spec.network);
    const bool rails = clos != nullptr ? clos->rail_only || clos->kind == FabricKind::rail_optimized
                                       : fabric_.switches.rails;
    const int in_nic = nic_beside(to_);
    const bool by_nvlink = chooser_.choice().rail_aware && host_.scale_up != ScaleUpKind::pcie;
    const int out_nic = rails && by_nvlink ? in_nic : nic_beside(from_);
    if (over(out_nic, arriving_port(out_nic, in_nic))) return true;
    // Something is down, or the rails are apart: the nearest rail that both hosts still have, then
    // any pair of NICs.
    for (int step = rails ? 0 : host_.nics; step < host_.nics; ++step) {
      const int rail = (in_nic + step) % host_.nics;
      if (over(rail, rail)) return true;
    }
    for (int out = 0; out < host_.nics; ++out)
      for (int in = 0; in < host_.nics; ++in)
        if (over((out_nic + out) % host_.nics, (in_nic + in) % host_.nics)) return true;
    return false;
  }

  const Fabric& fabric_;
  const HostShape& host_;
  Chooser chooser_;
  std::vector<LinkId>& links_;
  int from_host_ = 0, to_host_ = 0;
  int from_ = 0, to_ = 0;  ///< GPUs within their hosts
  bool one_domain_ = false, has_nics_ = false;
  // Of the last way over the network:
  bool keeps_ends_ = false;
  std::size_t head_ = 0;  ///< links before the first leaf; 0: none to take up again
  std::vector<LinkId> tail_;
  int out_nic_ = 0, in_nic_ = 0;
  int from_leaf_ = 0, to_leaf_ = 0;
};

}  // namespace

int flows_between_hosts(const Fabric& fabric, RoutingKind routing, int connections) {
  FORETRAIN_REQUIRE(connections >= 1);
  const int ports = fabric.spec.host.ports;
  if (routing == RoutingKind::spray) return ports * std::max(1, fabric.clos.uplinks_per_leaf);
  return (connections + ports - 1) / ports * ports;
}

int spray_uplink(const Fabric& fabric, int flow) { return flow / fabric.spec.host.ports; }

bool route(const Fabric& fabric, int from, int to, const RouteChoice& choice,
           std::vector<LinkId>& links) {
  FORETRAIN_REQUIRE(0 <= from && from < fabric.gpus() && 0 <= to && to < fabric.gpus());
  links.clear();
  return from == to || Flow{fabric, from, to, choice, links}.find();
}

bool routes(const Fabric& fabric, int from, int to, int count, bool sprayed, RouteChoice& choice,
            std::vector<LinkId>& links, const std::function<void(std::span<const LinkId>)>& use) {
  FORETRAIN_REQUIRE(0 <= from && from < fabric.gpus() && 0 <= to && to < fabric.gpus());
  FORETRAIN_REQUIRE(from != to);
  Flow way{fabric, from, to, choice, links};
  for (choice.flow = 0; choice.flow < count; ++choice.flow) {
    if (sprayed) choice.uplink = spray_uplink(fabric, choice.flow);
    if (!way.find()) return false;
    use(links);
  }
  return true;
}

}  // namespace foretrain
