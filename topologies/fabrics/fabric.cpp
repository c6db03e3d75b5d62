// SPDX-License-Identifier: Apache-2.0
#include "topologies/fabrics/fabric.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "topologies/fabrics/internal/fabric_builder.hpp"

namespace foretrain {
namespace {

std::vector<GpuPair> all_pairs(int gpus) {
  std::vector<GpuPair> pairs;
  for (int a = 0; a < gpus; ++a)
    for (int b = a + 1; b < gpus; ++b) pairs.push_back({a, b, 1});
  return pairs;
}

/// Lanes of the GPU that has most; its rate is divided by them.
int most_lanes(const HostShape& host) {
  std::vector<int> lanes(index(host.gpus), 0);
  for (const GpuPair& pair : host.pairs) {
    lanes[index(pair.first)] += pair.lanes;
    lanes[index(pair.second)] += pair.lanes;
  }
  return *std::ranges::max_element(lanes);
}

/// Every two GPUs are joined directly or through one other GPU: what routing knows to use.
bool within_two_links(const Fabric& fabric) {
  const int gpus = fabric.spec.host.gpus;
  const auto joined = [&](int a, int b) { return fabric.mesh_link[index(a * gpus + b)] >= 0; };
  for (int a = 0; a < gpus; ++a)
    for (int b = a + 1; b < gpus; ++b) {
      bool reached = joined(a, b);
      for (int c = 0; c < gpus && !reached; ++c) reached = joined(a, c) && joined(c, b);
      if (!reached) return false;
    }
  return true;
}

std::optional<Infeasible> zero_bandwidth(const FabricSpec& spec) {
  const HostShape& host = spec.host;
  const auto refuse = [](const char* key, const std::string& what) {
    return Infeasible{"zero-bandwidth", key,
                      what + " has no bandwidth, so nothing could ever cross it",
                      "give it a rate above 0"};
  };
  if (host.gpus > 1 && !(host.gpu_link.value() > 0.0))
    return refuse("cluster.host", "the link between the GPUs of a host");
  if (std::holds_alternative<std::monostate>(spec.network)) return std::nullopt;
  if (!(host.nic.value() > 0.0)) return refuse("cluster.fabric", "the NIC link");
  if (!(host.pcie.value() > 0.0)) return refuse("cluster.host", "the PCIe link of a GPU");
  if (const auto* torus = std::get_if<TorusShape>(&spec.network))
    if (!(torus->channel.value() > 0.0)) return refuse("cluster.fabric", "a cable of the torus");
  return std::nullopt;
}

/// Separate networks: one for every NIC, or for every port of it.
int planes_of(const HostShape& host, const ClosShape& shape) {
  if (shape.rail_only) return host.nics;
  return shape.joined_ports ? 1 : host.ports;
}

std::variant<ClosNetwork, Infeasible> size_plane(const FabricSpec& spec, const ClosShape& shape) {
  const HostShape& host = spec.host;
  ClosSpec clos{shape.kind,
                spec.hosts,
                host.nics / planes_of(host, shape),
                host.gpus,
                shape.switch_radix,
                shape.oversubscription,
                Link{{}, {}, host.nic, {}, 1.0},
                shape.spine_oversubscription};
  if (shape.rail_only) clos.gpus_per_host = 1;
  return clos_network(clos);
}

void count_nodes(Fabric& fabric, int leaves, int spines, int cores) {
  const FabricSpec& spec = fabric.spec;
  const bool networked = !std::holds_alternative<std::monostate>(spec.network);
  const int domains = (spec.hosts + spec.domain_hosts - 1) / spec.domain_hosts;
  const int switches = spec.host.scale_up == ScaleUpKind::nvlink_mesh ? 0 : domains;
  const std::array<int, node_kinds> counts{
      fabric.gpus(), switches, networked ? spec.hosts * spec.host.nics : 0, leaves, spines, cores};
  std::partial_sum(counts.begin(), counts.end(), fabric.node_begin.begin() + 1);
}

/// Cables of one host: its scale-up links, then one attachment per GPU-NIC pair.
void add_host(Fabric& fabric, int h) {
  const HostShape& host = fabric.spec.host;
  const auto gpu = [&](int local) { return h * host.gpus + local; };
  const NodeId hub = fabric.node(NodeKind::host_switch, h / fabric.spec.domain_hosts);
  if (host.scale_up == ScaleUpKind::nvlink_mesh) {
    const double lane = host.gpu_link.value() / std::max(1, most_lanes(host));
    for (const GpuPair& pair : host.pairs)
      add_cable(fabric, gpu(pair.first), gpu(pair.second), lane * pair.lanes, LinkKind::gpu_link);
  } else {
    for (int local = 0; local < host.gpus; ++local)
      add_cable(fabric, gpu(local), hub, host.gpu_link.value(), LinkKind::gpu_link);
  }
  if (fabric.count(NodeKind::nic) == 0) return;
  const auto nic = [&](int i) { return fabric.node(NodeKind::nic, h * host.nics + i); };
  if (host.scale_up == ScaleUpKind::pcie) {
    for (int i = 0; i < host.nics; ++i)
      add_cable(fabric, hub, nic(i), host.pcie.value(), LinkKind::pcie);
  } else if (host.nics >= host.gpus) {
    std::vector<int> owned(index(host.gpus), 0);
    for (int i = 0; i < host.nics; ++i) ++owned[index(i * host.gpus / host.nics)];
    for (int i = 0; i < host.nics; ++i) {
      const int owner = i * host.gpus / host.nics;
      add_cable(fabric, gpu(owner), nic(i), host.pcie.value() / owned[index(owner)],
                LinkKind::pcie);
    }
  } else {
    for (int local = 0; local < host.gpus; ++local)
      add_cable(fabric, gpu(local), nic(local * host.nics / host.gpus), host.pcie.value(),
                LinkKind::pcie);
  }
}

void note_mesh(Fabric& fabric) {
  const int gpus = fabric.spec.host.gpus;
  fabric.mesh_link.assign(index(gpus * gpus), -1);
  int link = 0;
  for (const GpuPair& pair : fabric.spec.host.pairs) {
    fabric.mesh_link[index(pair.first * gpus + pair.second)] = link;
    fabric.mesh_link[index(pair.second * gpus + pair.first)] = link + 1;
    link += 2;
  }
}

void add_nics(Fabric& fabric) {
  const int nics = fabric.spec.host.nics;
  fabric.first_nic_link = fabric.links();
  for (int n = 0; n < fabric.count(NodeKind::nic); ++n)
    add_cable(fabric, fabric.node(NodeKind::nic, n),
              fabric.node(NodeKind::leaf, leaf_of(fabric, n / nics, n % nics)),
              fabric.spec.host.nic.value(), LinkKind::nic);
}

/// Cable j of a leaf goes to spine j mod (spines of its pod), cable k of a spine to core k mod
/// (cores of its group): routing finds both ends by arithmetic.
void add_clos(Fabric& fabric) {
  const ClosNetwork& clos = fabric.clos;
  const double rate = fabric.spec.host.nic.value();
  fabric.first_tier = fabric.links();
  fabric.second_tier = fabric.first_tier;
  if (clos.tiers < 2) return;
  const int spines_per_pod = clos.spines / clos.pods;
  for (int leaf = 0; leaf < fabric.planes * clos.leaves; ++leaf) {
    const int plane = leaf / clos.leaves;
    const int pod = leaf % clos.leaves / clos.leaves_per_pod;
    const int first_spine = plane * clos.spines + pod * spines_per_pod;
    for (int j = 0; j < clos.uplinks_per_leaf; ++j)
      add_cable(fabric, fabric.node(NodeKind::leaf, leaf),
                fabric.node(NodeKind::spine, first_spine + j % spines_per_pod), rate,
                LinkKind::leaf_spine);
  }
  fabric.second_tier = fabric.links();
  if (clos.tiers < 3) return;
  const int cores_per_group = clos.cores / spines_per_pod;
  for (int spine = 0; spine < fabric.planes * clos.spines; ++spine) {
    const int plane = spine / clos.spines;
    const int first_core =
        plane * clos.cores + spine % clos.spines % spines_per_pod * cores_per_group;
    for (int k = 0; k < clos.uplinks_per_spine; ++k)
      add_cable(fabric, fabric.node(NodeKind::spine, spine),
                fabric.node(NodeKind::core, first_core + k % cores_per_group), rate,
                LinkKind::spine_core);
  }
}

void add_trunks(Fabric& fabric) {
  fabric.first_tier = fabric.links();
  const std::vector<int>& far = fabric.switches.far;
  for (std::size_t end = 0; end < far.size(); end += 2)
    add_cable(fabric, fabric.node(NodeKind::leaf, far[end + 1]),
              fabric.node(NodeKind::leaf, far[end]), fabric.spec.host.nic.value(), LinkKind::trunk);
  fabric.second_tier = fabric.links();
}

std::optional<Infeasible> size_nodes(Fabric& fabric) {
  const FabricSpec& spec = fabric.spec;
  if (const auto* clos = std::get_if<ClosShape>(&spec.network)) {
    FORETRAIN_REQUIRE(spec.host.nics >= 1);
    const auto sized = size_plane(spec, *clos);
    if (const auto* refused = std::get_if<Infeasible>(&sized)) return *refused;
    fabric.clos = std::get<ClosNetwork>(sized);
    fabric.planes = planes_of(spec.host, *clos);
    count_nodes(fabric, fabric.planes * fabric.clos.leaves, fabric.planes * fabric.clos.spines,
                fabric.planes * fabric.clos.cores);
  } else if (const auto* dragonfly = std::get_if<DragonflyShape>(&spec.network)) {
    if (auto refused = refuse_dragonfly(spec, *dragonfly)) return refused;
    const int routers = dragonfly->groups * dragonfly->routers;
    count_nodes(fabric, routers, dragonfly->plus ? routers : 0, 0);
  } else if (const auto* torus = std::get_if<TorusShape>(&spec.network)) {
    if (auto refused = refuse_torus(spec, *torus)) return refused;
    count_nodes(fabric, spec.hosts, 0, 0);
  } else if (const auto* irregular =
                 std::get_if<std::shared_ptr<const IrregularShape>>(&spec.network)) {
    auto graph = switch_graph(**irregular, spec.host.nics);
    if (const auto* refused = std::get_if<Infeasible>(&graph)) return *refused;
    FORETRAIN_REQUIRE((*irregular)->nics.size() == index(spec.hosts) * index(spec.host.nics));
    fabric.switches = std::move(std::get<SwitchGraph>(graph));
    count_nodes(fabric, fabric.switches.switches, 0, 0);
  } else {
    if (spec.hosts > 1)
      return Infeasible{"fabric-connected", "cluster.fabric",
                        std::to_string(spec.hosts) + " hosts without a network are not connected",
                        "name a fabric, or use one host"};
    count_nodes(fabric, 0, 0, 0);
  }
  return std::nullopt;
}

}  // namespace

void add_cable(Fabric& fabric, NodeId below, NodeId above, double rate, LinkKind kind) {
  fabric.from.insert(fabric.from.end(), {below, above});
  fabric.to.insert(fabric.to.end(), {above, below});
  fabric.capacity.insert(fabric.capacity.end(), 2, rate);
  fabric.kind.insert(fabric.kind.end(), 2, kind);
}

int leaf_of(const Fabric& fabric, int host, int nic) {
  const int nics = fabric.spec.host.nics;
  if (const auto* shape = std::get_if<ClosShape>(&fabric.spec.network)) {
    const ClosNetwork& clos = fabric.clos;
    const int here = nics / fabric.planes;  // of a host, in this plane
    const int first = nic % fabric.planes * clos.leaves;
    const int number = nic / fabric.planes;
    if (clos.tiers == 1) return first;
    if (shape->kind == FabricKind::rail_optimized)
      return first + host / clos.nics_per_leaf * here + number;
    return first + (host * here + number) / clos.nics_per_leaf;
  }
  if (const auto* dragonfly = std::get_if<DragonflyShape>(&fabric.spec.network))
    return (host * nics + nic) / dragonfly->nics_per_router;
  if (const auto* irregular =
          std::get_if<std::shared_ptr<const IrregularShape>>(&fabric.spec.network))
    return (*irregular)->nics[index(host * nics + nic)];
  return host;
}

NodeKind Fabric::kind_of(NodeId node) const {
  const auto after = std::upper_bound(node_begin.begin(), node_begin.end(), node);
  return static_cast<NodeKind>(after - node_begin.begin() - 1);
}

std::vector<GpuPair> dgx1_pairs() {
  return {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1}, {1, 5, 2}, {2, 3, 2},
          {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
}

std::variant<Fabric, Infeasible> build_fabric(const FabricSpec& spec) {
  FORETRAIN_REQUIRE(spec.hosts >= 1 && spec.host.gpus >= 1 && spec.domain_hosts >= 1);
  FORETRAIN_REQUIRE(spec.domain_hosts == 1 || spec.host.scale_up == ScaleUpKind::nvswitch);
  if (auto refused = zero_bandwidth(spec)) return *refused;
  Fabric fabric;
  fabric.spec = spec;
  if (spec.host.scale_up == ScaleUpKind::nvlink_mesh) {
    if (spec.host.pairs.empty()) fabric.spec.host.pairs = all_pairs(spec.host.gpus);
    note_mesh(fabric);
    if (!within_two_links(fabric))
      return Infeasible{"mesh-connected", "cluster.host",
                        "some GPUs of a host are more than two NVLinks apart",
                        "join them through one GPU at most, or use PCIe"};
  }
  if (auto refused = size_nodes(fabric)) return *refused;

  for (int h = 0; h < spec.hosts; ++h) add_host(fabric, h);
  fabric.links_per_host = fabric.links() / spec.hosts;
  if (fabric.count(NodeKind::nic) == 0) return fabric;
  add_nics(fabric);
  if (const auto* dragonfly = std::get_if<DragonflyShape>(&spec.network))
    add_dragonfly(fabric, *dragonfly);
  else if (const auto* torus = std::get_if<TorusShape>(&spec.network))
    add_torus(fabric, *torus);
  else if (std::holds_alternative<ClosShape>(spec.network))
    add_clos(fabric);
  else
    add_trunks(fabric);
  return fabric;
}

namespace {

/// From a GPU to its NIC. Without GPUDirect every byte crosses the PCIe link to host memory twice,
/// out of one device and into the other, and what is sent and what is received share it.
BytesPerSecond to_nic(const Cluster& cluster) {
  const BytesPerSecond direct = cluster.host.pcie.bandwidth;
  return cluster.network.transport == Transport::gpudirect_rdma ? direct : direct * 0.5;
}

}  // namespace

FabricSpec fabric_spec(const Cluster& cluster) {
  const Host& host = cluster.host;
  const Network& network = cluster.network;
  FabricSpec spec;
  spec.hosts = cluster.fabric_hosts();
  // Hosts that a job leaves idle in its own domains are on the fabric only where it has others.
  spec.domain_hosts = spec.hosts > cluster.hosts ? host.domain_hosts : cluster.segment_hosts();
  spec.domain_places = host.domain_hosts;
  const int ports = network.nic_ports;
  spec.host = {host.gpus,
               host.scale_up,
               host.gpu_link.bandwidth,
               to_nic(cluster),
               host.nics * ports,
               network.nic_link.bandwidth / static_cast<double>(ports),
               host.pairs,
               ports};
  if (host.nics < 1) return spec;
  if (network.kind == FabricKind::dragonfly) {
    spec.network = network.dragonfly;
  } else if (network.kind == FabricKind::torus) {
    spec.network = network.torus;
  } else if (network.kind == FabricKind::irregular) {
    FORETRAIN_REQUIRE(network.irregular != nullptr);
    spec.hosts = static_cast<int>(network.irregular->nics.size()) / host.nics;
    if (spec.hosts > cluster.hosts) spec.domain_hosts = host.domain_hosts;
    spec.network = network.irregular;
  } else {
    const bool rail_only = network.kind == FabricKind::rail_only;
    spec.network = ClosShape{rail_only ? FabricKind::fat_tree : network.kind,
                             network.switch_radix,
                             network.oversubscription,
                             network.spine_oversubscription,
                             rail_only,
                             network.planes == PortPlanes::joined};
  }
  return spec;
}

std::optional<Infeasible> too_small(const Fabric& fabric, int ranks) {
  if (ranks <= fabric.gpus()) return std::nullopt;
  return Infeasible{
      "fabric-size", "cluster.hosts",
      "the job has " + std::to_string(ranks) + " ranks, the fabric " +
          std::to_string(fabric.gpus()) + " GPUs on " + std::to_string(fabric.spec.hosts) +
          " hosts",
      "use " + std::to_string((ranks + fabric.spec.host.gpus - 1) / fabric.spec.host.gpus) +
          " hosts"};
}

}  // namespace foretrain
