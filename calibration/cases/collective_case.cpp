// SPDX-License-Identifier: Apache-2.0
#include "calibration/cases/collective_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "calibration/records/internal/words.hpp"
#include "models/grid/process_grid.hpp"
#include "scenarios/catalog/device_names.hpp"

namespace foretrain {
namespace {

/// NICs of a host with eight GPUs, as the words of a source tell them.
struct NamedFabric {
  std::string_view words;
  const char* preset;
  int nics;
  double gbps;
};
// The first that the words contain decides.
constexpr std::array<NamedFabric, 10> fabrics{{{"IPoIB", "ipoib", 8, 200.0},
                                               {"EFA v1", "efa-p4d", 4, 100.0},
                                               {"EFA v2", "efa-p5", 32, 100.0},
                                               {"8 of 16", "efa-p5", 8, 200.0},
                                               {"EFA v3", "efa-p5", 16, 200.0},
                                               {"TCPXO", "tcpxo", 8, 200.0},
                                               {"TCPX", "tcpx", 4, 200.0},
                                               {"A3 Ultra", "roce-400", 8, 400.0},
                                               {"HDR", "ib-hdr", 8, 200.0},
                                               {"NDR", "ib-ndr", 8, 400.0}}};

/// Catalog host of a record: the one it names, else that of its GPU.
std::string host_of(const SweepRecord& record) {
  if (!record.host.empty()) return record.host;
  return host_measured_with(device_called(record.gpu, DeviceNaming::table));
}

std::optional<CollectiveOp> op_of(const std::string& collective) {
  if (collective == "all_reduce") return CollectiveOp::all_reduce;
  if (collective == "all_gather") return CollectiveOp::all_gather;
  if (collective == "reduce_scatter") return CollectiveOp::reduce_scatter;
  if (collective == "alltoall") return CollectiveOp::all_to_all;
  if (collective == "broadcast") return CollectiveOp::broadcast;
  if (collective == "sendrecv") return CollectiveOp::send;
  return std::nullopt;
}

/// Bus bandwidth over algorithm bandwidth, as nccl-tests defines them (its PERFORMANCE.md).
double bus_factor(CollectiveOp op, double ranks) {
  if (op == CollectiveOp::all_reduce) return 2.0 * (ranks - 1.0) / ranks;
  if (op == CollectiveOp::send || op == CollectiveOp::broadcast) return 1.0;
  return (ranks - 1.0) / ranks;
}

/// Why what connects the hosts cannot be expressed; empty: it can.
std::string network_objection(const std::string& words) {
  if (contains(words, "DEGRADED")) return "the source calls the run degraded";
  if (contains(words, "not stated")) return "the network is not stated";
  if (contains(words, "2019")) return "no fabric preset for EFA without GPUDirect";
  if (contains(words, "MIN_CTAS")) return "channels and queue pairs were set by hand";
  if (contains(words, "SHARP")) return "reduction in the switches between hosts is not modelled";
  return "";
}

/// @param nic of the record's hosts
std::optional<NamedFabric> fabric_of(const SweepRecord& record, BytesPerSecond nic) {
  const std::string& words = record.network;
  if (contains(words, "one NIC")) return NamedFabric{"", "roce-400", 0, 400.0};
  if (contains(words, "OCI")) return NamedFabric{"", "roce-400", 8, nic.in(Gbps)};
  for (const NamedFabric& fabric : fabrics)
    if (contains(words, fabric.words)) return fabric;
  return std::nullopt;
}

std::optional<CollectiveAlgorithm> forced_algorithm(const SweepRecord& record) {
  const std::string& words = record.network;
  if (contains(words, "NVLSTree")) return CollectiveAlgorithm::in_switch_tree;
  if (contains(words, "Ring")) return CollectiveAlgorithm::ring;
  if (contains(words, "(NVLS)") && record.size_bytes > 1e9) return CollectiveAlgorithm::in_switch;
  return std::nullopt;
}

MappedCollective no_collective(std::string why) {
  MappedCollective mapped;
  mapped.why = std::move(why);
  return mapped;
}

void set_network(const FabricPreset& preset, Cluster& cluster) {
  Network& network = cluster.network;
  network.preset = preset.name;
  network.nic_link = preset.link;
  network.step_latency = preset.step_latency;
  network.protocols = preset.protocols;
  network.path_latency = 2.0 * preset.link.latency;
  network.provenance = preset.provenance;
}

/// The preset that a record names; the NICs are those of the host.
std::string add_preset(const std::string& name, const RunCatalog& catalog, Cluster& cluster) {
  const auto preset = catalog.fabrics.find(name);
  if (preset == catalog.fabrics.end()) return "no fabric preset " + name;
  set_network(preset->second, cluster);
  return "";
}

/// The fabric between the hosts of a cluster; returns why there is none.
std::string add_network(const SweepRecord& record, const RunCatalog& catalog, Cluster& cluster) {
  if (!record.fabric.empty()) return add_preset(record.fabric, catalog, cluster);
  if (std::string why = network_objection(record.network); !why.empty()) return why;
  const auto fabric = fabric_of(record, cluster.host.nic.bandwidth);
  if (!fabric) return "no fabric preset for " + record.network;
  const auto preset = catalog.fabrics.find(fabric->preset);
  if (preset == catalog.fabrics.end()) return std::string("no fabric preset ") + fabric->preset;
  cluster.host.nics = std::max(1, fabric->nics * record.gpus_per_node / 8);
  set_network(preset->second, cluster);
  if (cluster.network.preset != "ipoib") cluster.network.nic_link.bandwidth = fabric->gbps * Gbps;
  return "";
}

}  // namespace

MappedCollective map_collective(const SweepRecord& record, const RunCatalog& catalog) {
  const std::string name = host_of(record);
  const auto host = catalog.hosts.find(name);
  if (host == catalog.hosts.end())
    return no_collective(record.host.empty() ? "no host with " + record.gpu
                                             : "no host " + record.host);
  const auto op = op_of(record.collective);
  if (!op) return no_collective("no model of " + record.collective);
  CollectiveCase collective;
  collective.op = *op;
  collective.cluster.host = host->second;
  collective.cluster.host.gpus = record.gpus_per_node;
  collective.cluster.hosts = record.nodes;
  if (record.nodes > 1) {
    if (std::string why = add_network(record, catalog, collective.cluster); !why.empty())
      return no_collective(std::move(why));
  }
  const int ranks = record.nodes * record.gpus_per_node;
  MappedCollective mapped;
  collective.group = spaced_group(ranks, 1).on_hosts(record.gpus_per_node);
  if (*op == CollectiveOp::send) {
    // Every rank sends to the next one: the slowest pair is one that crosses hosts, if any does.
    collective.group = record.nodes > 1 ? CommGroup{2, 1, 2} : CommGroup{2, 2, 1};
    collective.cluster.host.gpus = record.nodes > 1 ? 1 : record.gpus_per_node;
    mapped.assumptions.emplace_back("the slowest pair of the ring");
  }
  collective.payload = Bytes{record.size_bytes};
  if (record.time_us && *record.time_us > 0.0)
    collective.measured = *record.time_us * us;
  else if (record.busbw_gbs && *record.busbw_gbs > 0.0)
    collective.measured = bus_factor(*op, ranks) * collective.payload / (*record.busbw_gbs * GBps);
  else
    return no_collective("neither a time nor a bandwidth above zero is stated");
  collective.forced = forced_algorithm(record);
  collective.no_switch = contains(record.sweep, "int8");
  if (collective.no_switch) mapped.assumptions.emplace_back("sums of bytes stay out of the switch");
  mapped.collective = std::move(collective);
  return mapped;
}

std::optional<CollectiveChoice> collective_choice(const CollectiveCase& collective,
                                                  const DeviceProfile& profile) {
  static const SiteProfile no_site;  // size sweeps run alone: shares of traffic do not apply
  const CollectivePath path{collective.cluster, profile, no_site};
  std::optional<CollectiveChoice> best;
  for (const CollectiveChoice& choice :
       collective_choices(collective.op, collective.group, collective.payload, path)) {
    const bool in_switch = choice.algorithm == CollectiveAlgorithm::in_switch ||
                           choice.algorithm == CollectiveAlgorithm::in_switch_tree;
    if (collective.no_switch && in_switch) continue;
    if (collective.forced ? choice.algorithm != *collective.forced
                          : choice.on_request && !collective.no_switch)
      continue;
    if (!best || choice.time < best->time) best = choice;
  }
  return best;
}

}  // namespace foretrain
