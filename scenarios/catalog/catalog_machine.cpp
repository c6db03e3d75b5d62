// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/catalog_machine.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include <fmt/format.h>

#include "scenarios/catalog/catalog_device.hpp"
#include "scenarios/catalog/catalog_read.hpp"
#include "scenarios/catalog/internal/machine_keys.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace foretrain {
namespace {

using keys::bind;
using keys::unbound;
using machine_keys::count;
using machine_keys::group;
using machine_keys::positive;
using machine_keys::required;

const BoundTable<Link>& link_table() {
  static const BoundTable<Link> table(
      "Link catalog",
      joined_rows(
          {head_keys(true),
           {bind(positive("bandwidth", "Datasheet rate of one direction.", "400 Gbit/s"),
                 &Link::bandwidth),
            bind(positive("latency", "Hardware latency of one hop.", "0.47 us"), &Link::latency),
            bind({.path = "achievable",
                  .help = "Measured share of the datasheet rate that large messages reach.",
                  .example = "0.98",
                  .required = true,
                  .min = 0,
                  .max = 1,
                  .above_min = true},
                 &Link::achievable)},
           source_keys()}));
  return table;
}

KeyRows host_keys() {
  return {
      unbound({.path = "default",
               .kind = FieldKind::boolean,
               .help = "The host of commands that are told none; one of the built-in "
                       "catalog says so.",
               .example = "true",
               .own = true}),
      bind(required("device", "Its GPUs, from the device catalog.", "h100-sxm5-80gb"),
           &HostEntry::device),
      bind(count("gpus", "GPUs of one host.", "8"), &HostEntry::host, &Host::gpus),
      unbound(group("scale_up", "What joins the GPUs of one host.")),
      bind(required("scale_up.kind", "How they are joined.", "nvswitch"), &HostEntry::host,
           &Host::scale_up),
      bind({.path = "scale_up.link",
            .help = "From the link catalog: all scale-up links of one GPU together; left out, the "
                    "one that the device says.",
            .example = "nvlink4"},
           &HostEntry::gpu_link),
      unbound({.path = "scale_up.pairs",
               .kind = FieldKind::text_list,
               .help = "For nvlink-mesh: which GPUs are joined, and by how many lanes; "
                       "left out, every two, alike.",
               .example = "[0-1, 0-3x2]"}),
      unbound({.path = "scale_up.domain",
               .kind = FieldKind::integer,
               .help =
                   "For nvswitch: GPUs that one NVSwitch fabric joins, over all its hosts, which "
                   "then are trays of a rack; left out, those of the host.",
               .example = "72",
               .min = 1,
               .max = 65536}),
      unbound(group("network", "The way out of the host.")),
      bind(count("network.nics", "NICs for GPU traffic.", "8"), &HostEntry::host, &Host::nics),
      bind(required("network.link", "What one NIC is, from the link catalog.", "ib-ndr"),
           &HostEntry::nic),
      bind({.path = "pcie",
            .help = "From GPU to CPU memory, from the link catalog; left out, as the device says.",
            .example = "pcie5"},
           &HostEntry::pcie),
      unbound(group("cpu", "The host's processors.")),
      bind(count("cpu.cores", "Cores, not hardware threads.", "112"), &HostEntry::host,
           &Host::cpu_cores),
      bind(positive("cpu.memory", "Memory of the host.", "2 TB"), &HostEntry::host,
           &Host::cpu_memory),
      bind({.path = "power_limit",
            .help = "Published maximum of one host with its GPUs and fans; of a tray, its share of "
                    "the rack, switches included. Left out where it is not published.",
            .example = "10.2 kW",
            .min = 0,
            .above_min = true,
            .own = true},
           &HostEntry::host, &Host::power_limit),
      unbound(group("storage", "Local scratch.", false)),
      bind(positive("storage.read", "Rate of reading from it.", "50 GB/s"), &HostEntry::host,
           &Host::storage_read),
  };
}

const BoundTable<HostEntry>& host_table() {
  static const BoundTable<HostEntry> table(
      "Host catalog", joined_rows({head_keys(true), host_keys(), source_keys()}));
  return table;
}

/// A key of the protocols, which exist where the group is written.
template <class... Path>
KeyRow protocols_key(const std::string& path, const char* help, const char* example,
                     Path... member) {
  return bind(
      {.path = "protocols." + path, .help = help, .example = example, .required = true, .min = 0},
      &FabricPreset::protocols, member...);
}

KeyRows protocols_keys() {
  using P = FabricProtocols;
  KeyRows keys{
      unbound({.path = "protocols",
               .kind = FieldKind::group,
               .help = "Collectives over this fabric alone, by NCCL's protocols; left out where no "
                       "size sweep was measured."})};
  for (std::size_t i = 0; i < protocol_count; ++i) {
    const std::string name(EnumNames<Protocol>::names[i].second);
    keys.push_back(unbound(group("protocols." + name, "NCCL's protocol of that name.")));
    keys.push_back(protocols_key(name + ".hop", "One step between hosts, switches not included.",
                                 "29 us", &P::crossing, i, &HostCrossing::hop));
    keys.push_back(protocols_key(name + ".share",
                                 "Share of what the NIC delivers to large messages.", "0.44",
                                 &P::crossing, i, &HostCrossing::nic_share));
  }
  keys.push_back(
      protocols_key("exchange_post", "All-to-all: per remote rank.", "0.3 us", &P::exchange_post));
  keys.push_back(protocols_key(
      "in_switch_tree", "Fixed time of a reduction in the switches with a tree between hosts.",
      "75 us", &P::in_switch_tree_base));
  return keys;
}

/// "0-3x2": GPUs 0 and 3, joined by two lanes. Nothing where it is not that.
std::optional<GpuPair> pair_in(const std::string& text) {
  GpuPair pair;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, pair.first);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '-') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, pair.second);
  if (second.ec != std::errc{} || second.ptr == first.ptr + 1) return std::nullopt;
  if (second.ptr == end) return pair;
  if (*second.ptr != 'x') return std::nullopt;
  const auto lanes = std::from_chars(second.ptr + 1, end, pair.lanes);
  if (lanes.ec != std::errc{} || lanes.ptr != end) return std::nullopt;
  return pair;
}

