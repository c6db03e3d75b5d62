// SPDX-License-Identifier: Apache-2.0

#include "topologies/imports/internal/network_builder.hpp"

#include <algorithm>
#include <array>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "models/base/ranges.hpp"
#include "topologies/fabrics/switch_graph.hpp"

namespace foretrain {
namespace {

using imports::in_quotes;
using imports::printable;

struct Generation {
  std::string_view name;
  double signalling;
  double nominal;
};
constexpr std::array<Generation, 9> generations{{{"SDR", 2.5, 2.5},
                                                 {"DDR", 5.0, 5.0},
                                                 {"QDR", 10.0, 10.0},
                                                 {"FDR10", 10.3125, 10.0},
                                                 {"FDR", 14.0625, 14.0},
                                                 {"EDR", 25.78125, 25.0},
                                                 {"HDR", 53.125, 50.0},
                                                 {"NDR", 106.25, 100.0},
                                                 {"XDR", 212.5, 200.0}}};

bool is_aggregation(std::string_view description) {
  return description.find("Aggregation Node") != std::string_view::npos;
}

/// "mlx5_10" after "mlx5_9".
std::pair<std::string, int> natural(const std::string& device) {
  const std::size_t digits = device.find_last_not_of("0123456789") + 1;
  return {device.substr(0, digits), count_in(device.substr(digits)).value_or(0)};
}

}  // namespace

std::optional<double> lane_gbit(std::string_view generation) {
  for (const Generation& known : generations)
    if (known.name == generation) return known.nominal;
  return std::nullopt;
}

std::optional<double> lane_gbit(double signalling) {
  for (const Generation& known : generations)
    if (std::abs(known.signalling - signalling) < 0.01 * known.signalling) return known.nominal;
  return std::nullopt;
}

int NetworkBuilder::index_of(const std::string& id) {
  const auto [found, added] = index_.emplace(id, static_cast<int>(nodes_.size()));
  if (added) nodes_.emplace_back();
  return found->second;
}

void NetworkBuilder::add_node(const std::string& id, bool is_switch, std::string_view description,
                              int ports, int line) {
  if (static_cast<int>(nodes_.size()) > import_hosts + import_switches)
    throw ImportError(line, "more than " + std::to_string(import_hosts) + " nodes");
  Node& node = nodes_[static_cast<std::size_t>(index_of(id))];
  node.is_switch = node.is_switch || is_switch;
  if (node.description.empty()) node.description = printable(description);
  node.ports = std::max(node.ports, ports);
  if (node.line == 0) node.line = line;
}

std::string NetworkBuilder::end_text(const End& end) const {
  return "port " + std::to_string(end.port) + " of " +
         in_quotes(nodes_[static_cast<std::size_t>(end.node)].description);
}

void NetworkBuilder::note_end(const End& from, const End& to, int line) {
  const auto [known, added] = peer_.emplace(from, to);
  if (!added && !(known->second == to))
    throw ImportError(line, end_text(from) + " leads to " + end_text(to) + " here and to " +
                                end_text(known->second) + " elsewhere");
}

void NetworkBuilder::add_cable(const PortName& near, const PortName& far, double gbit_per_second,
                               int line) {
  const End from{index_of(near.id), near.port};
  const End to{index_of(far.id), far.port};
  if (from == to) throw ImportError(line, end_text(from) + " leads to itself");
  const auto before = peer_.find(from);
  const bool seen = before != peer_.end() && before->second == to;
  note_end(from, to, line);
  note_end(to, from, line);
  if (seen) return;
  if (static_cast<int>(cables_.size()) >= import_cables)
    throw ImportError(line, "more than " + std::to_string(import_cables) + " cables");
  cables_.push_back({from, to, gbit_per_second, line});
}

/// Descriptions are "HOST DEVICE" where the driver knows the name of the host.
NetworkBuilder::Plug NetworkBuilder::plug_of(const Node& adapter, int number) {
  const auto parts = blank_words(adapter.description);
  const bool named = parts.size() == 2 && parts[1].find_first_of("0123456789") != parts[1].npos;
  Plug plug;
  if (named) {
    plug.host = parts[0];
    plug.device = parts[1];
    return plug;
  }
  ++unnamed_;
  plug.host = adapter.description + " #" + std::to_string(number);
  plug.device = "0";
  return plug;
}

void NetworkBuilder::add_plugs(std::vector<Plug>& plugs, NetworkDescription& result) {
  std::ranges::stable_sort(plugs, [](const Plug& a, const Plug& b) {
    return std::pair{a.host, natural(a.device)} < std::pair{b.host, natural(b.device)};
  });
  for (const Plug& plug : plugs) {
    if (result.hosts.empty() || result.hosts.back().name != plug.host)
      result.hosts.push_back({plug.host, 0, plug.line});
    FoundHost& host = result.hosts.back();
    result.host_cables.push_back({static_cast<int>(result.hosts.size()) - 1, host.nics++, plug.to,
                                  plug.gbit_per_second, plug.line});
  }
}

/// Notes what is left out.
/// @return by node: the number of its switch; -1 for adapters and aggregation nodes
std::vector<int> NetworkBuilder::add_switches(NetworkDescription& result) {
  std::vector<int> switch_of(nodes_.size(), -1);
  int aggregation = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].is_switch) {
      aggregation += is_aggregation(nodes_[i].description) ? 1 : 0;
      continue;
    }
    switch_of[i] = static_cast<int>(result.switches.size());
    // An odd port is that of the aggregation node inside: 65 of 64, 41 of 40, 37 of 36.
    result.switches.push_back(
        {nodes_[i].description, nodes_[i].ports - nodes_[i].ports % 2, nodes_[i].line});
  }
  if (aggregation > 0)
    notes_.ignored.push_back(std::to_string(aggregation) + " aggregation nodes of switches");
  return switch_of;
}

