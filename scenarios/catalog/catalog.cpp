// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/catalog.hpp"

#include <fmt/format.h>

#include "models/base/require.hpp"
#include "models/layers/parameters.hpp"
#include "scenarios/catalog/catalog_device.hpp"
#include "scenarios/catalog/catalog_machine.hpp"
#include "scenarios/catalog/catalog_models.hpp"
#include "scenarios/catalog/catalog_profiles.hpp"
#include "scenarios/catalog/catalog_read.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "topologies/fabrics/clos.hpp"

namespace foretrain {
namespace {

template <class Read>
auto load(CatalogKind kind, const CatalogRequest& request, const std::string& prefix,
          CatalogContext& context, Read read) -> decltype(read(CatalogFile{}, prefix, context)) {
  const auto file = find_requested(kind, request, context);
  if (!file) return std::nullopt;
  return read(*file, prefix, context);
}

/// A preset faster than the host's NICs is a mistake that would go unnoticed in the forecast.
bool nic_keeps_up(const Host& host, const FabricPreset& preset, const CatalogRequest& request,
                  CatalogContext& context) {
  if (preset.link.bandwidth <= host.nic.bandwidth) return true;
  context.diagnostics.add(
      request.mark, request.path,
      fmt::format("{} runs at {:.4g} Gbit/s, but a NIC of {} carries {:.4g} Gbit/s ({}); choose a "
                  "slower preset, or a host with such NICs",
                  preset.name, preset.link.bandwidth.in(Gbps), host.name,
                  host.nic.bandwidth.in(Gbps), host.nic.name));
  return false;
}

std::string summary_of(const LlmShape& shape) {
  const auto billions = static_cast<double>(parameters(shape)) / 1e9;
  const int digits = billions < 10.0 ? 2 : 1;
  std::string text = fmt::format("{:.{}f} B parameters, {} layers, hidden {}, {} heads", billions,
                                 digits, shape.layers, shape.hidden, shape.heads);
  if (shape.kv_heads != shape.heads) text += fmt::format(" ({} kv)", shape.kv_heads);
  if (shape.moe)
    text += fmt::format(", {} of {} experts, {:.1f} B active", shape.moe->top_k, shape.moe->experts,
                        static_cast<double>(active_parameters(shape)) / 1e9);
  return text + fmt::format(", vocabulary {}", shape.vocabulary);
}

std::string summary_of(const Device& device) {
  std::string rates;
  for (const auto& [precision, peak] : device.peak)
    if (precision != Precision::fp32 && precision != Precision::tf32)
      rates += fmt::format(", {} {:.4g} TFLOP/s", name_of(precision), peak.in(TFLOPS));
  return fmt::format("{:.5g} GiB usable, {:.4g} TB/s{}, {:.4g} W", device.usable_memory.in(GiB),
                     device.memory_bandwidth.in(TBps), rates, device.power_limit.value());
}

std::string summary_of(const Link& link) {
  return fmt::format("{:.4g} GB/s per direction, {:.3g} us, {:.0f} % achievable",
                     link.bandwidth.in(GBps), link.latency.in(us), 100.0 * link.achievable);
}

std::string summary_of(const Host& host) {
  const std::string domain =
      host.domain_hosts > 1 ? fmt::format(" in domains of {}", host.domain_hosts * host.gpus) : "";
  return fmt::format("{} x {}, {} {:.4g} GB/s per GPU{}, {} x {:.4g} Gbit/s out", host.gpus,
                     host.device.title, name_of(host.scale_up), host.gpu_link.bandwidth.in(GBps),
                     domain, host.nics, host.nic.bandwidth.in(Gbps));
}

std::string summary_of(const FabricPreset& preset) {
  return fmt::format(
      "{:.4g} Gbit/s per NIC, {:.0f} % achievable, {}-port switches, {}, step {:.3g} us",
      preset.link.bandwidth.in(Gbps), 100.0 * preset.link.achievable, preset.switch_radix,
      name_of(preset.transport), preset.step_latency.in(us));
}

std::string summary_of(const Provenance& provenance) {
  std::string text = fmt::format("{}, {}", name_of(provenance.trust), provenance.date);
  if (provenance.error >= 0.0)
    text += fmt::format(", median error {:.1f} %", 100.0 * provenance.error);
  return text + ": " + provenance.source;
}

/// Title and summary of one file; nothing when it has errors.
struct Listing {
  std::string title;
  std::string summary;
};

std::optional<Listing> listing_of(CatalogKind kind, const CatalogFile& file,
                                  CatalogContext& context) {
  const auto described = [](const auto& entry) -> std::optional<Listing> {
    if (!entry) return std::nullopt;
    return Listing{entry->title, summary_of(*entry)};
  };
  const auto profiled = [&](const auto& entry) -> std::optional<Listing> {
    if (!entry) return std::nullopt;
    return Listing{file.name, summary_of(entry->provenance)};
  };
  switch (kind) {
    case CatalogKind::models: {
      const auto entry = read_model(file, "", context);
      if (!entry) return std::nullopt;
      return Listing{entry->shape.title, summary_of(entry->shape)};
    }
    case CatalogKind::devices:
      return described(read_device(file, "", context));
    case CatalogKind::hosts:
      return described(read_host(file, "", context));
    case CatalogKind::links:
      return described(read_link(file, "", context));
    case CatalogKind::fabrics:
      return described(read_fabric(file, "", context));
    case CatalogKind::device_profiles:
      return profiled(read_device_profile(file, "", context));
    case CatalogKind::sites:
      return profiled(read_site(file, "", context));
    case CatalogKind::engines: {
      const auto entry = read_engine(file, "", context);
      if (!entry) return std::nullopt;
      return Listing{entry->title, summary_of(entry->provenance)};
    }
    case CatalogKind::stacks: {
      const auto entry = read_stack(file, "", context);
      if (!entry) return std::nullopt;
      return Listing{entry->title, summary_of(entry->provenance)};
    }
  }
  return std::nullopt;
}

CatalogKind kind_named(const std::string& name) {
  if (const auto kind = from_name<CatalogKind>(name)) return *kind;
  const auto kinds = choices_of<CatalogKind>();
  const std::string hint = nearest_hint(name, kinds);
  throw ScenarioError({{"", 0, 0, "",
                        "there is no catalog of " + in_quotes(name) + (hint.empty() ? "." : hint) +
                            " Known: " + joined(kinds)}});
}

}  // namespace

const FieldTable& catalog_fields(CatalogKind kind) {
  switch (kind) {
    case CatalogKind::models:
      return model_fields();
    case CatalogKind::devices:
      return device_fields();
    case CatalogKind::hosts:
      return host_fields();
    case CatalogKind::links:
      return link_fields();
    case CatalogKind::fabrics:
      return fabric_table().fields();
    case CatalogKind::device_profiles:
      return device_profile_table().fields();
    case CatalogKind::stacks:
      return stack_table().fields();
    case CatalogKind::sites:
      return site_table().fields();
    case CatalogKind::engines:
      return engine_table().fields();
  }
  FORETRAIN_REQUIRE(!"a catalog kind of the enumeration");
  return model_fields();
}

std::optional<LlmShape> load_model(const CatalogRequest& request, CatalogContext& context) {
  auto entry = load_model_entry(request, context);
  if (!entry) return std::nullopt;
  return std::move(entry->shape);
}

std::optional<Host> load_host(const CatalogRequest& request, CatalogContext& context) {
  return load(CatalogKind::hosts, request, request.path, context, read_host);
}

std::optional<Network> load_network(const NetworkRequest& request, const CatalogRequest& preset,
                                    const Host& host, CatalogContext& context) {
  const auto fabric = load(CatalogKind::fabrics, preset, preset.path, context, read_fabric);
  const BytesPerSecond stated = request.described.nic_rate;
  if (!fabric) return std::nullopt;
  if (stated == BytesPerSecond{} && !nic_keeps_up(host, *fabric, preset, context))
    return std::nullopt;
  Cluster cluster;
  cluster.host = host;
  cluster.hosts = request.hosts;
  cluster.network = request.described;
  Network& network = cluster.network;
  network.preset = fabric->name;
  network.title = fabric->title;
  network.nic_link = fabric->link;
  if (stated > BytesPerSecond{}) network.nic_link.bandwidth = stated;
  network.transport = fabric->transport;
  network.step_latency = fabric->step_latency;
  network.protocols = fabric->protocols;
  network.provenance = fabric->provenance;
  if (const auto refused =
          size_network(cluster, request.switch_radix.value_or(fabric->switch_radix))) {
    context.diagnostics.add(
        request.where(refused->key), refused->key,
        refused->message + (refused->remedy.empty() ? "" : "; " + refused->remedy));
    return std::nullopt;
  }
  return network;
}

std::optional<DeviceProfile> load_device_profile(const CatalogRequest& request,
                                                 CatalogContext& context) {
  if (const auto device = device_without_profile(request.name, context))
    return read_profile_in_proportion(*device, "device_profile", context);
  return load(CatalogKind::device_profiles, request, "device_profile", context,
              read_device_profile);
}

std::optional<StackProfile> load_stack(const CatalogRequest& request, CatalogContext& context) {
  return load(CatalogKind::stacks, request, request.path, context, read_stack);
}

std::optional<SiteProfile> load_site(const CatalogRequest& request, CatalogContext& context) {
  return load(CatalogKind::sites, request, request.path, context, read_site);
}

std::optional<EngineProfile> load_engine(const CatalogRequest& request, CatalogContext& context) {
  return load(CatalogKind::engines, request, request.path, context, read_engine);
}

CatalogListing catalog_listing(const std::string& kind, const LoadOptions& options) {
  const CatalogKind wanted = kind_named(kind);
  Diagnostics diagnostics;
  const auto roots = catalog_roots(options.catalogs, diagnostics);
  diagnostics.throw_if_any();
  CatalogListing result;
  for (const CatalogFile& file : list_catalog_files(wanted, roots)) {
    Diagnostics own;
    std::vector<SourceFile> files;
    std::vector<ResolvedValue> values;
    CatalogContext context{options.catalogs, {}, own, files, values};
    if (auto listing = listing_of(wanted, file, context))
      result.entries.push_back(
          {kind, file.name, std::move(listing->title), std::move(listing->summary), file.file});
    else
      result.broken.push_back({file.name, own.sorted()});
  }
  return result;
}

namespace {

/// As forecasts read it: what its relative was measured for in proportion to the datasheets.
std::optional<FieldValues> device_values(const CatalogFile& file, CatalogContext& context) {
  auto entry = read_device_entry(file, "", context);
  return entry ? std::optional(std::move(entry->values)) : std::nullopt;
}

}  // namespace

std::vector<ResolvedValue> inherited_values(const std::string& kind, const std::string& name,
                                            const LoadOptions& options) {
  const CatalogKind wanted = kind_named(kind);
  Diagnostics diagnostics;
  const auto roots = catalog_roots(options.catalogs, diagnostics);
  diagnostics.throw_if_any();
  std::vector<ResolvedValue> inherited;
  if (!is_entry_name(name)) return inherited;
  const auto file = find_catalog_file(wanted, name, roots);
  if (!file) return inherited;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{options.catalogs, {}, diagnostics, files, values};
  const auto read = wanted == CatalogKind::devices
                        ? device_values(*file, context)
                        : read_catalog_file(*file, catalog_fields(wanted), context, nullptr);
  diagnostics.throw_if_any();
  for (const FieldValue& value : read->all())
    if (!value.is_default && value.field->kind != FieldKind::tree && !is_own(value, *file))
      inherited.push_back({value.path, value.text, value.origin()});
  return inherited;
}

std::vector<CatalogEntry> catalog_entries(const std::string& kind, const LoadOptions& options) {
  return catalog_listing(kind, options).entries;
}

}  // namespace foretrain
