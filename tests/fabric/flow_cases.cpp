// SPDX-License-Identifier: Apache-2.0
// Micro-cases of fabrics, one JSON object per line of standard input: builds the fabric, lets its
// flows share links, and prints {"value", "cpu_s"}. The rows are those of
// calibration/measured/fabric.yaml that no command of the program asks (tests/fabric_page.py).
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/base/ranges.hpp"
#include "scenarios/yaml/units_text.hpp"
#include "sim/flows/flow_network.hpp"
#include "sim/flows/max_min.hpp"
#include "topologies/fabrics/clos.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/routes/routing.hpp"

using namespace foretrain;
using nlohmann::json;

namespace {

double quantity(const json& row, const char* key, Dimension dimension) {
  const auto parsed = parse_quantity(row.at(key).get<std::string>(), dimension);
  if (!parsed.value) throw std::runtime_error(std::string(key) + ": " + parsed.error);
  return *parsed.value;
}

FabricKind kind_of_network(const std::string& name) {
  const auto kind = from_name<FabricKind>(name);
  if (!kind) throw std::runtime_error("no kind of network: " + name);
  return *kind;
}

/// A ring of switches with a NIC on each.
std::shared_ptr<const IrregularShape> ring_of(int switches) {
  auto shape = std::make_shared<IrregularShape>();
  for (int at = 0; at < switches; ++at) {
    shape->nics.push_back(at);
    const int next = (at + 1) % switches;
    shape->cables.push_back({std::min(at, next), std::max(at, next), 1});
  }
  return shape;
}

/// Hosts of one GPU and one NIC unless `gpus` and `nics` say otherwise; what is inside them never
/// limits. `mesh` is one host whose GPUs have a cable to each other.
FabricSpec spec_of(const json& row) {
  const BytesPerSecond rate{quantity(row, "rate", Dimension::bandwidth)};
  const std::string kind = row.at("kind");
  FabricSpec spec;
  spec.hosts = row.value("hosts", 1);
  spec.host.gpus = row.value("gpus", 1);
  spec.host.ports = row.value("ports", 1);
  spec.host.nics = row.value("nics", 1) * spec.host.ports;
  spec.host.gpu_link = spec.host.pcie = rate * 1e6;
  spec.host.nic = rate;
  if (kind == "mesh") {
    spec.host.scale_up = ScaleUpKind::nvlink_mesh;
    spec.host.gpu_link = rate * (spec.host.gpus - 1.0);
  } else if (kind == "ring") {
    spec.network = ring_of(spec.hosts);
  } else {
    spec.network = ClosShape{kind_of_network(kind),
                             row.value("radix", 64),
                             row.value("oversubscription", 1.0),
                             1.0,
                             false,
                             row.value("joined_ports", false)};
  }
  return spec;
}

Fabric fabric_of(const json& row) {
  auto built = build_fabric(spec_of(row));
  if (const auto* refused = std::get_if<Infeasible>(&built))
    throw std::runtime_error(refused->message);
  return std::move(std::get<Fabric>(built));
}

/// Links that a cable of `wire` is made of; those inside hosts take no time.
bool is_wire(LinkKind kind, bool nics) {
  return kind == LinkKind::leaf_spine || kind == LinkKind::spine_core || kind == LinkKind::trunk ||
         (nics && (kind == LinkKind::nic || kind == LinkKind::gpu_link));
}

/// What a row says of its flows besides who sends to whom.
struct Traffic {
  const json& row;
  Fabric fabric;
  FlowNetwork network;
  LinkSet down;

  explicit Traffic(const json& of) : row{of}, fabric{fabric_of(of.at("fabric"))} {
    const double payload = row.value("payload", 1.0);
    for (const double rate : fabric.capacity) network.links.emplace_back(rate * payload);
    if (row.contains("slow")) slow_down(row.at("slow"));
    if (row.contains("down")) down = lost({row.at("down").get<std::string>()});
  }

