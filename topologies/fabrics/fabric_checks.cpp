// SPDX-License-Identifier: Apache-2.0
#include "topologies/fabrics/fabric_checks.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/biconnected_components.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <boost/graph/visitors.hpp>
#include <iterator>
#include <limits>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "topologies/fabrics/internal/fabric_builder.hpp"

namespace foretrain {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<
        boost::edge_capacity_t, long,
        boost::property<boost::edge_residual_capacity_t, long,
                        boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;
using DirectedGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
using CableGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, boost::no_property,
                          boost::property<boost::edge_index_t, std::size_t>>;

bool carries(const Fabric& fabric, LinkId link, Scope scope, const LinkSet* down) {
  if (down != nullptr && (*down)[index(link)]) return false;
  return scope == Scope::whole || link >= fabric.first_nic_link;
}

/// An arc with its empty reverse, the form that Boost's maximum flow is specified for.
void add_arc(FlowGraph& graph, std::size_t from, std::size_t to, long capacity) {
  const auto arc = add_edge(from, to, graph).first;
  const auto reverse = add_edge(to, from, graph).first;
  put(boost::edge_capacity, graph, arc, capacity);
  put(boost::edge_capacity, graph, reverse, 0);
  put(boost::edge_reverse, graph, arc, reverse);
  put(boost::edge_reverse, graph, reverse, arc);
}

/// Maximum flow, with the capacity of every link as `units` counts it.
template <class Units>
long flow(const Fabric& fabric, const std::vector<NodeId>& sources,
          const std::vector<NodeId>& sinks, const Units& units) {
  FORETRAIN_REQUIRE(!sources.empty() && !sinks.empty());
  FlowGraph graph(index(fabric.nodes()) + 2);
  const std::size_t all_sources = index(fabric.nodes());
  const std::size_t all_sinks = all_sources + 1;
  std::vector<long> out(index(fabric.nodes()), 0);
  std::vector<long> in(index(fabric.nodes()), 0);
  for (LinkId link = 0; link < fabric.links(); ++link) {
    const long capacity = units(link);
    if (capacity == 0) continue;
    add_arc(graph, index(fabric.from[index(link)]), index(fabric.to[index(link)]), capacity);
    out[index(fabric.from[index(link)])] += capacity;
    in[index(fabric.to[index(link)])] += capacity;
  }
  for (const NodeId node : sources) add_arc(graph, all_sources, index(node), out[index(node)]);
  for (const NodeId node : sinks) add_arc(graph, index(node), all_sinks, in[index(node)]);
  return boost::push_relabel_max_flow(graph, all_sources, all_sinks);
}

std::vector<NodeId> gpus_of_hosts(const Fabric& fabric, int first, int end) {
  std::vector<NodeId> gpus;
  for (int gpu = first * fabric.spec.host.gpus; gpu < end * fabric.spec.host.gpus; ++gpu)
    gpus.push_back(gpu);
  return gpus;
}

/// Shortest paths on a graph that is built once.
class Walker {
 public:
  Walker(const Fabric& fabric, Scope scope, const LinkSet* down) : graph_(index(fabric.nodes())) {
    for (LinkId link = 0; link < fabric.links(); ++link)
      if (carries(fabric, link, scope, down))
        add_edge(index(fabric.from[index(link)]), index(fabric.to[index(link)]), graph_);
  }
  [[nodiscard]] std::vector<int> hops(NodeId start) const {
    std::vector<int> hops(num_vertices(graph_), -1);
    hops[index(start)] = 0;
    std::vector<boost::default_color_type> colors(num_vertices(graph_));
    boost::breadth_first_search(graph_, index(start),
                                boost::color_map(colors.data())
                                    .visitor(boost::make_bfs_visitor(boost::record_distances(
                                        hops.data(), boost::on_tree_edge()))));
    return hops;
  }

 private:
  DirectedGraph graph_;
};

/// What half of the hosts can send at most: their NICs, or PCIe where it is slower.
BytesPerSecond from_half_of_hosts(const Fabric& fabric) {
  const HostShape& host = fabric.spec.host;
  return half_of_hosts(fabric) * min(host.nics * host.nic, host.gpus * host.pcie);
}

std::optional<BytesPerSecond> dragonfly_bisection(const Fabric& fabric,
                                                  const DragonflyShape& shape) {
  const int nics = fabric.count(NodeKind::nic);
  if (shape.groups < 2 || shape.groups % 2 != 0 ||
      nics != shape.groups * shape.routers * shape.nics_per_router)
    return std::nullopt;
  const double cables = 0.25 * shape.groups * shape.groups * cables_between_groups(shape);
  return min(cables * fabric.spec.host.nic, from_half_of_hosts(fabric));
}

std::optional<BytesPerSecond> torus_bisection(const Fabric& fabric, const TorusShape& shape) {
  // Hosts are numbered along the first dimension, so that halves of them split the last one.
  const int last = shape.size.back();
  if (last % 2 != 0 || last < *std::ranges::max_element(shape.size)) return std::nullopt;
  const double cables = 2.0 * fabric.spec.hosts / last;
  return min(cables * shape.channel, from_half_of_hosts(fabric));
}

}  // namespace

std::vector<int> hops_from(const Fabric& fabric, NodeId start, Scope scope, const LinkSet* down) {
  return Walker{fabric, scope, down}.hops(start);
}