/// Those between switches; where adapters are plugged in is handed back.
std::vector<NetworkBuilder::Plug> NetworkBuilder::add_cables(const std::vector<int>& switch_of,
                                                             NetworkDescription& result) {
  std::vector<Plug> plugs;
  for (const Cable& cable : cables_) {
    const auto a = static_cast<std::size_t>(cable.from.node);
    const auto b = static_cast<std::size_t>(cable.to.node);
    if (is_aggregation(nodes_[a].description) || is_aggregation(nodes_[b].description)) continue;
    if (switch_of[a] >= 0 && switch_of[b] >= 0) {
      result.switch_cables.push_back(
          {switch_of[a], switch_of[b], cable.gbit_per_second, cable.line});
      continue;
    }
    if (switch_of[a] < 0 && switch_of[b] < 0)
      throw ImportError(cable.line, in_quotes(nodes_[a].description) + " and " +
                                        in_quotes(nodes_[b].description) +
                                        " are joined without a switch");
    const std::size_t adapter = switch_of[a] < 0 ? a : b;
    Plug plug = plug_of(nodes_[adapter], static_cast<int>(adapter));
    plug.to = switch_of[adapter == a ? b : a];
    plug.gbit_per_second = cable.gbit_per_second;
    plug.line = nodes_[adapter].line > 0 ? nodes_[adapter].line : cable.line;
    plugs.push_back(std::move(plug));
  }
  return plugs;
}

NetworkDescription NetworkBuilder::finish() {
  NetworkDescription result;
  const std::vector<int> switch_of = add_switches(result);
  std::vector<Plug> plugs = add_cables(switch_of, result);
  add_plugs(plugs, result);
  if (unnamed_ > 0)
    notes_.assumed.push_back(std::to_string(unnamed_) +
                             " adapters are one host each: their descriptions name none, as in "
                             "\"node01 mlx5_0\"");
  return result;
}

}  // namespace foretrain

namespace foretrain::imports {
namespace {

/// Hosts with the usual number of NICs; storage and management hosts have another.
void choose_hosts(const NetworkDescription& network, NetworkPlanes& planes, ImportNotes& notes) {
  if (network.hosts.empty()) throw ImportError(0, "has no host with a cable to a switch");
  std::vector<int> counts;
  for (const FoundHost& host : network.hosts) counts.push_back(host.nics);
  planes.nics = usual(counts);
  std::vector<std::string> others;
  planes.taken.assign(network.hosts.size(), false);
  for (std::size_t i = 0; i < network.hosts.size(); ++i) {
    planes.taken[i] = network.hosts[i].nics == planes.nics;
    if (planes.taken[i])
      ++planes.hosts;
    else
      others.push_back(network.hosts[i].name + " (" + std::to_string(network.hosts[i].nics) +
                       " NICs)");
  }
  if (!others.empty())
    notes.ignored.push_back(std::to_string(others.size()) + " hosts without " +
                            std::to_string(planes.nics) + " NICs: " + some_of(others));
}

/// The NIC's rate; one that is slower than others has a bad cable.
void check_rates(const NetworkDescription& network, NetworkPlanes& planes, ImportNotes& notes) {
  std::vector<double> rates;
  for (const HostCable& cable : network.host_cables)
    if (planes.taken[index(cable.host)]) rates.push_back(cable.gbit_per_second);
  planes.gbit = usual(rates);
  std::vector<std::string> odd;
  for (const HostCable& cable : network.host_cables)
    if (planes.taken[index(cable.host)] && cable.gbit_per_second != planes.gbit)
      odd.push_back(network.hosts[index(cable.host)].name);
  if (!odd.empty())
    notes.assumed.push_back(std::to_string(odd.size()) +
                            " NICs run at the usual rate, though "
                            "the file has another: " +
                            some_of(odd));
}

/// Parts of the switches that no cable joins.
void split_planes(const NetworkDescription& network, NetworkPlanes& planes, ImportNotes& notes) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> graph(
      network.switches.size());
  for (const SwitchCable& cable : network.switch_cables)
    boost::add_edge(index(cable.first), index(cable.second), graph);
  std::vector<int> part(network.switches.size());
  boost::connected_components(graph, part.data());
  std::map<int, int> number;  // parts with a host, in order
  for (const HostCable& cable : network.host_cables)
    if (planes.taken[index(cable.host)])
      number.emplace(part[index(cable.to)], static_cast<int>(number.size()));
  planes.count = static_cast<int>(number.size());
  planes.plane.assign(network.switches.size(), -1);
  std::vector<std::string> apart;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const auto found = number.find(part[i]);
    if (found == number.end())
      apart.push_back(network.switches[i].name);
    else
      planes.plane[i] = found->second;
  }
  if (!apart.empty())
    notes.ignored.push_back(std::to_string(apart.size()) +
                            " switches without a way to these hosts: " + some_of(apart));
}

