// SPDX-License-Identifier: Apache-2.0
#include "topologies/fabrics/switch_graph.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/connected_components.hpp>
#include <boost/graph/visitors.hpp>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

using SwitchCables = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;

Infeasible refused_map(const char* key, const std::string& message, const std::string& remedy) {
  return {"fabric-size", std::string("cluster.fabric.irregular") + key, message, remedy};
}

std::string joined_switches(const SwitchPair& pair) {
  return "switches " + std::to_string(pair.first) + " and " + std::to_string(pair.second);
}

std::optional<Infeasible> refuse_numbers(const IrregularShape& shape, int nics_per_host) {
  const auto nics = static_cast<long>(shape.nics.size());
  if (nics < 1 || nics > SwitchGraph::most_nics || nics % nics_per_host != 0)
    return refused_map(".nics",
                       "there are " + std::to_string(nics) +
                           " NICs, and every host of this kind has " +
                           std::to_string(nics_per_host),
                       "list a switch per NIC, host by host, " +
                           std::to_string(SwitchGraph::most_nics) + " at most");
  const auto known = [](int number) { return 0 <= number && number < SwitchGraph::most_switches; };
  const std::string numbers =
      "number switches from 0 to " + std::to_string(SwitchGraph::most_switches - 1) + " at most";
  for (const int number : shape.nics)
    if (!known(number))
      return refused_map(".nics", "there is no switch " + std::to_string(number), numbers);
  long cables = 0;
  std::set<std::pair<int, int>> seen;
  for (const SwitchPair& pair : shape.cables) {
    if (!known(pair.first) || !known(pair.second) || pair.first == pair.second || pair.cables < 1)
      return refused_map(".cables", joined_switches(pair) + " are not two switches with a cable",
                         numbers);
    if (!seen.insert(std::minmax(pair.first, pair.second)).second)
      return refused_map(".cables", joined_switches(pair) + " are joined twice",
                         "add the cables up, as in 0-1x2");
    cables += pair.cables;
  }
  if (cables <= SwitchGraph::most_cables) return std::nullopt;
  return refused_map(".cables", std::to_string(cables) + " cables between switches",
                     "at most " + std::to_string(SwitchGraph::most_cables) + " are modelled");
}

SwitchCables cables_of(const IrregularShape& shape, int switches) {
  SwitchCables cables(index(switches));
  for (const SwitchPair& pair : shape.cables)
    boost::add_edge(index(pair.first), index(pair.second), cables);
  return cables;
}

/// All hosts have a NIC in one and the same part of the network.
bool hosts_connected(const IrregularShape& shape, const SwitchCables& cables, int nics_per_host) {
  std::vector<int> part(num_vertices(cables));
  boost::connected_components(cables, part.data());
  std::set<int> common;
  for (std::size_t first = 0; first < shape.nics.size(); first += index(nics_per_host)) {
    std::set<int> here;
    for (std::size_t nic = first; nic < first + index(nics_per_host); ++nic)
      here.insert(part[index(shape.nics[nic])]);
    if (first == 0) common = here;
    std::erase_if(common, [&](int one) { return here.count(one) == 0; });
  }
  return !common.empty();
}

void list_cable_ends(const IrregularShape& shape, SwitchGraph& graph) {
  for (const SwitchPair& pair : shape.cables)
    for (int cable = 0; cable < pair.cables; ++cable)
      graph.far.insert(graph.far.end(), {pair.second, pair.first});
  graph.first.assign(index(graph.switches) + 1, 0);
  for (std::size_t end = 0; end < graph.far.size(); ++end)
    ++graph.first[index(graph.far[end ^ 1U]) + 1];
  std::partial_sum(graph.first.begin(), graph.first.end(), graph.first.begin());
  graph.out.resize(graph.far.size());
  std::vector<int> next(graph.first.begin(), graph.first.end() - 1);
  for (std::size_t end = 0; end < graph.far.size(); ++end)
    graph.out[index(next[index(graph.far[end ^ 1U])]++)] = static_cast<int>(end);
}

/// @return false where a path is longer than a byte can say
bool measure(const SwitchCables& cables, SwitchGraph& graph) {
  std::vector<int> hops(index(graph.switches));
  std::vector<boost::default_color_type> colors(hops.size());
  for (const int target : graph.with_nics) {
    std::ranges::fill(hops, -1);
    hops[index(target)] = 0;
    boost::breadth_first_search(cables, index(target),
                                boost::color_map(colors.data())
                                    .visitor(boost::make_bfs_visitor(boost::record_distances(
                                        hops.data(), boost::on_tree_edge()))));
    for (const int away : hops) {
      if (away >= SwitchGraph::no_way) return false;
      graph.hops.push_back(away < 0 ? SwitchGraph::no_way : static_cast<std::uint8_t>(away));
    }
  }
  return true;
}

bool on_rails(const IrregularShape& shape, int nics_per_host) {
  for (std::size_t first = 0; first < shape.nics.size(); first += index(nics_per_host)) {
    const auto begin = shape.nics.begin() + static_cast<std::ptrdiff_t>(first);
    if (std::set<int>(begin, begin + nics_per_host).size() != index(nics_per_host)) return false;
  }
  return nics_per_host > 1;
}

/// NICs by switch and rail; without rails all NICs are of one.
struct NicCounts {
  int rails = 1;
  std::vector<double> of;     ///< by row and rail
  std::vector<double> total;  ///< by rail

