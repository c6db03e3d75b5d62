// SPDX-License-Identifier: Apache-2.0
#include "scenarios/catalog/machine_text.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "scenarios/catalog/catalog_machine.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

/// Everything that machines are made of.
struct Machines {
  struct Named {
    std::string device;
    std::vector<std::string> pci_ids;
  };
  std::vector<Named> devices;
  std::vector<Host> hosts;
  std::vector<Link> links;
  std::vector<FabricPreset> fabrics;
};

Machines read_machines(const LoadOptions& options) {
  Diagnostics diagnostics;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{options.catalogs, {}, diagnostics, files, values};
  const auto roots = catalog_roots(options.catalogs, diagnostics);
  diagnostics.throw_if_any();
  Machines all;
  for (const CatalogFile& file : list_catalog_files(CatalogKind::devices, roots))
    if (const auto entry = read_catalog_file(file, device_fields(), context, nullptr)) {
      const FieldValue* ids = entry->find("pci_ids");
      all.devices.push_back({file.name, ids ? ids->texts : std::vector<std::string>{}});
    }
  for (const CatalogFile& file : list_catalog_files(CatalogKind::hosts, roots))
    if (auto host = read_host(file, "", context)) all.hosts.push_back(std::move(*host));
  for (const CatalogFile& file : list_catalog_files(CatalogKind::links, roots))
    if (auto link = read_link(file, "", context)) all.links.push_back(std::move(*link));
  for (const CatalogFile& file : list_catalog_files(CatalogKind::fabrics, roots))
    if (auto fabric = read_fabric(file, "", context)) all.fabrics.push_back(std::move(*fabric));
  diagnostics.throw_if_any();
  return all;
}

[[noreturn]] void refuse(const std::string& option, const std::string& message) {
  throw ScenarioError({{option, 0, 0, {}, message}});
}

template <class T>
std::vector<std::string> names_of(const std::vector<T>& entries) {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const T& entry : entries) names.push_back(entry.name);
  return names;
}

/// The entry of that name. @throws ScenarioError with the nearest and the known ones
template <class T>
const T& entry_named(const std::vector<T>& entries, const std::string& name,
                     const std::string& option, const std::string& noun) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const T& entry) { return entry.name == name; });
  if (found != entries.end()) return *found;
  const auto names = names_of(entries);
  const std::string hint = nearest_hint(name, names);
  refuse(option, fmt::format("there is no {} {}{} Known: {}", noun, in_quotes(name),
                             hint.empty() ? "." : hint, joined(names)));
}

bool same_rate(double a, double b) { return std::abs(a - b) <= 0.02 * std::max(a, b); }

/// Rate of one lane and direction, 10^9 byte/s: 25 of NVLink 2, 3 and 4, 50 of NVLink 5 (NVIDIA's
/// whitepapers of V100, A100, H100 and Blackwell: total rate over links over 2).
double lane_rate(int generation) { return generation >= 5 ? 50e9 : 25e9; }

/// NVLink 2 with V100 (sm_70), 3 with A100 (sm_80), 4 with H100 (sm_90), 5 with Blackwell (sm_100).
int nvlink_generation(const std::string& architecture) {
  if (architecture == "volta") return 2;
  if (architecture == "ampere") return 3;
  if (architecture == "hopper") return 4;
  return 5;
}

/// One composition.
class HostComposer {
 public:
  HostComposer(const HostDescription& found, const HostTextRequest& request,
               const LoadOptions& options)
      : found_{found}, request_{request}, all_{read_machines(options)} {}

  MachineText compose() {
    if (!is_entry_name(request_.name))
      refuse("--name", in_quotes(request_.name) +
                           " is not a name for an entry; use lower-case letters, digits, - and .");
    const Host like = template_host();
    Parts parts;
    parts.gpu_link = gpu_link_name(like);
    parts.nic = nic_name(like);
    parts.pcie = pcie_name(like);
    parts.cores = cores_of(like);
    parts.nics = nics_of(like);
    assume(fmt::format("{} of host memory, as {}", memory_text(like.cpu_memory), like.name));
    result_.text = file_text(like, parts);
    return std::move(result_);
  }

 private:
  /// What the import found or took from the host that it resembles.
  struct Parts {
    std::string gpu_link;
    std::string nic;
    int nics = 0;
    std::string pcie;
    int cores = 0;
  };

  void assume(std::string sentence) { result_.assumed.push_back(std::move(sentence)); }