/// Separate networks are rails where every host has one NIC in each.
void check_rails(const NetworkDescription& network, const NetworkPlanes& planes) {
  std::vector<std::set<int>> reach(network.hosts.size());
  for (const HostCable& cable : network.host_cables)
    reach[index(cable.host)].insert(planes.plane[index(cable.to)]);
  for (const HostCable& cable : network.host_cables) {
    if (!planes.taken[index(cable.host)]) continue;
    const int reached = static_cast<int>(reach[index(cable.host)].size());
    if (reached == planes.count && planes.nics == planes.count) continue;
    throw ImportError(cable.line,
                      "host " + in_quotes(network.hosts[index(cable.host)].name) + " has " +
                          std::to_string(planes.nics) + " NICs in " + std::to_string(reached) +
                          " of " + std::to_string(planes.count) +
                          " networks that no cable joins; either all hosts reach one network, or "
                          "each has one NIC in every rail");
  }
}

}  // namespace

FoundSwitches found_switches(const NetworkDescription& network, const NetworkPlanes& planes) {
  FoundSwitches found;
  found.nics_per_host = planes.nics;
  found.gbit_per_second = planes.gbit;
  std::vector<int> number(network.switches.size(), -1);
  for (std::size_t i = 0; i < network.switches.size(); ++i) {
    if (planes.plane[i] < 0) continue;
    number[i] = static_cast<int>(found.names.size());
    found.names.push_back(network.switches[i].name);
  }
  std::map<std::pair<int, int>, int> plugged;  // switch by host and NIC
  for (const HostCable& cable : network.host_cables)
    if (planes.taken[index(cable.host)]) plugged[{cable.host, cable.nic}] = number[index(cable.to)];
  for (const auto& [nic, to] : plugged) found.shape.nics.push_back(to);
  std::map<std::pair<int, int>, int> pairs;
  for (const SwitchCable& cable : network.switch_cables) {
    if (planes.plane[index(cable.first)] < 0) continue;
    const double times = planes.gbit > 0.0 ? cable.gbit_per_second / planes.gbit : 1.0;
    if (times < 1.0 || times != std::floor(times)) {
      found.refused = "line " + std::to_string(cable.line) + " has a cable of " +
                      std::to_string(std::lround(cable.gbit_per_second)) +
                      " Gbit/s between switches, where NICs run at " +
                      std::to_string(std::lround(planes.gbit)) +
                      "; in an irregular fabric a cable has a NIC's rate or a multiple of it";
      return found;
    }
    pairs[std::minmax(number[index(cable.first)], number[index(cable.second)])] +=
        static_cast<int>(times);
  }
  for (const auto& [ends, cables] : pairs)
    found.shape.cables.push_back({ends.first, ends.second, cables});
  const auto graph = switch_graph(found.shape, planes.nics);
  if (const auto* refused = std::get_if<Infeasible>(&graph)) found.refused = refused->message;
  return found;
}

NetworkPlanes network_planes(const NetworkDescription& network, ImportNotes& notes) {
  NetworkPlanes planes;
  choose_hosts(network, planes, notes);
  check_rates(network, planes, notes);
  split_planes(network, planes, notes);
  if (planes.count > 1) check_rails(network, planes);
  return planes;
}

}  // namespace foretrain::imports
