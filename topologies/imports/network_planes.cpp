// SPDX-License-Identifier: Apache-2.0
#include "topologies/imports/internal/network_planes.hpp"
#include "models/base/index.hpp"
#include "topologies/fabrics/switch_graph.hpp"

#include <cmath>
#include <set>
#include <string>
#include <utility>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>

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