  static std::string memory_text(Bytes memory) {
    const double gib = memory.value() / (1024.0 * 1024.0 * 1024.0);
    return gib == std::floor(gib) ? fmt::format("{:.0f} GiB", gib)
                                  : fmt::format("{:.10g} GB", memory.value() / 1e9);
  }

  [[nodiscard]] std::string device_name() const {
    if (!request_.device.empty()) return request_.device;
    if (!request_.like.empty() && found_.pci_device.empty()) return {};
    for (const auto& device : all_.devices)
      if (std::count(device.pci_ids.begin(), device.pci_ids.end(), found_.pci_device) > 0)
        return device.device;
    std::vector<std::string> names;
    for (const auto& device : all_.devices) names.push_back(device.device);
    refuse("--device",
           (found_.pci_device.empty()
                ? std::string("the file does not say what its GPUs are")
                : "no device of the catalogs has the PCI id " + in_quotes(found_.pci_device)) +
               "; name it, known: " + joined(names));
  }

  /// The catalog host with the same GPUs, the same number of them, and NICs as near as can be.
  Host template_host() {
    if (!request_.like.empty()) {
      Host host = entry_named(all_.hosts, request_.like, "--like", "host");
      if (const std::string device = device_name(); !device.empty() && device != host.device.name)
        refuse("--like", in_quotes(host.name) + " has " + host.device.name + ", not " + device);
      return host;
    }
    const std::string device = device_name();
    const Host* best = nullptr;
    int best_score = -1;
    for (const Host& host : all_.hosts) {
      if (host.device.name != device) continue;
      const int score = 4 * (host.gpus == found_.gpus) + 2 * (host.scale_up == found_.scale_up) +
                        (host.nics == static_cast<int>(found_.nics.size()));
      if (score > best_score) best = &host;
      best_score = std::max(best_score, score);
    }
    if (best == nullptr)
      refuse("--like", "no host of the catalogs has " + in_quotes(device) +
                           ", so cores and memory of the host are not known; name one to take "
                           "them from: " +
                           joined(names_of(all_.hosts)));
    check_nics_agree(device);
    return *best;
  }

  /// NICs of unknown rate are taken from the template, unless hosts with that device differ.
  void check_nics_agree(const std::string& device) const {
    if (!request_.nic_link.empty() ||
        (!found_.nics.empty() && found_.nics.front().gbit_per_second > 0.0))
      return;
    std::vector<std::string> names;
    std::vector<std::string> links;
    for (const Host& host : all_.hosts)
      if (host.device.name == device) {
        names.push_back(host.name);
        links.push_back(host.nic.name);
      }
    if (std::adjacent_find(links.begin(), links.end(), std::not_equal_to<>{}) == links.end())
      return;
    refuse("--nic-link",
           "the file does not say what NICs are, and hosts with " + device +
               " differ; name a link of the catalogs, or with --like one of these hosts: " +
               joined(names));
  }

  [[nodiscard]] std::string link_at(const std::string& prefix, double bytes_per_second) const {
    const Link* best = nullptr;
    for (const Link& link : all_.links)
      if (link.name.starts_with(prefix) && same_rate(link.bandwidth.value(), bytes_per_second) &&
          (best == nullptr || link.name.size() < best->name.size()))
        best = &link;
    return best ? best->name : std::string{};
  }

  [[nodiscard]] std::string named_link(const std::string& name, const std::string& option) const {
    return entry_named(all_.links, name, option, "link").name;
  }

  std::string gpu_link_name(const Host& like) {
    if (!request_.gpu_link.empty()) return named_link(request_.gpu_link, "--gpu-link");
    if (found_.scale_up == ScaleUpKind::pcie) return pcie_name(like);
    const int generation = nvlink_generation(std::string(name_of(like.device.architecture)));
    const double rate = found_.nvlink_lanes * lane_rate(generation);
    const double known = like.gpu_link.bandwidth.value();
    if (like.scale_up != ScaleUpKind::pcie && same_rate(known, rate)) return like.gpu_link.name;
    std::string name = link_at(fmt::format("nvlink{}", generation), rate);
    if (name.empty())
      refuse("--gpu-link",
             fmt::format("no link of the catalogs is {} lanes of NVLink {} ({:.0f} GB/s per "
                         "direction); name one, or add it to a catalog of your own",
                         found_.nvlink_lanes, generation, rate / 1e9));
    return name;
  }