  NicCounts(const SwitchGraph& graph, const IrregularShape& shape, int nics_per_host)
      : rails{graph.rails ? nics_per_host : 1},
        of(graph.with_nics.size() * index(rails)),
        total(index(rails)) {
    for (std::size_t nic = 0; nic < shape.nics.size(); ++nic) {
      const std::size_t rail = nic % index(rails);
      of[index(graph.row[index(shape.nics[nic])]) * index(rails) + rail] += 1.0;
      total[rail] += 1.0;
    }
  }
  /// What the NICs of one switch send to those of another.
  [[nodiscard]] double sent(std::size_t from_row, std::size_t to_row) const {
    double sum = 0.0;
    for (std::size_t rail = 0; rail < total.size(); ++rail) {
      const double here = of[from_row * total.size() + rail];
      const double others = total[rail] - here;
      if (others > 0.0) sum += here * of[to_row * total.size() + rail] / others;
    }
    return sum;
  }
};

/// Adds what flows to one switch, from the farthest switches inwards.
void add_loads(const SwitchGraph& graph, const NicCounts& counts, std::size_t to_row,
               const std::vector<int>& order, std::vector<double>& load) {
  const int target = graph.with_nics[to_row];
  std::vector<double> passing(index(graph.switches), 0.0);
  for (std::size_t from = 0; from < graph.with_nics.size(); ++from)
    if (from != to_row) passing[index(graph.with_nics[from])] = counts.sent(from, to_row);
  for (const int at : order) {
    const int away = graph.hops_to(target, at);
    if (away == 0 || away == SwitchGraph::no_way || passing[index(at)] == 0.0) continue;
    const auto nearer = [&](int end) {
      return graph.hops_to(target, graph.far[index(end)]) == away - 1;
    };
    const auto begin = graph.out.begin() + graph.first[index(at)];
    const auto end = graph.out.begin() + graph.first[index(at) + 1];
    const double part = passing[index(at)] / static_cast<double>(std::count_if(begin, end, nearer));
    for (auto cable = begin; cable != end; ++cable) {
      if (!nearer(*cable)) continue;
      load[index(*cable)] += part;
      passing[index(graph.far[index(*cable)])] += part;
    }
  }
}

}  // namespace

std::variant<SwitchGraph, Infeasible> switch_graph(const IrregularShape& shape, int nics_per_host) {
  FORETRAIN_REQUIRE(nics_per_host >= 1);
  if (auto refused = refuse_numbers(shape, nics_per_host)) return *refused;
  SwitchGraph graph;
  for (const int at : shape.nics) graph.switches = std::max(graph.switches, at + 1);
  for (const SwitchPair& pair : shape.cables)
    graph.switches = std::max({graph.switches, pair.first + 1, pair.second + 1});
  const SwitchCables cables = cables_of(shape, graph.switches);
  if (!hosts_connected(shape, cables, nics_per_host))
    return Infeasible{"fabric-connected", "cluster.fabric.irregular.cables",
                      "some hosts have no network in common: no cables join their switches",
                      "add the cables that are missing"};
  list_cable_ends(shape, graph);
  graph.rails = on_rails(shape, nics_per_host);
  const std::set<int> used(shape.nics.begin(), shape.nics.end());
  graph.with_nics.assign(used.begin(), used.end());
  graph.row.assign(index(graph.switches), -1);
  for (std::size_t row = 0; row < graph.with_nics.size(); ++row)
    graph.row[index(graph.with_nics[row])] = static_cast<int>(row);
  if (!measure(cables, graph))
    return refused_map(".cables", "some switches are 255 cables apart or more",
                       "254 on a shortest path are the most that is modelled");
  return graph;
}

double busiest_cable(const SwitchGraph& graph, const IrregularShape& shape, int nics_per_host) {
  const NicCounts counts(graph, shape, nics_per_host);
  std::vector<double> load(graph.far.size(), 0.0);
  std::vector<int> order(index(graph.switches));
  for (std::size_t row = 0; row < graph.with_nics.size(); ++row) {
    const int target = graph.with_nics[row];
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(
        order, [&](int a, int b) { return graph.hops_to(target, a) > graph.hops_to(target, b); });
    add_loads(graph, counts, row, order, load);
  }
  return load.empty() ? 0.0 : *std::ranges::max_element(load);
}

int hosts_below_same_switches(const IrregularShape& shape, int nics_per_host) {
  const auto host = [&](std::size_t number) {
    return shape.nics.begin() + static_cast<std::ptrdiff_t>(number * index(nics_per_host));
  };
  const std::size_t hosts = shape.nics.size() / index(nics_per_host);
  int shortest = 0;
  int run = 1;
  for (std::size_t number = 1; number < hosts; ++number) {
    if (std::equal(host(number), host(number + 1), host(number - 1))) {
      ++run;
      continue;
    }
    shortest = shortest == 0 ? run : std::min(shortest, run);
    run = 1;
  }
  return shortest;
}

int longest_shortest_path(const SwitchGraph& graph) {
  int longest = 0;
  for (const int from : graph.with_nics)
    for (const int to : graph.with_nics)
      if (const int hops = graph.hops_to(to, from); hops != SwitchGraph::no_way)
        longest = std::max(longest, hops);
  return longest + 2;
}

}  // namespace foretrain
