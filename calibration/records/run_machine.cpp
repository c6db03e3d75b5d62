// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/run_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <regex>
#include <string_view>

#include "calibration/records/internal/words.hpp"
#include "calibration/records/record_networks.hpp"
#include "topologies/fabrics/clos.hpp"

namespace foretrain {
namespace {

BytesPerSecond rate_of(const std::string& number, const std::string& unit) {
  const double value = std::stod(number);
  if (unit == "Tb/s") return value * 1000.0 * Gbps;
  return unit == "GB/s" ? value * GBps : value * Gbps;
}

/// Data rates of link generations that records give without a number.
BytesPerSecond generation_rate(const std::string& words) {
  struct Generation {
    std::string_view name;
    double gbps;
  };
  constexpr std::array<Generation, 4> generations{
      {{"NDR", 400.0}, {"HDR", 200.0}, {"EDR", 100.0}, {"Omni-Path", 100.0}}};
  for (const Generation& generation : generations)
    if (has_part(words, generation.name)) return generation.gbps * Gbps;
  return BytesPerSecond{};
}

/// The host that measurements of the device are of, else any that the catalog has with it.
const Host* host_with(const std::string& device, const RunCatalog& catalog) {
  if (const auto usual = catalog.usual_hosts.find(device); usual != catalog.usual_hosts.end())
    if (const auto host = catalog.hosts.find(usual->second); host != catalog.hosts.end())
      return &host->second;
  for (const auto& [name, host] : catalog.hosts)
    if (host.device.name == device) return &host;
  return nullptr;
}

/// NICs of a host and the rate of each.
struct Nics {
  int count;
  BytesPerSecond rate;
};

Nics nics_of(const StatedNetwork& stated, const Host& host, int gpus_per_host) {
  const double share = static_cast<double>(gpus_per_host) / host.gpus;
  const int usual = std::max(1, static_cast<int>(std::lround(host.nics * share)));
  if (stated.nics > 0)
    return {stated.nics, stated.per_nic > BytesPerSecond{} ? stated.per_nic : host.nic.bandwidth};
  BytesPerSecond total = stated.per_host;
  if (stated.per_gpu > BytesPerSecond{}) total = stated.per_gpu * gpus_per_host;
  if (total == BytesPerSecond{})
    return {usual, stated.per_nic > BytesPerSecond{} ? stated.per_nic : host.nic.bandwidth};
  const double whole = total / host.nic.bandwidth;
  if (whole >= 1.0 && whole == std::floor(whole))
    return {static_cast<int>(whole), host.nic.bandwidth};
  return {usual, total / static_cast<double>(usual)};
}

/// GPUs per host such that whole hosts make up the job: those of a node, or what a job smaller than
/// a node uses.
int gpus_per_host(int gpus, int per_node, std::vector<std::string>& assumptions) {
  if (gpus <= per_node) return gpus;
  if (gpus % per_node == 0) return per_node;
  const int nodes = (gpus + per_node - 1) / per_node;
  const int used = gpus % nodes == 0 ? gpus / nodes : std::gcd(gpus, per_node);
  assumptions.push_back(fmt::format("{} GPUs per host", used));
  return used;
}

}  // namespace

StatedNetwork stated_network(const std::string& text) {
  // Sources need a line; std::regex recurses with the length of the text.
  const std::string words = text.substr(0, 500);
  StatedNetwork stated;
  std::smatch match;
  static const std::regex several{
      R"((\d{1,4}) ?x ?(?:[A-Za-z][^,;:]*? )?(\d{1,6}(?:\.\d{1,6})?) ?(Gb/s|Gbps|Gb\b|GB/s|Tb/s))"};
  if (std::regex_search(words, match, several)) {
    stated.nics = std::stoi(match[1]);
    stated.per_nic = rate_of(match[2], match[3]);
    return stated;
  }
  static const std::regex together{
      R"((\d{1,6}(?:\.\d{1,6})?) ?(Gb/s|Gbps|Tb/s)[^,;:]* per (node|GPU))"};
  if (std::regex_search(words, match, together)) {
    (match[3] == "node" ? stated.per_host : stated.per_gpu) = rate_of(match[1], match[2]);
    return stated;
  }
  static const std::regex generation{R"((\d{1,4})x (?:HDR|NDR|EDR|Omni-Path))"};
  if (std::regex_search(words, match, generation)) {
    stated.nics = std::stoi(match[1]);
    stated.per_nic = generation_rate(words);
    return stated;
  }
  static const std::regex single{R"((?:InfiniBand|RoCE|IB) (\d{1,6}(?:\.\d{1,6})?) ?(Gb/s|Gbps))"};
  if (std::regex_search(words, match, single)) stated.per_nic = rate_of(match[1], match[2]);
  return stated;
}

RunMachine run_machine(const RunRecord& record, int gpus, const RunCatalog& catalog) {
  RunMachine machine;
  const auto named = catalog.hosts.find(record.host);
  const Host* const host = named != catalog.hosts.end()
                               ? &named->second
                               : host_with(device_of_record(record.gpu, catalog), catalog);
  if (host == nullptr || (!record.host.empty() && named == catalog.hosts.end())) {
    machine.why = "no host " + (record.host.empty() ? "with " + record.gpu : record.host);
    return machine;
  }
  const int each =
      gpus_per_host(gpus, record.gpus_per_node.value_or(host->gpus), machine.assumptions);
  if (each > host->gpus) {
    machine.why = fmt::format(
        "{} GPUs per node, where {} has {}: host names a server type of the catalog (foretrain "
        "show hosts), or gpus_per_node says how many of its GPUs were used",
        each, host->name, host->gpus);
    return machine;
  }
  Cluster cluster;
  cluster.host = part_of(*host, each);
  cluster.hosts = gpus / each;
  const Nics nics = nics_of(stated_network(record.network), *host, each);
  const std::string preset =
      record.fabric.empty() ? run_fabric(record.network, nics.rate, *host) : record.fabric;
  const auto fabric = catalog.fabrics.find(preset);
  if (fabric == catalog.fabrics.end()) {
    machine.why = "no fabric preset " + preset;
    return machine;
  }
  Network& network = cluster.network;
  network.preset = fabric->second.name;
  network.title = fabric->second.title;
  network.nic_link = fabric->second.link;
  if (nics.count != cluster.host.nics) cluster.host.nics = network.nics_per_host = nics.count;
  if (record.fabric.empty() && nics.rate != network.nic_link.bandwidth)
    network.nic_link.bandwidth = network.nic_rate = nics.rate;
  network.transport = fabric->second.transport;
  network.step_latency = fabric->second.step_latency;
  network.protocols = fabric->second.protocols;
  network.provenance = fabric->second.provenance;
  if (const auto refused = size_network(cluster, fabric->second.switch_radix)) {
    machine.why = refused->message;
    return machine;
  }
  if (record.network.empty() && cluster.hosts > 1)
    machine.assumptions.push_back(
        fmt::format("network {} with {} NICs per host", preset, cluster.host.nics));
  machine.cluster = std::move(cluster);
  return machine;
}

}  // namespace foretrain
