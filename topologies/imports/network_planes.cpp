// SPDX-License-Identifier: Apache-2.0
#include "topologies/imports/internal/network_planes.hpp"
#include "models/base/index.hpp"

#include <set>
#include <string>

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
                      "host " + quoted(network.hosts[index(cable.host)].name) + " has " +
                          std::to_string(planes.nics) + " NICs in " + std::to_string(reached) +
                          " of " + std::to_string(planes.count) +
                          " networks that no cable joins; either all hosts reach one network, or "
                          "each has one NIC in every rail");
  }
}

}  // namespace

NetworkPlanes network_planes(const NetworkDescription& network, ImportNotes& notes) {
  NetworkPlanes planes;
  choose_hosts(network, planes, notes);
  check_rates(network, planes, notes);
  split_planes(network, planes, notes);
  if (planes.count > 1) check_rails(network, planes);
  return planes;
}

}  // namespace foretrain::imports