std::optional<Infeasible> disconnected(const Fabric& fabric, const LinkSet* down) {
  const Walker there{fabric, Scope::whole, down};
  const auto hops = there.hops(0);
  const auto refuse = [&](NodeId from, NodeId to) {
    return Infeasible{"fabric-connected", "cluster.fabric",
                      "the fabric is disconnected: there is no way from " +
                          node_name(fabric, from) + " to " + node_name(fabric, to),
                      "repair a link between them"};
  };
  for (NodeId gpu = 0; gpu < fabric.gpus(); ++gpu)
    if (hops[index(gpu)] < 0) return refuse(0, gpu);
  if (down == nullptr) return std::nullopt;
  // With one direction of a cable down, the way back is another question.
  LinkSet reversed(down->size());
  for (std::size_t link = 0; link < down->size(); ++link) reversed[link] = (*down)[link ^ 1U];
  const auto back = Walker{fabric, Scope::whole, &reversed}.hops(0);
  for (NodeId gpu = 0; gpu < fabric.gpus(); ++gpu)
    if (back[index(gpu)] < 0) return refuse(gpu, 0);
  return std::nullopt;
}

int diameter(const Fabric& fabric, const LinkSet* down) {
  const Walker walker{fabric, Scope::whole, down};
  const int gpus = fabric.spec.host.gpus;
  int longest = 0;
  for (const int host : {0, fabric.spec.hosts / 2, fabric.spec.hosts - 1})
    for (NodeId gpu = host * gpus; gpu < (host + 1) * gpus; ++gpu) {
      const auto hops = walker.hops(gpu);
      longest = std::max(longest, *std::max_element(hops.begin(), hops.begin() + fabric.gpus()));
    }
  return longest;
}

BytesPerSecond max_flow(const Fabric& fabric, const std::vector<NodeId>& sources,
                        const std::vector<NodeId>& sinks, Scope scope, const LinkSet* down) {
  const long units = flow(fabric, sources, sinks, [&](LinkId link) {
    return carries(fabric, link, scope, down) ? static_cast<long>(fabric.capacity[index(link)]) : 0;
  });
  return BytesPerSecond{static_cast<double>(units)};
}

int half_of_hosts(const Fabric& fabric) {
  const int domains = fabric.count(NodeKind::host_switch);
  if (fabric.spec.domain_hosts == 1 || domains < 2) return fabric.spec.hosts / 2;
  return domains / 2 * fabric.spec.domain_hosts;
}

BytesPerSecond bisection(const Fabric& fabric, const LinkSet* down) {
  const int hosts = fabric.spec.hosts;
  FORETRAIN_REQUIRE(hosts >= 2);
  const int half = half_of_hosts(fabric);
  return max_flow(fabric, gpus_of_hosts(fabric, 0, half),
                  gpus_of_hosts(fabric, hosts - half, hosts), Scope::whole, down);
}

std::optional<BytesPerSecond> closed_form_bisection(const Fabric& fabric) {
  if (fabric.spec.hosts < 2) return std::nullopt;
  if (const auto* dragonfly = std::get_if<DragonflyShape>(&fabric.spec.network))
    return dragonfly_bisection(fabric, *dragonfly);
  if (const auto* torus = std::get_if<TorusShape>(&fabric.spec.network))
    return torus_bisection(fabric, *torus);
  if (std::holds_alternative<std::shared_ptr<const IrregularShape>>(fabric.spec.network))
    return std::nullopt;
  if (fabric.spec.domain_hosts > 1 && fabric.count(NodeKind::host_switch) == 1) return std::nullopt;
  const int nics = half_of_hosts(fabric) * fabric.spec.host.nics;
  return min(fabric.clos.cross_pod_share * nics * fabric.spec.host.nic, from_half_of_hosts(fabric));
}

int disjoint_paths(const Fabric& fabric, int first_host, int second_host, const LinkSet* down) {
  FORETRAIN_REQUIRE(first_host != second_host);
  const long plenty = fabric.links();
  // Links of GPUs leave the host where a domain joins several; else only NICs do.
  const bool joined = fabric.spec.domain_hosts > 1;
  return static_cast<int>(
      flow(fabric, gpus_of_hosts(fabric, first_host, first_host + 1),
           gpus_of_hosts(fabric, second_host, second_host + 1), [&](LinkId link) {
             if (!carries(fabric, link, Scope::whole, down)) return 0L;
             const bool leaves = link >= fabric.first_nic_link ||
                                 (joined && fabric.kind[index(link)] == LinkKind::gpu_link);
             return leaves ? 1L : plenty;
           }));
}

std::vector<NodeId> single_points_of_failure(const Fabric& fabric, const LinkSet* down) {
  CableGraph graph(index(fabric.nodes()));
  std::size_t edges = 0;
  for (LinkId link = 0; link < fabric.links(); link += 2)
    if (carries(fabric, link, Scope::whole, down) && carries(fabric, link ^ 1, Scope::whole, down))
      add_edge(index(fabric.from[index(link)]), index(fabric.to[index(link)]), edges++, graph);
  std::vector<std::size_t> points;
  boost::articulation_points(graph, std::back_inserter(points));
  std::vector<NodeId> result;
  for (const std::size_t point : points) {
    const auto node = static_cast<NodeId>(point);
    if (fabric.kind_of(node) != NodeKind::gpu) result.push_back(node);
  }
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

int ports_used(const Fabric& fabric, NodeId node) {
  return static_cast<int>(std::ranges::count(fabric.from, node));
}

}  // namespace foretrain