  std::string nic_name(const Host& like) {
    if (!request_.nic_link.empty()) return named_link(request_.nic_link, "--nic-link");
    const double gbit = found_.nics.empty() ? 0.0 : found_.nics.front().gbit_per_second;
    if (gbit <= 0.0) {
      assume(fmt::format("NICs are {}, as of {} (--nic-link decides)", like.nic.name, like.name));
      return like.nic.name;
    }
    const double rate = gbit * 1e9 / 8.0;
    const NicTechnology technology = found_.nics.front().technology;
    const std::string prefix = technology == NicTechnology::infiniband ? "ib-"
                               : technology == NicTechnology::ethernet ? "roce-"
                               : technology == NicTechnology::socket   ? "tcp-"
                                                                       : "";
    if (prefix.empty() && same_rate(like.nic.bandwidth.value(), rate)) {
      assume(
          fmt::format("NICs are {}, as of {}: the file does not say what carries their {:g} "
                      "Gbit/s (--nic-link decides)",
                      like.nic.name, like.name, gbit));
      return like.nic.name;
    }
    std::string name = prefix.empty() ? prefix : link_at(prefix, rate);
    if (name.empty())
      refuse("--nic-link", fmt::format("no link of the catalogs is {} with {:g} Gbit/s; name one "
                                       "of: {}",
                                       name_of(technology), gbit, joined(names_of(all_.links))));
    return name;
  }

  std::string pcie_name(const Host& like) {
    if (!request_.pcie.empty()) return named_link(request_.pcie, "--pcie");
    if (found_.pcie_transfers <= 0.0 || found_.pcie_width <= 0) {
      if (!told_pcie_)
        assume(fmt::format("the GPUs' PCIe is {}, as of {} (--pcie decides)", like.pcie.name,
                           like.name));
      told_pcie_ = true;
      return like.pcie.name;
    }
    // 128b/130b encoding from 8 GT/s on (PCI Express Base Specification).
    const double rate = found_.pcie_transfers * 1e9 * found_.pcie_width / 8.0 * 128.0 / 130.0;
    std::string name = link_at("pcie", rate);
    if (name.empty())
      refuse("--pcie", fmt::format("no link of the catalogs is {:g} GT/s x{} ({:.1f} GB/s); name "
                                   "one, or add it to a catalog of your own",
                                   found_.pcie_transfers, found_.pcie_width, rate / 1e9));
    return name;
  }

  int nics_of(const Host& like) {
    if (!found_.nics.empty()) return static_cast<int>(found_.nics.size());
    assume(fmt::format("{} NICs, as of {}: the file has none", like.nics, like.name));
    return like.nics;
  }

  int cores_of(const Host& like) {
    const bool two_threads = found_.cpu_threads == 2 * like.cpu_cores;
    if (found_.cpu_threads == 0 || found_.cpu_threads == like.cpu_cores || two_threads) {
      assume(fmt::format("{} cores, as of {}", like.cpu_cores, like.name));
      return like.cpu_cores;
    }
    const int cores = std::max(1, found_.cpu_threads / 2);
    assume(fmt::format("{} cores: two hardware threads each of the {} in the file", cores,
                       found_.cpu_threads));
    return cores;
  }

  [[nodiscard]] std::string pairs_text() const {
    if (found_.scale_up != ScaleUpKind::nvlink_mesh) return {};
    std::string text;
    for (const GpuPair& pair : found_.pairs)
      text += fmt::format("{}{}-{}{}", text.empty() ? "" : ", ", pair.first, pair.second,
                          pair.lanes > 1 ? fmt::format("x{}", pair.lanes) : "");
    return fmt::format("  pairs: [{}]\n", text);
  }

  [[nodiscard]] std::string file_text(const Host& like, const Parts& parts) const {
    std::string text = fmt::format(
        "# SPDX-License-Identifier: Apache-2.0\nschema: 1\nname: {0}\ntitle: {0}\n"
        "device: {1}\ngpus: {2}\nscale_up:\n  kind: {3}\n  link: {4}\n{5}"
        "network: {{nics: {6}, link: {7}}}\npcie: {8}\ncpu: {{cores: {9}, memory: {10}}}\n",
        request_.name, like.device.name, found_.gpus, name_of(found_.scale_up), parts.gpu_link,
        pairs_text(), parts.nics, parts.nic, parts.pcie, parts.cores, memory_text(like.cpu_memory));
    text += fmt::format(
        "sources:\n  - covers: [device, gpus, scale_up, network, pcie]\n    cite: \"{}\"\n"
        "    date: {}\n  - covers: [cpu]\n    cite: \"assumed to be as {}, which the import "
        "resembles most\"\n    date: {}\n",
        request_.source, request_.date, like.name, request_.date);
    return text;
  }