  [[nodiscard]] LinkSet lost(const std::vector<std::string>& names) const {
    auto links = failed_links(fabric, names);
    if (const auto* refused = std::get_if<Infeasible>(&links))
      throw std::runtime_error(refused->message);
    return std::get<LinkSet>(links);
  }
  void slow_down(const json& slow) {
    const LinkSet links = lost({slow.at("link").get<std::string>()});
    for (std::size_t link = 0; link < links.size(); ++link)
      if (links[link])
        network.links[link] = BytesPerSecond{quantity(slow, "rate", Dimension::bandwidth)};
  }
  [[nodiscard]] Seconds latency(const std::vector<LinkId>& way) const {
    if (!row.contains("latency")) return {};
    const Seconds each{quantity(row, "latency", Dimension::time)};
    if (row.value("latency_of", "flow") == "flow") return each;
    const bool nics = row.value("latency_of", "") == "every cable";
    return each * static_cast<double>(std::count_if(way.begin(), way.end(), [&](LinkId link) {
             return is_wire(fabric.kind[index(link)], nics);
           }));
  }
};

struct Pair {
  int from, to;
};

/// The ways of one pair: one per connection, each with its own hash.
std::vector<std::vector<LinkId>> ways_of(const Traffic& traffic, Pair pair, std::uint64_t seed,
                                         std::vector<double>* load) {
  RouteChoice choice;
  choice.seed = seed;
  choice.load = load;
  if (!traffic.down.empty()) choice.down = &traffic.down;
  const RoutingKind routing = from_name<RoutingKind>(traffic.row.value("routing", "ecmp")).value();
  std::vector<std::vector<LinkId>> ways(
      index(flows_between_hosts(traffic.fabric, routing, traffic.row.value("connections", 1))));
  for (auto& way : ways) {
    if (routing == RoutingKind::spray) choice.uplink = spray_uplink(traffic.fabric, choice.flow);
    if (!route(traffic.fabric, pair.from, pair.to, choice, way))
      throw std::runtime_error("no way is left");
    ++choice.flow;
    if (load == nullptr) continue;
    for (const LinkId link : way) (*load)[index(link)] += 1.0;
  }
  return ways;
}

/// In lock step a pair's bytes are one activity with a share per link; apart, every connection
/// moves its part at its own rate.
std::vector<Flow> flows_of(const Traffic& traffic, Pair pair, std::uint64_t seed,
                           std::vector<double>* load) {
  const auto ways = ways_of(traffic, pair, seed, load);
  const double bytes =
      traffic.row.contains("bytes") ? quantity(traffic.row, "bytes", Dimension::bytes) : 1.0;
  const double part = 1.0 / static_cast<double>(ways.size());
  std::vector<Flow> flows;
  if (traffic.row.value("sharing", "lock-step") == "apart") {
    for (const auto& way : ways) {
      Flow flow;
      for (const LinkId link : way) flow.route.push_back({static_cast<std::uint32_t>(link), 1.0});
      flow.bytes = Bytes{bytes * part};
      flow.latency = traffic.latency(way);
      flows.push_back(std::move(flow));
    }
    return flows;
  }
  std::map<LinkId, double> shares;
  for (const auto& way : ways)
    for (const LinkId link : way) shares[link] += part;
  Flow flow;
  for (const auto& [link, share] : shares)
    flow.route.push_back({static_cast<std::uint32_t>(link), share});
  flow.bytes = Bytes{bytes};
  flow.latency = traffic.latency(ways.front());
  flows.push_back(std::move(flow));
  return flows;
}

/// A permutation without fixed points, or the pairs that the row lists.
std::vector<Pair> pairs_of(const Traffic& traffic, std::uint64_t seed) {
  std::vector<Pair> pairs;
  if (traffic.row.contains("pairs")) {
    for (const json& pair : traffic.row.at("pairs")) pairs.push_back({pair.at(0), pair.at(1)});
    return pairs;
  }
  const int hosts = traffic.fabric.gpus();
  if (traffic.row.value("everyone", "permutation") == "all-to-all") {
    for (int from = 0; from < hosts; ++from)
      for (int to = 0; to < hosts; ++to)
        if (from != to) pairs.push_back({from, to});
    return pairs;
  }
  std::vector<int> to(index(hosts));
  std::iota(to.begin(), to.end(), 0);
  std::mt19937_64 engine{seed};
  for (std::size_t i = to.size() - 1; i > 0; --i) std::swap(to[i], to[engine() % i]);
  for (int from = 0; from < hosts; ++from) pairs.push_back({from, to[index(from)]});
  return pairs;
}

/// By pair: when its last byte arrived, us, or its rate while all send, Gbit/s.
std::vector<double> results(const Traffic& traffic, std::uint64_t seed, bool rates) {
  std::vector<double> load(
      traffic.row.value("routing", "ecmp") == "adaptive" ? index(traffic.fabric.links()) : 0);
  const std::vector<Pair> pairs = pairs_of(traffic, seed);
  std::vector<double> result(pairs.size(), 0.0);
  std::unique_ptr<FlowSimulation> simulation =
      rates ? nullptr : make_flow_simulation(traffic.network);
  MaxMin sharing{traffic.network};
  std::vector<std::size_t> owner;
  for (std::size_t p = 0; p < pairs.size(); ++p)
    for (const Flow& flow : flows_of(traffic, pairs[p], seed, load.empty() ? nullptr : &load)) {
      if (rates)
        sharing.add(static_cast<std::uint32_t>(owner.size()), flow.route, 1.0);
      else
        simulation->start(flow, p);
      owner.push_back(p);
    }
  if (rates) {
    sharing.solve();
    for (std::size_t f = 0; f < owner.size(); ++f)
      result[owner[f]] += sharing.rate(static_cast<std::uint32_t>(f)) * 8e-9;
  } else {
    simulation->run([&](std::uint64_t pair) { result[pair] = simulation->now().in(us); });
  }
  return result;
}

/// "mean", "p50" (nearest rank), "last" (p100), "first" (p0) or "#3", a pair by number.
double reported(std::vector<double> values, const std::string& report) {
  if (report == "mean")
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  if (report[0] == '#') return values.at(std::stoul(report.substr(1)));
  std::sort(values.begin(), values.end());
  if (report == "first") return values.front();
  if (report == "last") return values.back();
  const double part = std::stod(report.substr(1)) / 100.0;
  return values[static_cast<std::size_t>(
      std::lround(part * static_cast<double>(values.size() - 1)))];
}

double mean_over_seeds(const json& row, const std::function<double(std::uint64_t)>& value) {
  const int seeds = row.value("seeds", 1);
  double sum = 0.0;
  for (int seed = 1; seed <= seeds; ++seed) sum += value(static_cast<std::uint64_t>(seed));
  return sum / seeds;
}

/// Completion times in us, or rates in Gbit/s, of flows that all start at once.
double flows(const json& row) {
  const Traffic traffic{row};
  const bool rates = row.value("quantity", "time") == "rate";
  return mean_over_seeds(row, [&](std::uint64_t seed) {
    return reported(results(traffic, seed, rates), row.at("report"));
  });
}

/// One message handed on link by link, each hop when the last one is complete: us.
double relay(const json& row) {
  const Traffic traffic{row};
  const auto pairs = pairs_of(traffic, 1);
  const auto way = ways_of(traffic, pairs.front(), 1, nullptr).front();
  const bool nics = row.value("latency_of", "") == "every cable";
  std::vector<LinkId> wires;
  for (const LinkId link : way)
    if (is_wire(traffic.fabric.kind[index(link)], nics)) wires.push_back(link);
  auto simulation = make_flow_simulation(traffic.network);
  const auto hand_on = [&](std::size_t hop) {
    Flow flow;
    flow.route = {{static_cast<std::uint32_t>(wires[hop]), 1.0}};
    flow.bytes = Bytes{quantity(row, "bytes", Dimension::bytes)};
    flow.latency = traffic.latency({wires[hop]});
    simulation->start(flow, hop);
  };
  hand_on(0);
  simulation->run([&](std::uint64_t hop) {
    if (hop + 1 < wires.size()) hand_on(hop + 1);
  });
  return simulation->now().in(us);
}

/// Flows of as many pairs below two leaves, by the cable that the hash gives them: the mean share
/// of cables without a flow ("unused"), the share of seeds where no two flows meet ("distinct"), or
/// the mean of the fullest cable over the mean cable ("fullest").
double cables(const json& row) {
  const Traffic traffic{row};
  const int senders = row.at("flows");
  const int each = row.value("connections", 1);
  const int below = traffic.fabric.clos.hosts_per_leaf;
  const std::string report = row.at("report");
  if (below == 0) throw std::runtime_error("all hosts are below one switch");
  return mean_over_seeds(row, [&](std::uint64_t seed) {
    std::map<LinkId, int> used;
    for (int flow = 0; flow < senders; ++flow)
      for (const auto& way :
           ways_of(traffic, {flow % below, below + flow % below},
                   seed * 100003 + static_cast<std::uint64_t>(flow / below), nullptr))
        for (const LinkId link : way)
          if (traffic.fabric.kind[index(link)] == LinkKind::leaf_spine && link % 2 == 0)
            ++used[link];
    const int uplinks = traffic.fabric.clos.uplinks_per_leaf;
    if (report == "unused") return 1.0 - static_cast<double>(used.size()) / uplinks;
    int most = 0;
    for (const auto& [link, count] : used) most = std::max(most, count);
    if (report == "distinct") return most == 1 ? 1.0 : 0.0;
    return most * static_cast<double>(uplinks) / (senders * each);
  });
}

/// What arrives on the fuller port of a NIC over what arrives on the emptier, the most of all
/// receivers of a permutation; a port that nothing arrives on counts as one flow.
double port_imbalance(const json& row) {
  const Traffic traffic{row};
  return mean_over_seeds(row, [&](std::uint64_t seed) {
    std::map<int, std::vector<double>> arrived;
    for (const Pair pair : pairs_of(traffic, seed))
      for (const auto& way : ways_of(traffic, pair, seed, nullptr))
        for (const LinkId link : way) {
          if (traffic.fabric.kind[index(link)] != LinkKind::nic || link % 2 == 0) continue;
          auto& ports = arrived[pair.to];
          ports.resize(2);
          ports[index((link - traffic.fabric.first_nic_link) / 2 % 2)] += 1.0;
        }
    double most = 1.0;
    for (const auto& [to, ports] : arrived)
      most = std::max(most,
                      std::max(ports[0], ports[1]) / std::max(1.0, std::min(ports[0], ports[1])));
    return most;
  });
}

/// Hosts that the largest network of so many tiers connects.
double largest(const json& row) {
  const int tiers = row.at("tiers");
  const auto fits = [&](int hosts) {
    ClosSpec spec;
    spec.kind = kind_of_network(row.value("kind", "fat-tree"));
    spec.hosts = hosts;
    spec.nics_per_host = spec.gpus_per_host = 1;
    spec.switch_radix = row.at("radix");
    const auto sized = clos_network(spec);
    const auto* network = std::get_if<ClosNetwork>(&sized);
    return network != nullptr && network->tiers <= tiers;
  };
  int low = 1, high = 1 << 21;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low * static_cast<double>(row.value("planes", 1));
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

json answer(const json& row) {
  static const std::map<std::string, double (*)(const json&)> measures{
      {"flows", flows},
      {"relay", relay},
      {"cables", cables},
      {"largest", largest},
      {"port imbalance", port_imbalance}};
  const double begin = cpu_seconds();
  const double value = measures.at(row.at("measure"))(row);
  return {{"value", value}, {"cpu_s", cpu_seconds() - begin}};
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    try {
      std::cout << answer(json::parse(line)).dump() << std::endl;
    } catch (const std::exception& error) {
      std::cout << json{{"error", error.what()}}.dump() << std::endl;
    }
  }
}
