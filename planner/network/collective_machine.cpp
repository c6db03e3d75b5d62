// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "models/collectives/library.hpp"
#include "planner/network/collective_request.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/catalog.hpp"
#include "scenarios/catalog/catalog_defaults.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/catalog/catalog_machine.hpp"

namespace foretrain {
namespace {

/// Reads catalog entries that flags name; every flag that names nothing is reported.
class Flags {
 public:
  explicit Flags(const LoadOptions& options)
      : context_{options.catalogs, {}, diagnostics_, files_, values_} {}

  std::optional<Host> host(const std::string& name) {
    return load_host({name, "--host", {}}, context_);
  }
  /// `described` with everything that a preset says. Sized for one host: see collective_table().
  std::optional<Network> network(const std::string& preset, const Network& described,
                                 const Host& host) {
    const NetworkRequest request{described, std::nullopt, 1,
                                 [](std::string_view) { return Mark{}; }};
    return load_network(request, {preset, "--fabric", {}}, host, context_);
  }
  DeviceProfile device(const Host& host) {
    const auto profile = load_device_profile({host.device.name, "--host", {}}, context_);
    check();
    FORETRAIN_REQUIRE(profile.has_value());
    return *profile;
  }
  std::vector<FabricPreset> fabrics() {
    std::vector<FabricPreset> found;
    const auto roots = catalog_roots(context_.catalogs, diagnostics_);
    for (const CatalogFile& file : list_catalog_files(CatalogKind::fabrics, roots))
      if (auto preset = read_fabric(file, "", context_)) found.push_back(std::move(*preset));
    check();
    return found;
  }
  void check() const { diagnostics_.throw_if_any(); }

 private:
  Diagnostics diagnostics_;
  std::vector<SourceFile> files_;
  std::vector<ResolvedValue> values_;
  CatalogContext context_;
};

/// The preset that is made of the host's own NICs.
std::string fabric_for(const Host& host, Flags& flags) {
  for (const FabricPreset& preset : flags.fabrics())
    if (preset.link.name == host.nic.name) return preset.name;
  throw UsageError("--fabric: no preset is made for the NICs of " + host.name + " (" +
                   host.nic.name + "); name one");
}

bool is_infiniband(const std::string& title) {
  return title.find("InfiniBand") != std::string::npos;
}

/// The TCP preset of the same family whose links are nearest in rate: what there is to say about
/// TCP on a machine that was measured over RDMA.
void use_tcp(Flags& flags, CollectiveMachine& machine) {
  const Network before = machine.cluster.network;
  const auto distance = [&](const FabricPreset& preset) {
    const double family = is_infiniband(preset.title) == is_infiniband(before.title) ? 0.0 : 1e3;
    return family + std::abs(std::log(preset.link.bandwidth / before.nic_link.bandwidth));
  };
  std::vector<FabricPreset> presets = flags.fabrics();
  std::erase_if(presets, [&](const FabricPreset& preset) {
    return preset.transport != Transport::tcp ||
           preset.link.bandwidth > machine.cluster.host.nic.bandwidth;
  });
  if (presets.empty()) throw UsageError("--transport: no preset was measured over tcp");
  const auto nearest = std::ranges::min_element(
      presets,
      [&](const FabricPreset& a, const FabricPreset& b) { return distance(a) < distance(b); });
  Cluster& cluster = machine.cluster;
  const auto network = flags.network(nearest->name, before, cluster.host);
  flags.check();
  cluster.network = *network;
  cluster.network.switch_radix = before.switch_radix;
  machine.transport_note = fmt::format(
      "TCP on {}: rate and latency of the preset {} (extrapolated)", before.preset, nearest->name);
}

void use_transport(Transport transport, Flags& flags, CollectiveMachine& machine) {
  if (transport == machine.cluster.network.transport) return;
  if (transport == Transport::tcp) return use_tcp(flags, machine);
  const TransportChange change = with_transport(machine.cluster, transport);
  if (!change.refusal.empty()) throw UsageError("--transport: " + change.refusal);
  machine.cluster = change.cluster;
  machine.transport_note =
      change.provenance.source + " (" + std::string(name_of(change.provenance.trust)) + ")";
}

/// Shapes of other networks take more than a flag.
void check_kind(const MachineWish& wish) {
  if (!wish.kind || (*wish.kind != FabricKind::dragonfly && *wish.kind != FabricKind::torus &&
                     *wish.kind != FabricKind::irregular))
    return;
  if (!wish.scenario || wish.scenario->job.cluster.network.kind != *wish.kind)
    throw UsageError("--topology: describe a network of kind " + std::string(name_of(*wish.kind)) +
                     " in a scenario (cluster.fabric), and name that with --scenario");
}

void check_rates(const Cluster& cluster) {
  const Network& network = cluster.network;
  if (network.nic_link.bandwidth <= cluster.host.nic.bandwidth) return;
  throw UsageError(fmt::format(
      "--fabric: {} runs at {:.4g} Gbit/s, but a NIC of {} carries {:.4g} Gbit/s", network.preset,
      network.nic_link.bandwidth.in(Gbps), cluster.host.name, cluster.host.nic.bandwidth.in(Gbps)));
}

}  // namespace

CollectiveMachine collective_machine(const MachineWish& wish) {
  check_kind(wish);
  CollectiveMachine machine;
  Cluster& cluster = machine.cluster;
  Flags flags{wish.load};
  if (wish.scenario) {
    const Job& job = wish.scenario->job;
    cluster = job.cluster;
    machine.device = job.device_profile;
    machine.site = job.site;
  }
  const std::string host_name =
      wish.host.empty() && !wish.scenario ? default_machine().host : wish.host;
  std::string fabric_name = wish.fabric;
  if (const auto host = host_name.empty() ? std::nullopt : flags.host(host_name)) {
    cluster.host = *host;
    if (fabric_name.empty() && !wish.scenario) fabric_name = fabric_for(*host, flags);
  }
  if (!fabric_name.empty())
    if (const auto found = flags.network(fabric_name, cluster.network, cluster.host))
      cluster.network = *found;
  flags.check();
  if (!host_name.empty()) machine.device = flags.device(cluster.host);
  check_rates(cluster);
  if (wish.hosts) cluster.hosts = *wish.hosts;
  if (!wish.hosts && !wish.scenario) cluster.hosts = 1;
  if (wish.kind) cluster.network.kind = *wish.kind;
  if (wish.oversubscription) cluster.network.oversubscription = *wish.oversubscription;
  if (wish.transport) use_transport(*wish.transport, flags, machine);
  return machine;
}

}  // namespace foretrain
