// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/link_load.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "models/base/index.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

/// Runs of members in one scale-up domain, as offsets; one more at the end.
std::vector<std::size_t> domains_of(std::span<const int> members, int gpus_per_domain) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < members.size(); ++i)
    if (i == 0 || members[i] / gpus_per_domain != members[i - 1] / gpus_per_domain)
      begins.push_back(i);
  begins.push_back(members.size());
  return begins;
}

}  // namespace

void LinkSum::order_touched() {
  constexpr std::size_t few = 16;  // sorting more takes longer than looking at every link
  if (touched_.size() * few < bytes_.size()) return std::sort(touched_.begin(), touched_.end());
  touched_.clear();
  for (std::size_t link = 0; link < bytes_.size(); ++link)
    if (bytes_[link] != 0.0) touched_.push_back(static_cast<LinkId>(link));
}

LinkLoads LinkSum::take() {
  order_touched();
  LinkLoads loads;
  loads.reserve(touched_.size());
  for (const LinkId link : touched_)
    loads.push_back({link, std::exchange(bytes_[index(link)], 0.0)});
  touched_.clear();
  return loads;
}

LoadBuilder::LoadBuilder(const Fabric& fabric, const Simulation& simulation, const LinkSet* down)
    : fabric_{fabric},
      connections_{flows_between_hosts(fabric, simulation.routing, simulation.connections)},
      spray_{simulation.routing == RoutingKind::spray},
      load_(simulation.routing == RoutingKind::adaptive ? index(fabric.links()) : 0),
      sum_(index(fabric.links())) {
  FORETRAIN_REQUIRE(connections_ >= 1);
  choice_.seed = simulation.seed;
  choice_.down = down;
  if (!load_.empty()) choice_.load = &load_;
}

void LoadBuilder::send(int from, int to, double bytes) {
  if (from == to || bytes <= 0.0) return;
  const int gpus = fabric_.spec.packing().domain;
  const int flows = from / gpus == to / gpus ? 1 : connections_;
  for (choice_.flow = 0; choice_.flow < flows; ++choice_.flow) {
    if (spray_) choice_.uplink = spray_uplink(fabric_, choice_.flow);
    send_one(from, to, bytes / flows);
  }
}

void LoadBuilder::send_one(int from, int to, double bytes) {
  if (!route(fabric_, from, to, choice_, route_))
    throw FabricCut("no way is left from " + node_name(fabric_, from) + " to " +
                    node_name(fabric_, to));
  if (values_ != nullptr) {
    for (const LinkId link : route_) highest_ = std::max(highest_, (*values_)[index(link)]);
    return;
  }
  for (const LinkId link : route_) {
    sum_.add(link, bytes);
    if (load_.empty()) continue;
    if (load_[index(link)] == 0.0) loaded_.push_back(link);
    load_[index(link)] += bytes;
  }
  if (keeps_flows_) flows_.push_back({route_, bytes});
}

void LoadBuilder::ring(std::span<const int> members, double bytes) {
  const std::vector<std::size_t> begins = domains_of(members, fabric_.spec.packing().domain);
  const std::size_t domains = begins.size() - 1;
  std::size_t channels = members.size();
  for (std::size_t d = 0; d < domains; ++d)
    channels = std::min(channels, begins[d + 1] - begins[d]);
  for (std::size_t d = 0; d < domains; ++d) {
    const auto here = members.subspan(begins[d], begins[d + 1] - begins[d]);
    const auto size = static_cast<double>(here.size());
    // Within the only domain a ring closes; on the way through a domain a channel passes all
    // members but leaves from another one than it entered, so an edge in n is left out.
    const double inside = domains == 1 ? bytes : bytes * (size - 1.0) / size;
    if (here.size() > 1)
      for (std::size_t i = 0; i < here.size(); ++i)
        send(here[i], here[(i + 1) % here.size()], inside);
    if (domains == 1) continue;
    const std::size_t onward = begins[(d + 1) % domains];
    for (std::size_t c = 0; c < channels; ++c)
      send(here[c], members[onward + c], bytes / static_cast<double>(channels));
  }
}

void LoadBuilder::exchange(std::span<const int> members, double bytes) {
  if (members.size() < 2) return;
  const double each = bytes / static_cast<double>(members.size() - 1);
  for (const int from : members)
    for (const int to : members) send(from, to, each);
}

std::vector<RoutedFlow> LoadBuilder::take_flows() { return std::exchange(flows_, {}); }

void LoadBuilder::forget_load() {
  for (const LinkId link : loaded_) load_[index(link)] = 0.0;
  loaded_.clear();
}

}  // namespace foretrain