  const HostDescription& found_;
  const HostTextRequest& request_;
  Machines all_;
  MachineText result_;
  bool told_pcie_ = false;
};

}  // namespace

MachineText host_catalog_text(const HostDescription& host, const HostTextRequest& request,
                              const LoadOptions& options) {
  return HostComposer(host, request, options).compose();
}

ClusterParts cluster_parts(const ClusterTextRequest& request, const LoadOptions& options) {
  const Machines all = read_machines(options);
  ClusterParts parts;
  if (request.host.empty())
    refuse("--host", "the file does not say what its hosts are; name one of the host catalog: " +
                         joined(names_of(all.hosts)));
  parts.host = entry_named(all.hosts, request.host, "--host", "host");
  if (!request.preset.empty()) {
    const auto& preset = entry_named(all.fabrics, request.preset, "--preset", "fabric preset");
    parts.preset = preset.name;
    parts.switch_radix = preset.switch_radix;
    return parts;
  }
  for (const FabricPreset& preset : all.fabrics)
    if (preset.link_name == parts.host.nic.name) {
      parts.preset = preset.name;
      parts.switch_radix = preset.switch_radix;
      return parts;
    }
  refuse("--preset", "no fabric preset is made of " + in_quotes(parts.host.nic.name) +
                         ", the NICs of " + parts.host.name +
                         "; name one: " + joined(names_of(all.fabrics)));
}

namespace {

std::string cluster_head(FabricKind kind, int hosts, const ClusterParts& parts,
                         const ClusterTextRequest& request) {
  std::string text =
      fmt::format("# SPDX-License-Identifier: Apache-2.0\n# {}\nschema: 1\n", request.source);
  if (!request.base.empty()) text += fmt::format("extends: {}\n", request.base);
  return text +
         fmt::format("cluster:\n  host: {}\n  hosts: {}\n  fabric:\n    kind: {}\n    preset: {}\n",
                     parts.host.name, hosts, name_of(kind), parts.preset);
}

/// A list over lines of some 90 letters.
std::string list_text(const std::string& key, const std::vector<std::string>& items) {
  std::string text = "      " + key + ": [";
  std::size_t width = text.size();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? "," : "");
    if (i > 0 && width + item.size() > 90) {
      text += "\n        ";
      width = 8;
    } else if (i > 0) {
      text += " ";
      ++width;
    }
    text += item;
    width += item.size();
  }
  return text + "]\n";
}

}  // namespace

std::string cluster_text(const FoundSwitches& found, const ClusterParts& parts,
                         const ClusterTextRequest& request) {
  const int hosts = static_cast<int>(found.shape.nics.size()) / found.nics_per_host;
  std::string text = cluster_head(FabricKind::irregular, hosts, parts, request);
  text += "    irregular:\n";
  for (std::size_t i = 0; i < found.names.size(); ++i)
    text += fmt::format("      # switch {}: {}\n", i, escaped(found.names[i]));
  std::vector<std::string> nics;
  for (const int to : found.shape.nics) nics.push_back(std::to_string(to));
  std::vector<std::string> cables;
  for (const SwitchPair& pair : found.shape.cables)
    cables.push_back(fmt::format("{}-{}", pair.first, pair.second) +
                     (pair.cables > 1 ? fmt::format("x{}", pair.cables) : ""));
  return text + list_text("nics", nics) + list_text("cables", cables);
}

std::string cluster_text(const FabricShape& shape, const ClusterParts& parts,
                         const ClusterTextRequest& request) {
  std::string text = cluster_head(shape.kind, shape.hosts, parts, request);
  if (shape.kind != FabricKind::single_switch || shape.oversubscription != 1.0)
    text += fmt::format("    oversubscription: {:.10g}\n", shape.oversubscription);
  if (shape.spine_oversubscription != 1.0)
    text += fmt::format("    spine_oversubscription: {:.10g}\n", shape.spine_oversubscription);
  if (shape.switch_radix != parts.switch_radix)
    text += fmt::format("    switch_radix: {}\n", shape.switch_radix);
  return text;
}

}  // namespace foretrain
