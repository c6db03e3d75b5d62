// SPDX-License-Identifier: Apache-2.0
#include "topologies/fabric_graph.hpp"

#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <boost/graph/visitors.hpp>

#include "models/require.hpp"

namespace foretrain {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<
        boost::edge_capacity_t, long,
        boost::property<boost::edge_residual_capacity_t, long,
                        boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

std::vector<FabricVertex> add_switches(Fabric& fabric, NodeKind kind, int count) {
  std::vector<FabricVertex> added;
  added.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) added.push_back(add_vertex(FabricNode{kind, i, -1, -1}, fabric));
  return added;
}

FabricVertex vertex_of_nic(const ClosSpec& spec, int host, int rail) {
  const int nic = host * spec.nics_per_host + rail;
  return static_cast<FabricVertex>(nic);
}

int leaf_of(const ClosSpec& spec, const ClosNetwork& network, int host, int rail) {
  if (network.tiers == 1) return 0;
  if (spec.kind == FabricKind::rail_optimized)
    return host / network.nics_per_leaf * spec.nics_per_host + rail;
  return (host * spec.nics_per_host + rail) / network.nics_per_leaf;
}

/// An arc with its empty reverse, the form that Boost's maximum flow is specified for.
void add_arc(FlowGraph& graph, FabricVertex from, FabricVertex to, long capacity) {
  const auto arc = add_edge(from, to, graph).first;
  const auto reverse = add_edge(to, from, graph).first;
  put(boost::edge_capacity, graph, arc, capacity);
  put(boost::edge_capacity, graph, reverse, 0);
  put(boost::edge_reverse, graph, arc, reverse);
  put(boost::edge_reverse, graph, reverse, arc);
}

}  // namespace

Fabric build_fabric(const ClosSpec& spec, const ClosNetwork& network) {
  Fabric fabric;
  for (int host = 0; host < spec.hosts; ++host)
    for (int rail = 0; rail < spec.nics_per_host; ++rail)
      add_vertex(FabricNode{NodeKind::nic, host * spec.nics_per_host + rail, host, rail}, fabric);

  const auto leaves = add_switches(fabric, NodeKind::leaf, network.leaves);
  const auto spines = add_switches(fabric, NodeKind::spine, network.spines);
  const auto cores = add_switches(fabric, NodeKind::core, network.cores);
  const auto at = [](const auto& switches, int i) {
    return switches.at(static_cast<std::size_t>(i));
  };

  for (int host = 0; host < spec.hosts; ++host)
    for (int rail = 0; rail < spec.nics_per_host; ++rail)
      add_edge(vertex_of_nic(spec, host, rail), at(leaves, leaf_of(spec, network, host, rail)),
               CableBundle{1}, fabric);

  if (network.tiers < 2) return fabric;
  const int spines_per_pod = network.spines / network.pods;
  for (int leaf = 0; leaf < network.leaves; ++leaf) {
    const int first_spine = leaf / network.leaves_per_pod * spines_per_pod;
    for (int s = 0; s < spines_per_pod; ++s)
      add_edge(at(leaves, leaf), at(spines, first_spine + s),
               CableBundle{network.uplinks_per_leaf / spines_per_pod}, fabric);
  }

  if (network.tiers < 3) return fabric;
  // Spine s of every pod meets the others on the cores of group s.
  const int cores_per_group = network.cores / spines_per_pod;
  for (int spine = 0; spine < network.spines; ++spine) {
    const int first_core = spine % spines_per_pod * cores_per_group;
    for (int c = 0; c < cores_per_group; ++c)
      add_edge(at(spines, spine), at(cores, first_core + c),
               CableBundle{network.uplinks_per_spine / cores_per_group}, fabric);
  }
  return fabric;
}

std::vector<int> hops_from(const Fabric& fabric, FabricVertex start) {
  std::vector<int> hops(num_vertices(fabric), -1);
  std::vector<boost::default_color_type> colors(num_vertices(fabric));
  hops.at(start) = 0;
  boost::breadth_first_search(fabric, start,
                              boost::color_map(colors.data())
                                  .visitor(boost::make_bfs_visitor(boost::record_distances(
                                      hops.data(), boost::on_tree_edge()))));
  return hops;
}

int ports_used(const Fabric& fabric, FabricVertex vertex) {
  int ports = 0;
  for (const auto edge : boost::make_iterator_range(out_edges(vertex, fabric)))
    ports += fabric[edge].cables;
  return ports;
}

long max_flow(const Fabric& fabric, const std::vector<FabricVertex>& sources,
              const std::vector<FabricVertex>& sinks) {
  FORETRAIN_REQUIRE(!sources.empty() && !sinks.empty());
  FlowGraph graph(num_vertices(fabric) + 2);
  const FabricVertex all_sources = num_vertices(fabric);
  const FabricVertex all_sinks = all_sources + 1;
  for (const auto edge : boost::make_iterator_range(edges(fabric))) {
    // A cable carries its rate both ways at once.
    add_arc(graph, source(edge, fabric), target(edge, fabric), fabric[edge].cables);
    add_arc(graph, target(edge, fabric), source(edge, fabric), fabric[edge].cables);
  }
  for (const auto vertex : sources) add_arc(graph, all_sources, vertex, ports_used(fabric, vertex));
  for (const auto vertex : sinks) add_arc(graph, vertex, all_sinks, ports_used(fabric, vertex));
  return boost::push_relabel_max_flow(graph, all_sources, all_sinks);
}

}  // namespace foretrain
