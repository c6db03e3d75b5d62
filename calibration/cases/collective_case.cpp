// SPDX-License-Identifier: Apache-2.0
#include "calibration/cases/collective_case.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/records/internal/words.hpp"
#include "calibration/records/record_networks.hpp"
#include "models/grid/process_grid.hpp"
#include "scenarios/catalog/model_names.hpp"

namespace foretrain {
namespace {

/// Catalog host of a record: the one it names, else that of its GPU.
std::string host_of(const SweepRecord& record, const RunCatalog& catalog) {
  if (!record.host.empty()) return record.host;
  const auto usual = catalog.usual_hosts.find(device_called(record.gpu, DeviceNaming::table));
  return usual == catalog.usual_hosts.end() ? "" : usual->second;
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

std::optional<CollectiveAlgorithm> forced_algorithm(const SweepRecord& record) {
  const std::string& words = record.network;
  if (has_part(words, "NVLSTree")) return CollectiveAlgorithm::in_switch_tree;
  if (has_part(words, "Ring")) return CollectiveAlgorithm::ring;
  if (has_part(words, "(NVLS)") && record.size_bytes > 1e9) return CollectiveAlgorithm::in_switch;
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
  const auto network = sweep_network(record.network);
  if (!network) return "no fabric preset for " + record.network;
  if (!network->why.empty()) return network->why;
  if (std::string why = add_preset(network->fabric, catalog, cluster); !why.empty()) return why;
  cluster.host.nics = std::max(1, network->nics * record.gpus_per_node / 8);
  cluster.network.nic_link.bandwidth = network->rate.value_or(cluster.host.nic.bandwidth);
  return "";
}

}  // namespace

MappedCollective map_collective(const SweepRecord& record, const RunCatalog& catalog) {
  const std::string name = host_of(record, catalog);
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
  if (!shares_domains(record.network)) collective.cluster.host.domain_hosts = 1;
  const int ranks = record.nodes * record.gpus_per_node;
  std::string why;
  if (ranks > collective.cluster.packing().domain)
    why = add_network(record, catalog, collective.cluster);
  else if (const auto network = sweep_network(record.network); record.nodes > 1 && network)
    why = network->why;
  if (!why.empty()) return no_collective(std::move(why));
  MappedCollective mapped;
  collective.group = spaced_group(ranks, 1).on_hosts(collective.cluster.packing());
  if (*op == CollectiveOp::send) {
    // Every rank sends to the next one: the slowest pair is one that crosses hosts, if any does.
    const bool leaves = collective.group.domains() > 1;
    collective.group = leaves ? CommGroup{2, 1, 2} : CommGroup{2, 2, 1};
    collective.cluster.host.gpus = leaves ? 1 : record.gpus_per_node;
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
  collective.no_switch = has_part(record.sweep, "int8");
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