/// The mesh of a host whose file lists one.
/// @return false after reporting what is wrong with it
bool read_pairs(const FieldValues& values, Host& host, CatalogContext& context) {
  const std::string path = "scale_up.pairs";
  const FieldValue* list = values.find(path);
  if (list == nullptr) return !values.was_refused(path);
  const auto refuse = [&](const std::string& message) {
    context.diagnostics.add(list->mark, path, message);
    return false;
  };
  if (host.scale_up != ScaleUpKind::nvlink_mesh)
    return refuse(fmt::format("has no effect with kind: {}; leave it out, or write kind: {}",
                              name_of(host.scale_up), name_of(ScaleUpKind::nvlink_mesh)));
  for (const std::string& text : list->texts) {
    const auto pair = pair_in(text);
    const auto legal = [&](int gpu) { return 0 <= gpu && gpu < host.gpus; };
    if (!pair || !legal(pair->first) || !legal(pair->second) || pair->first == pair->second ||
        pair->lanes < 1 || pair->lanes > 64)
      return refuse(fmt::format("{} is not two GPUs from 0 to {}, as in 0-1 or 0-3x2",
                                in_quotes(text), host.gpus - 1));
    for (const GpuPair& other : host.pairs)
      if (std::minmax(other.first, other.second) == std::minmax(pair->first, pair->second))
        return refuse(fmt::format("{} joins two GPUs that are joined already; add its lanes there",
                                  in_quotes(text)));
    host.pairs.push_back(*pair);
  }
  const auto built = build_fabric(
      FabricSpec{1, {host.gpus, host.scale_up, BytesPerSecond{1.0}, {}, 0, {}, host.pairs}, {}});
  if (const auto* refused = std::get_if<Infeasible>(&built))
    return refuse(refused->message + "; " + refused->remedy);
  return true;
}

/// The scale-up domain of a host whose file says that it reaches beyond it.
/// @return false after reporting what is wrong with it
bool read_domain(const FieldValues& values, Host& host, CatalogContext& context) {
  const std::string path = "scale_up.domain";
  const FieldValue* value = values.find(path);
  if (value == nullptr) return !values.was_refused(path);
  const auto refuse = [&](const std::string& message) {
    context.diagnostics.add(value->mark, path, message);
    return false;
  };
  const int gpus = values.integer(path);
  if (gpus < host.gpus || gpus % host.gpus != 0)
    return refuse(fmt::format("{} GPUs are not whole hosts of {} GPUs each; write a multiple of {}",
                              gpus, host.gpus, host.gpus));
  if (gpus > host.gpus && host.scale_up != ScaleUpKind::nvswitch)
    return refuse(fmt::format("has no effect with kind: {}; leave it out, or write kind: {}",
                              name_of(host.scale_up), name_of(ScaleUpKind::nvswitch)));
  host.domain_hosts = gpus / host.gpus;
  return true;
}

