// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/catalog_device.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "scenarios/catalog/catalog_machine.hpp"
#include "scenarios/catalog/catalog_read.hpp"
#include "scenarios/catalog/internal/device_proportion.hpp"
#include "scenarios/catalog/internal/machine_keys.hpp"

namespace foretrain {
namespace {

using keys::bind;
using keys::unbound;
using machine_keys::count;
using machine_keys::group;
using machine_keys::measured;
using machine_keys::positive;
using machine_keys::required;

/// What others call the device, for readers of their logs and tables.
KeyRows name_keys() {
  const auto names = [](const char* path, const char* help, const char* example) {
    return unbound({.path = path,
                    .kind = FieldKind::text_list,
                    .help = help,
                    .example = example,
                    .own = true});
  };
  return {names("aliases", "Names of the product in drivers, tools and tables, without its maker.",
                "[H100 80GB HBM3, H100-SXM]"),
          names("short_names",
                "Names that tables of measurements use where no other kind is meant.", "[H100]"),
          names("platforms", "Names of Megatron-LM's test machines that have it.", "[h100]"),
          bind({.path = "host",
                .help = "Catalog host that it comes in: what --device takes, and what measurements "
                        "are of that name none.",
                .example = "dgx-h100",
                .own = true},
               &DeviceEntry::host)};
}

/// Whose measured constants it shares: what a fit gives to all of a family.
KeyRows family_keys() {
  const auto measured_device = [](const char* path, const char* help,
                                  std::string DeviceFamily::*member) {
    return bind({.path = path, .help = help, .example = "h100-sxm5-80gb", .own = true},
                &DeviceEntry::family, member);
  };
  return {unbound({.path = "family",
                   .kind = FieldKind::group,
                   .help = "Measured devices whose fitted constants it shares; a "
                           "measured device names itself.",
                   .own = true}),
          measured_device("family.kernels", "With the same chip: constants of kernels.",
                          &DeviceFamily::kernels),
          measured_device("family.collectives",
                          "With the same links between GPUs: constants of collectives.",
                          &DeviceFamily::collectives),
          measured_device("family.lines",
                          "With other links, where its own are not measured: constants of "
                          "collectives but those of the switch.",
                          &DeviceFamily::lines)};
}

KeyRows links_group() {
  return {unbound(
      group("links", "Rates of the device's own links, where its hosts name none.", false))};
}

KeyRows link_keys(const std::string& at, const std::string& help) {
  Field share = measured(at + ".achievable", "Measured share of the datasheet rate.", "0.84");
  share.max = 1;
  const auto quantity = [](Field field, Dimension dimension) {
    field.kind = FieldKind::quantity;
    field.dimension = dimension;
    return unbound(std::move(field));
  };
  share.kind = FieldKind::number;
  return {unbound(group(at, help, false)),
          unbound({.path = at + ".like",
                   .help = "Link of the catalog that gives whatever is not said here.",
                   .example = "nvlink5"}),
          quantity(measured(at + ".bandwidth", "Datasheet rate of one direction.", "900 GB/s"),
                   Dimension::bandwidth),
          quantity(measured(at + ".latency", "Hardware latency of one hop.", "0.5 us"),
                   Dimension::time),
          unbound(std::move(share))};
}

KeyRows peak_keys() {
  KeyRows keys{unbound(group("peak", "Dense matrix rates, never those with sparsity."))};
  for (const auto& [precision, name] : EnumNames<Precision>::names) {
    Field field = positive("peak." + std::string(name),
                           "Left out where the device has no such rate.", "989.4 TFLOP/s");
    field.required = false;
    keys.push_back(bind(std::move(field), &DeviceEntry::device, &Device::peak, precision));
  }
  return keys;
}

const BoundTable<DeviceEntry>& device_table() {
  static const BoundTable<DeviceEntry> table(
      "Device catalog",
      joined_rows(
          {head_keys(true),
           links_group(),
           {bind(required("architecture", "Generation, which decides workspaces and kernels.",
                          "hopper"),
                 &DeviceEntry::device, &Device::architecture),
            unbound(group("memory", "Memory of the device.")),
            bind(positive("memory.capacity", "As it is sold.", "80 GB"), &DeviceEntry::device,
                 &Device::memory),
            bind(positive("memory.usable", "What the driver offers, before any context.",
                          "79.11 GiB"),
                 &DeviceEntry::device, &Device::usable_memory),
            bind(positive("memory.bandwidth", "Datasheet rate.", "3.35 TB/s"), &DeviceEntry::device,
                 &Device::memory_bandwidth),
            bind(count("multiprocessors", "Streaming multiprocessors enabled.", "132"),
                 &DeviceEntry::device, &Device::multiprocessors),
            bind(positive("power_limit", "Board power.", "700 W"), &DeviceEntry::device,
                 &Device::power_limit),
            unbound({.path = "power",
                     .kind = FieldKind::group,
                     .help = "Measured draw; left out, board power counts.",
                     .own = true}),
            bind(measured("power.busy", "While kernels of training run.", "700 W"),
                 &DeviceEntry::device, &Device::power_busy),
            bind(measured("power.waiting", "A process that waits for others.", "300 W"),
                 &DeviceEntry::device, &Device::power_waiting),
            bind(measured("power.idle", "A process that holds memory, without work.", "140 W"),
                 &DeviceEntry::device, &Device::power_idle)},
           {unbound({.path = "pci_ids",
                     .kind = FieldKind::text_list,
                     .help = "Vendor and device on the PCI bus, by which imports of "
                             "topology files know the device.",
                     .example = "[\"0x10de:0x2330\"]",
                     .own = true})},
           name_keys(),
           family_keys(),
           peak_keys(),
           link_keys("links.scale_up", "All scale-up links of one GPU together, one direction."),
           link_keys("links.pcie", "From GPU to CPU memory."),
           {unbound({.path = "profile",
                     .kind = FieldKind::tree,
                     .help = "Constants of a device profile that differ from the "
                             "relative's in proportion; keys of device profiles.",
                     .own = true}),
            unbound({.path = std::string(server_key),
                     .kind = FieldKind::tree,
                     .help = "A host with it, in the keys of hosts; scenarios name it "
                             "as the device.",
                     .own = true})},
           source_keys()}));
  return table;
}

/// The link under `at`; nothing, and `legal` false after reporting why, where something is missing.
std::optional<Link> own_link(const FieldValues& values, const std::string& at, const Device& device,
                             CatalogContext& context, bool& legal) {
  if (!values.has_group(at)) return std::nullopt;
  Link link;
  if (const FieldValue* const like = values.find(at + ".like")) {
    const auto file =
        find_requested(CatalogKind::links, {like->text, at + ".like", like->mark}, context);
    const auto base = file ? read_link(*file, "", context) : std::nullopt;
    if (!base) {
      legal = false;
      return std::nullopt;
    }
    link = *base;
  }
  link.name = device.name;
  link.title = device.title + " " + std::string(leaf_name(at));
  if (const auto* value = values.find(at + ".bandwidth"))
    link.bandwidth = BytesPerSecond{value->number};
  if (const auto* value = values.find(at + ".latency")) link.latency = Seconds{value->number};
  if (const auto* value = values.find(at + ".achievable")) link.achievable = value->number;
  if (values.has(at + ".like")) return link;
  for (const char* key : {".bandwidth", ".latency", ".achievable"})
    if (!values.has(at + key)) {
      legal = false;
      context.diagnostics.add(values.where(at), at + key,
                              "required key is missing; write it, or " + at +
                                  ".like: LINK for what is as another link's");
    }
  return legal ? std::optional{link} : std::nullopt;
}

/// What the driver offers is measured: of a device with another capacity, a share of it as large as
/// its relative's.
bool add_usable_memory(FieldValues& values, const CatalogFile& file, const CatalogFile& relative,
                       CatalogContext& context) {
  const FieldValue* const usable = values.find("memory.usable");
  if (usable == nullptr || is_own(*usable, file) || !is_own(values.at("memory.capacity"), file))
    return true;
  const auto other = read_catalog_file(relative, device_fields(), context, nullptr);
  if (!other) return false;
  const double ratio = values.number("memory.capacity") / other->number("memory.capacity");
  values.put(in_proportion(*usable, ratio, "memory.capacity"));
  return true;
}

}  // namespace

std::optional<DeviceEntry> read_device_entry(const CatalogFile& file, const std::string& prefix,
                                             CatalogContext& context) {
  auto values = read_catalog_file(file, device_fields(), context, nullptr);
  if (!values) return std::nullopt;
  DeviceEntry entry;
  if (const FieldValue* const like = values->find(like_key)) {
    YamlNode name;
    name.kind = YamlNode::Kind::scalar;
    name.text = like->text;
    name.mark = like->mark;
    entry.relative = find_relative(name, {file}, context);
    if (!entry.relative || !add_usable_memory(*values, file, *entry.relative, context))
      return std::nullopt;
  }
  auto item = item_of(std::move(*values), device_table(), prefix, context);
  Device& device = entry.device = std::move(item.value.device);
  entry.family = std::move(item.value.family);
  entry.host = std::move(item.value.host);
  entry.values = std::move(item.values);
  device.name = file.name;
  device.title = entry.values.text("title");
  device.provenance = provenance_of_sources(entry.values, Trust::datasheet);
  bool legal = true;
  entry.scale_up = own_link(entry.values, "links.scale_up", device, context, legal);
  entry.pcie = own_link(entry.values, "links.pcie", device, context, legal);
  if (!legal) return std::nullopt;
  const bool fits = device.usable_memory <= device.memory * 1.08;  // 80 GB may be 80 GiB
  const std::string fault = peak_fault(device.peak);
  if (fits && fault.empty()) return entry;
  const char* path = fits ? "peak" : "memory.usable";
  context.diagnostics.add(entry.values.where(path), path,
                          fits ? fault : "is more than the capacity");
  return std::nullopt;
}

std::string peak_fault(const std::map<Precision, FlopPerSecond>& peak) {
  if (peak.empty()) return "needs the rate of one precision at least";
  // Formats of one list are as long as each other.
  const std::array<std::vector<Precision>, 4> by_length{
      {{Precision::fp32}, {Precision::tf32}, {Precision::fp16, Precision::bf16}, {Precision::fp8}}};
  const std::pair<const Precision, FlopPerSecond>* fastest = nullptr;
  for (const std::vector<Precision>& formats : by_length) {
    const auto* const longer = fastest;
    for (const Precision precision : formats) {
      const auto found = peak.find(precision);
      if (found == peak.end()) continue;
      if (longer != nullptr && found->second < longer->second)
        return fmt::format(
            "{} at {:.4g} TFLOP/s is slower than {} at {:.4g} TFLOP/s; dense rates do not fall "
            "with "
            "the bits of a format",
            name_of(precision), found->second.in(TFLOPS), name_of(longer->first),
            longer->second.in(TFLOPS));
      if (fastest == nullptr || found->second > fastest->second) fastest = &*found;
    }
  }
  return "";
}

std::optional<Device> read_device(const CatalogFile& file, const std::string& prefix,
                                  CatalogContext& context) {
  auto entry = read_device_entry(file, prefix, context);
  if (!entry) return std::nullopt;
  return std::move(entry->device);
}

const FieldTable& device_fields() { return device_table().fields(); }

}  // namespace foretrain
