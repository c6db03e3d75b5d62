// SPDX-License-Identifier: Apache-2.0
#include "sim/flows/link_load.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "models/base/ranges.hpp"
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

LinkLoads LinkSum::take() {
  LinkLoads loads;
  loads.reserve(std::exchange(count_, 0));
  for (std::size_t p = 0; p < pages_.size(); ++p)
    for (std::uint64_t page = std::exchange(pages_[p], 0); page != 0; page &= page - 1) {
      const std::size_t w = 64 * p + static_cast<std::size_t>(std::countr_zero(page));
      for (std::uint64_t word = std::exchange(touched_[w], 0); word != 0; word &= word - 1) {
        const std::size_t link = 64 * w + static_cast<std::size_t>(std::countr_zero(word));
        loads.push_back({static_cast<LinkId>(link), std::exchange(bytes_[link], 0.0)});
      }
    }
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
  const auto add = [&, each = bytes / flows](std::span<const LinkId> links) { put(links, each); };
  if (!routes(fabric_, from, to, flows, spray_, choice_, route_, add))
    throw FabricCut("no way is left from " + node_name(fabric_, from) + " to " +
                    node_name(fabric_, to));
}

void LoadBuilder::put(std::span<const LinkId> links, double bytes) {
  for (const LinkId link : links) {
    sum_.add(link, bytes);
    if (load_.empty()) continue;
    if (load_[index(link)] == 0.0) loaded_.push_back(link);
    load_[index(link)] += bytes;
  }
  if (keeps_flows_) flows_.push_back({{links.begin(), links.end()}, bytes});
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
