// SPDX-License-Identifier: Apache-2.0
#include "models/collectives/collective_choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "models/base/require.hpp"
#include "models/network/network_share.hpp"

namespace foretrain {
namespace {

/// Of fabrics without a size sweep, fitted on all points between hosts in
/// calibration/measured/nccl_sweeps.csv; hops on top of the preset's latencies.
constexpr FabricProtocols usual_protocols{
    {{{5.2 * us, 0.25}, {20.2 * us, 0.44}, {31.2 * us, 1.0}}}, 0.3 * us, 75.0 * us};
constexpr double tree_share = 0.94;      // of the rate a ring would reach
constexpr double exchange_share = 0.89;  // all-to-all: many flows share a NIC
constexpr int in_switch_fewest = 5;      // with 4 ranks it gains nothing over a ring (H200 sweeps)

/// A group as the cost lines see it.
struct Geometry {
  double ranks;
  double hosts;
  double per_host;
  BytesPerSecond link;      ///< of one rank, scale-up
  BytesPerSecond nic;       ///< of one rank, large messages
  FabricProtocols between;  ///< hops with all that the fabric adds
};

bool is_ring_op(CollectiveOp op) {
  return op == CollectiveOp::all_reduce || op == CollectiveOp::all_gather ||
         op == CollectiveOp::reduce_scatter || op == CollectiveOp::broadcast ||
         op == CollectiveOp::reduce;
}

Geometry geometry_of(CollectiveOp op, const CommGroup& group, const CollectivePath& path) {
  const Network& network = path.cluster.network;
  const bool all_pairs = !is_ring_op(op) && op != CollectiveOp::send;
  double fabric = 1.0;
  if (group.domains() > 1)
    fabric = all_pairs ? all_pairs_share(path.cluster, group.span_hosts)
                       : shift_share(path.cluster, group.hosts_apart(), group.span_hosts);
  FabricProtocols between = network.protocols.value_or(usual_protocols);
  const Seconds added = network.protocols ? Seconds{} : network.step_latency;
  for (HostCrossing& crossing : between.crossing)
    crossing.hop += added + path_latency(network, group.span_hosts);
  return {static_cast<double>(group.ranks),
          static_cast<double>(group.domains()),
          static_cast<double>(group.ranks_per_domain),
          path.cluster.host.gpu_link.bandwidth,
          path.cluster.inter_host_bandwidth_per_gpu() * network.nic_link.achievable * fabric,
          between};
}

/// What a ring does: `passes` times around, every rank passing on `traffic` in all; `own` stands
/// for its own part.
struct RingWork {
  double passes;
  Bytes traffic;
  Bytes own;
};

RingWork ring_work(CollectiveOp op, const Geometry& at, Bytes payload,
                   const CollectiveProtocols& protocols) {
  const double others = (at.ranks - 1.0) / at.ranks;
  const Bytes part = payload / at.ranks;
  if (op == CollectiveOp::all_reduce)
    return {2.0, 2.0 * others * payload, protocols.all_reduce_own * part};
  if (op == CollectiveOp::broadcast || op == CollectiveOp::reduce) return {1.0, payload, Bytes{}};
  return {1.0, others * payload, protocols.gather_own * part};
}

BytesPerSecond ring_rate(const Geometry& at, const ProtocolLine& line,
                         const HostCrossing& between) {
  const BytesPerSecond inside = line.share * at.link;
  if (at.hosts <= 1.0) return inside;
  const BytesPerSecond out = at.per_host * between.nic_share * at.nic;
  return at.per_host > 1.0 ? min(inside, out) : out;
}

Seconds ring(const RingWork& work, const Geometry& at, const ProtocolLine& line,
             const HostCrossing& between) {
  const double crossings = at.hosts - 1.0;
  const Seconds steps = (at.ranks - at.hosts) * line.step + crossings * between.hop;
  return line.base + work.passes * steps + work.traffic / ring_rate(at, line, between) +
         work.own / (line.share * at.link);
}

/// How often the payload passes a host's NICs, one way: two hosts swap their sums; with more, inner
/// hosts of the tree receive from below and from above.
double tree_crossings(const Geometry& at) { return at.hosts <= 2.0 ? 1.0 : 2.0; }

Seconds climb(const Geometry& at, const HostCrossing& between) {
  return 2.0 * std::log2(at.hosts) * between.hop;
}

/// Chains inside the hosts, two complementary binary trees between them.
Seconds tree(Bytes payload, const Geometry& at, const ProtocolLine& line,
             const HostCrossing& between) {
  const Seconds out =
      tree_crossings(at) * payload / (at.per_host * between.nic_share * tree_share * at.nic);
  const Seconds inside = payload / (line.share * tree_share / 2.0 * at.link);
  const Seconds chain = 2.0 * (at.per_host - 1.0) * line.step;
  return line.base + chain + climb(at, between) + (at.per_host > 1.0 ? max(out, inside) : out);
}

/// Every pair exchanges its part; `payload` is what one rank sends or receives in all, `own` stands
/// for the part that stays.
Seconds exchange(Bytes payload, Bytes own, const Geometry& at, const ProtocolLine& line,
                 const HostCrossing& between) {
  const Seconds inside = ((at.per_host - 1.0) / at.ranks * payload + own) / (line.share * at.link);
  if (at.hosts <= 1.0) return line.base + (at.ranks - 1.0) * line.step + inside;
  const double remote = at.ranks - at.per_host;
  const Seconds out = remote / at.ranks * payload / (exchange_share * between.nic_share * at.nic);
  return line.base + between.hop + remote * at.between.exchange_post + max(inside, out);
}

/// Reduction in the switch of one host, or of every host with a tree between them.
bool has_in_switch(CollectiveOp op, const CommGroup& group, const CollectivePath& path) {
  return op == CollectiveOp::all_reduce && group.ranks_per_domain >= in_switch_fewest &&
         path.cluster.host.scale_up == ScaleUpKind::nvswitch &&
         path.device.protocols.in_switch.share > 0.0;
}

CollectiveChoice in_switch(Bytes payload, const Geometry& at, const CollectivePath& path) {
  const ProtocolLine& line = path.device.protocols.in_switch;
  // Gain over a ring: none at 4 ranks, 1.29 at 8 (H200; collectives of 5, 6 and 7 in between).
  constexpr double gain_of_eight = 1.29;
  const double ranks = std::min(at.per_host, 8.0);
  const double gain = 1.0 + (gain_of_eight - 1.0) * (ranks - 4.0) / 4.0;
  const BytesPerSecond bus = line.share * (gain / gain_of_eight) * at.link;
  const Seconds inside = 2.0 * (at.per_host - 1.0) / at.per_host * payload / bus;
  // Parts follow each other through the switch: with `step` per part and the best number of parts,
  // what the first one waits and what all of them cost besides are sqrt(step * W) each.
  const auto in_parts = [&](Seconds whole) {
    return whole + Seconds{2.0 * std::sqrt(line.step.value() * whole.value())};
  };
  if (at.hosts <= 1.0)
    return {CollectiveAlgorithm::in_switch, Protocol::simple, line.base + in_parts(inside)};
  const HostCrossing& between = at.between.crossing.back();
  const Seconds out =
      tree_crossings(at) * payload / (at.per_host * between.nic_share * tree_share * at.nic);
  return {CollectiveAlgorithm::in_switch_tree, Protocol::simple,
          at.between.in_switch_tree_base + climb(at, between) + in_parts(max(inside, out))};
}

const ProtocolLines& lines_of(CollectiveOp op, const CollectiveProtocols& protocols) {
  if (op == CollectiveOp::all_reduce) return protocols.all_reduce;
  return is_ring_op(op) ? protocols.gather : protocols.exchange;
}

}  // namespace

std::vector<CollectiveChoice> collective_choices(CollectiveOp op, const CommGroup& group,
                                                 Bytes payload, const CollectivePath& path) {
  FORETRAIN_REQUIRE(group.ranks >= 2 && payload > Bytes{});
  FORETRAIN_REQUIRE(op != CollectiveOp::send || group.ranks == 2);
  const Geometry at = geometry_of(op, group, path);
  const ProtocolLines& lines = lines_of(op, path.device.protocols);
  // A send moves all of its payload; as an exchange of two ranks half of it would stay.
  const bool sends = op == CollectiveOp::send;
  const Bytes exchanged = sends ? 2.0 * payload : payload;
  const Bytes stays = sends ? Bytes{} : path.device.protocols.exchange_own / at.ranks * payload;
  std::vector<CollectiveChoice> choices;
  for (std::size_t i = 0; i < protocol_count; ++i) {
    const Protocol protocol = EnumNames<Protocol>::names[i].first;
    const ProtocolLine& line = lines[i];
    const HostCrossing& between = at.between.crossing[i];
    if (!is_ring_op(op)) {
      choices.push_back(
          {CollectiveAlgorithm::direct, protocol, exchange(exchanged, stays, at, line, between)});
      continue;
    }
    choices.push_back({CollectiveAlgorithm::ring, protocol,
                       ring(ring_work(op, at, payload, path.device.protocols), at, line, between)});
    if (op == CollectiveOp::all_reduce && at.hosts > 1.0)
      choices.push_back({CollectiveAlgorithm::tree, protocol, tree(payload, at, line, between)});
  }
  if (!has_in_switch(op, group, path)) return choices;
  for (CollectiveChoice& choice : choices)
    choice.on_request = at.hosts <= 1.0 && choice.protocol == Protocol::simple;
  choices.push_back(in_switch(payload, at, path));
  return choices;
}

CollectiveChoice collective_choice(CollectiveOp op, const CommGroup& group, Bytes payload,
                                   const CollectivePath& path) {
  if (group.ranks <= 1) return {};
  const std::vector<CollectiveChoice> choices = collective_choices(op, group, payload, path);
  const auto taken =
      std::ranges::min_element(choices, [](const CollectiveChoice& a, const CollectiveChoice& b) {
        return std::pair(a.on_request, a.time.value()) < std::pair(b.on_request, b.time.value());
      });
  return *taken;
}

Seconds collective_time(CollectiveOp op, const CommGroup& group, Bytes payload,
                        const CollectivePath& path) {
  return collective_choice(op, group, payload, path).time;
}

}  // namespace foretrain
