// SPDX-License-Identifier: Apache-2.0

#include "planner/network/collective_request.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <set>

#include "models/base/require.hpp"
#include "models/base/text.hpp"
#include "models/collectives/library.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/catalog.hpp"
#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/catalog/catalog_machine.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

constexpr std::size_t most_sizes = 256;
constexpr double largest_size = 1e12 - 1.0;
constexpr int most_ranks = 1 << 20;

Bytes parse_size(const std::string& text) {
  const auto parsed = parse_quantity(text, Dimension::bytes);
  if (!parsed.value) throw UsageError("--sizes: " + in_quotes(text) + " " + parsed.error);
  if (!(*parsed.value > 0.0))
    throw UsageError("--sizes: " + in_quotes(text) + " is not above zero");
  if (!(*parsed.value <= largest_size))
    throw UsageError("--sizes: " + in_quotes(text) + " is more than any device holds (1 TB)");
  return Bytes{*parsed.value};
}

int parse_rank(const std::string& text, const std::string& all) {
  const auto parsed = parse_integer(text);
  if (!parsed.value || *parsed.value < 0 || *parsed.value >= most_ranks)
    throw UsageError("--ranks: " + in_quotes(text) + " in " + in_quotes(all) +
                     " is not a rank; write 0-7, 0,8,16, 0-63:8 or size=8,stride=8");
  return static_cast<int>(*parsed.value);
}

/// "3", "0-7", "0-63:8".
void add_range(const std::string& part, const std::string& all, std::vector<int>& ranks) {
  const auto stride_parts = split_at(part, ':');
  const auto ends = split_at(stride_parts[0], '-');
  if (stride_parts.size() > 2 || ends.size() > 2) parse_rank(part, all);
  const int first = parse_rank(ends.front(), all);
  const int last = parse_rank(ends.back(), all);
  const int stride = stride_parts.size() == 2 ? parse_rank(stride_parts[1], all) : 1;
  if (last < first || stride < 1)
    throw UsageError("--ranks: " + in_quotes(part) + " names no rank");
  for (int rank = first; rank <= last; rank += stride) ranks.push_back(rank);
}

/// Every group of `size` ranks that are `stride` apart, as tensor and data groups lie.
std::vector<std::vector<int>> shaped(const std::string& text, int gpus) {
  int size = 0, stride = 1;
  for (const std::string& part : split_at(text, ',')) {
    if (part.starts_with("size="))
      size = parse_rank(part.substr(5), text);
    else if (part.starts_with("stride="))
      stride = parse_rank(part.substr(7), text);
    else
      parse_rank(part, text);
  }
  if (size < 2 || stride < 1 || gpus % (size * stride) != 0)
    throw UsageError(
        fmt::format("--ranks: groups of {} ranks that are {} apart do not divide {} "
                    "ranks",
                    size, stride, gpus));
  std::vector<std::vector<int>> groups;
  for (int block = 0; block < gpus; block += size * stride)
    for (int first = 0; first < stride; ++first) {
      groups.emplace_back();
      for (int i = 0; i < size; ++i) groups.back().push_back(block + first + i * stride);
    }
  return groups;
}

std::vector<std::vector<int>> listed(const std::string& text) {
  std::vector<int> ranks;
  for (const std::string& part : split_at(text, ',')) add_range(part, text, ranks);
  if (std::set<int>(ranks.begin(), ranks.end()).size() != ranks.size())
    throw UsageError("--ranks: " + in_quotes(text) + " names a rank twice");
  return {ranks};
}

}  // namespace

int bytes_of(ElementType type) {
  switch (type) {
    case ElementType::int8:
      return 1;
    case ElementType::half:
    case ElementType::bfloat16:
      return 2;
    case ElementType::float32:
      return 4;
    case ElementType::float64:
      return 8;
  }
  return 1;
}

CollectiveOp parse_collective_op(const std::string& text) {
  std::string name = text;
  std::ranges::replace(name, '_', '-');
  if (name == "alltoall") name = "all-to-all";
  if (name == "sendrecv") name = "send";
  if (const auto op = from_name<CollectiveOp>(name)) return *op;
  std::vector<std::string> known;
  for (const auto legal : all_names<CollectiveOp>()) known.emplace_back(legal);
  throw UsageError("--op: there is no collective " + in_quotes(text) + "; known: " + joined(known) +
                   nearest_hint(name, known));
}

std::vector<Bytes> parse_sizes(const std::string& text, double factor, int element) {
  if (!(factor > 1.0) || !std::isfinite(factor))
    throw UsageError("--step-factor: has to be above 1");
  std::vector<Bytes> sizes;
  for (const std::string& part : split_at(text, ',')) {
    const auto ends = split_at(part, ':');
    if (ends.size() > 2) throw UsageError("--sizes: " + in_quotes(part) + " is not FIRST:LAST");
    const Bytes first = parse_size(ends.front());
    const Bytes last = parse_size(ends.back());
    if (last < first) throw UsageError("--sizes: " + in_quotes(part) + " ends before it begins");
    for (Bytes size = first; size <= last && sizes.size() <= most_sizes; size *= factor)
      sizes.emplace_back(std::floor(size.value()));
  }
  if (sizes.size() > most_sizes)
    throw UsageError(
        fmt::format("--sizes: more than {} sizes; use a larger --step-factor", most_sizes));
  for (const Bytes size : sizes)
    if (size.value() < element)
      throw UsageError(fmt::format("--sizes: {} bytes hold no element of {} bytes (--type)",
                                   size.value(), element));
  return sizes;
}

std::vector<std::vector<int>> parse_groups(const GroupWish& wish) {
  const int gpus = wish.hosts * wish.gpus_per_host;
  if (!wish.ranks.empty())
    return wish.ranks.find('=') != std::string::npos ? shaped(wish.ranks, gpus)
                                                     : listed(wish.ranks);
  if (wish.used_per_host < 1 || wish.used_per_host > wish.gpus_per_host)
    throw UsageError(fmt::format("--gpus-per-host: a host has {} GPUs, not {}", wish.gpus_per_host,
                                 wish.used_per_host));
  if (wish.per_host < 1 || wish.used_per_host % wish.per_host != 0)
    throw UsageError(fmt::format("--groups: {} groups do not divide {} GPUs of a host",
                                 wish.per_host, wish.used_per_host));
  std::vector<std::vector<int>> groups(static_cast<std::size_t>(wish.per_host));
  for (int host = 0; host < wish.hosts; ++host)
    for (int gpu = 0; gpu < wish.used_per_host; ++gpu)
      groups[static_cast<std::size_t>(gpu % wish.per_host)].push_back(host * wish.gpus_per_host +
                                                                      gpu);
  return groups;
}

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