/// Reads the entry that a value names, for example with read_link. The value's path also says which
/// kind of entry it is: a device or a link.
template <class Read>
auto named_by(const FieldValue& name, const std::string& prefix, CatalogContext& context, Read read)
    -> decltype(read(CatalogFile{}, prefix, context)) {
  const CatalogKind kind = name.path == "device" ? CatalogKind::devices : CatalogKind::links;
  const auto file = find_requested(kind, {name.text, name.path, name.mark}, context);
  if (!file) return std::nullopt;
  return read(*file, prefix.empty() ? prefix : prefix + "." + name.path, context);
}

/// The link that a host's file, or a host which it is like, names.
std::optional<Link> named_link(const FieldValues& values, const char* path,
                               const std::string& prefix, CatalogContext& context) {
  if (const FieldValue* const named = values.find(path))
    return named_by(*named, prefix, context, read_link);
  if (!values.was_refused(path))
    context.diagnostics.add(values.where(path), path,
                            fmt::format("required key is missing; write for example {}: {}",
                                        leaf_name(path), host_fields().find(path)->example));
  return std::nullopt;
}

}  // namespace

const BoundTable<FabricPreset>& fabric_table() {
  static const BoundTable<FabricPreset> table(
      "Fabric catalog",
      joined_rows(
          {head_keys(true),
           {bind(required("link", "What one NIC is, from the link catalog.", "ib-ndr"),
                 &FabricPreset::link_name),
            bind(count("switch_radix", "Ports of one switch at the NIC's rate.", "64", 2),
                 &FabricPreset::switch_radix),
            bind(required("transport", "How the figures were measured.", "gpudirect-rdma"),
                 &FabricPreset::transport),
            bind({.path = "step_latency",
                  .help = "What one step of a collective between hosts takes beyond switches and "
                          "the site profile.",
                  .example = "0 us",
                  .required = true,
                  .min = 0},
                 &FabricPreset::step_latency)},
           protocols_keys(),
           {bind(required("trust", "How far the figures can be trusted.", "measured"),
                 &FabricPreset::trust)},
           source_keys(),
           deviation_keys()}));
  return table;
}

std::optional<Link> read_link(const CatalogFile& file, const std::string& prefix,
                              CatalogContext& context) {
  auto item = read_item(file, link_table(), prefix, context);
  if (!item) return std::nullopt;
  item->value.name = file.name;
  item->value.title = item->values.text("title");
  return item->value;
}

std::optional<Host> read_host(const CatalogFile& file, const std::string& prefix,
                              CatalogContext& context) {
  auto item = read_item(file, host_table(), prefix, context);
  if (!item) return std::nullopt;
  const FieldValues& values = item->values;
  Host host = item->value.host;
  host.name = file.name;
  host.title = values.text("title");
  const bool joined = read_pairs(values, host, context) && read_domain(values, host, context);
  const auto device = named_by(values.at("device"), prefix, context, read_device_entry);
  const auto nic = named_by(values.at("network.link"), prefix, context, read_link);
  if (!device) return std::nullopt;
  // One that the host's own file names, else the one that its device says.
  const auto link_of = [&](const char* path, const std::optional<Link>& of_device) {
    const FieldValue* const named = values.find(path);
    const bool own = named != nullptr && is_own(*named, file);
    return of_device && !own ? of_device : named_link(values, path, prefix, context);
  };
  const auto gpu_link = link_of("scale_up.link", device->scale_up);
  const auto pcie = link_of("pcie", device->pcie);
  if (!joined || !gpu_link || !nic || !pcie) return std::nullopt;
  host.device = device->device;
  host.gpu_link = *gpu_link;
  host.nic = *nic;
  host.pcie = *pcie;
  return host;
}

std::optional<FabricPreset> read_fabric(const CatalogFile& file, const std::string& prefix,
                                        CatalogContext& context) {
  auto item = read_item(file, fabric_table(), prefix, context);
  if (!item) return std::nullopt;
  FabricPreset& preset = item->value;
  preset.name = file.name;
  preset.title = item->values.text("title");
  preset.provenance = provenance_of_sources(item->values, preset.trust);
  const auto link = named_by(item->values.at("link"), prefix, context, read_link);
  if (!link) return std::nullopt;
  preset.link = *link;
  return preset;
}

const FieldTable& link_fields() { return link_table().fields(); }
const FieldTable& host_fields() { return host_table().fields(); }

}  // namespace foretrain
