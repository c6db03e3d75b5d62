// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/commands.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <memory>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "planner/cli/output_file.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/machine_text.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/text_file.hpp"
#include "topologies/imports/network_description.hpp"

namespace foretrain {
namespace {

struct TopologyOptions {
  std::string file;
  std::string out;
  OwnFolders folders;
  HostTextRequest host;
  ClusterTextRequest cluster;
  std::optional<FabricKind> kind;
  std::optional<double> oversubscription;
  bool nearest = false;
};

std::string today() {
  return fmt::format(
      "{:%Y-%m-%d}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

std::string shown_file(const TopologyOptions& options) {
  return options.file == "-" ? "standard input"
                             : std::filesystem::path(options.file).filename().string();
}

std::string text_of(const TopologyOptions& options) {
  if (options.file == "-") return read_standard_input();
  Diagnostics diagnostics;
  auto text = read_text_file(options.file, options.file, import_bytes, diagnostics);
  diagnostics.throw_if_any();
  return std::move(*text);
}

/// An importer's refusal becomes FILE:LINE: message.
template <class Import>
auto imported(const TopologyOptions& options, Import import) {
  try {
    return import();
  } catch (const ImportError& error) {
    throw ScenarioError({{options.file, error.line(), 0, {}, error.what()}});
  }
}

LoadOptions load_options(const TopologyOptions& options) {
  LoadOptions load;
  load.catalogs = own_roots(options.folders);
  return load;
}

/// What was read, left aside and assumed goes to standard error: standard output is the result.
void tell(const std::string& read, const ImportNotes& notes) {
  write_diagnostic("read     " + read);
  write_diagnostic("ignored  " + (notes.ignored.empty() ? "nothing" : joined(notes.ignored)));
  for (const std::string& sentence : notes.assumed) write_diagnostic("assumed  " + sentence);
}

std::string read_of(const HostDescription& host) {
  std::string text = fmt::format("{} GPUs", host.gpus);
  if (!host.pci_device.empty()) text += " " + host.pci_device;
  text += host.scale_up == ScaleUpKind::pcie
              ? ", joined by PCIe"
              : fmt::format(", {} with {} lanes each", name_of(host.scale_up), host.nvlink_lanes);
  text += fmt::format(", {} NICs for them", host.nics.size());
  if (!host.nics.empty() && host.nics.front().gbit_per_second > 0.0)
    text += fmt::format(" of {:g} Gbit/s ({})", host.nics.front().gbit_per_second,
                        name_of(host.nics.front().technology));
  if (host.pcie_transfers > 0.0)
    text += fmt::format(", PCIe {:g} GT/s x{}", host.pcie_transfers, host.pcie_width);
  if (host.cpu_threads > 0) text += fmt::format(", {} hardware threads", host.cpu_threads);
  return text;
}

using HostImport = HostDescription (*)(std::string_view, ImportNotes&);

int import_host(TopologyOptions& options, HostImport import, const std::string& tool) {
  const std::string text = text_of(options);
  ImportNotes notes;
  const HostDescription host = imported(options, [&] { return import(text, notes); });
  options.host.date = today();
  options.host.source = fmt::format("imported from {} {}", tool, shown_file(options));
  std::erase(options.host.source, '"');
  MachineText result = host_catalog_text(host, options.host, load_options(options));
  std::move(result.assumed.begin(), result.assumed.end(), std::back_inserter(notes.assumed));
  tell(read_of(host), notes);
  return deliver(result.text, options.out, FileUse::to_edit);
}

std::string shape_text(const FabricShape& shape) {
  const ClosNetwork& network = shape.network;
  std::string text =
      fmt::format("{}: {} hosts, {} leaves", name_of(shape.kind), shape.hosts, network.leaves);
  if (network.spines > 0) text += fmt::format(", {} spines", network.spines);
  if (network.cores > 0) text += fmt::format(", {} cores", network.cores);
  if (network.hosts_per_leaf > 0)
    text += fmt::format(", {} hosts per leaf", network.hosts_per_leaf);
  text += fmt::format(", switches of {} ports, oversubscription {:g}", shape.switch_radix,
                      shape.oversubscription);
  return text;
}

/// What the scenario is made of.
using AcceptedFabric = std::variant<FabricShape, FoundSwitches>;

/// The fabric to go on with. @throws ScenarioError naming the switch that breaks the pattern, where
/// the file has no cables to go by
AcceptedFabric accepted(const FoundFabric& found, const TopologyOptions& options,
                        ImportNotes& notes) {
  if (const auto* shape = std::get_if<FabricShape>(&found)) return *shape;
  const auto& irregular = std::get<IrregularFabric>(found);
  const std::string breach =
      fmt::format("switch {} {}", in_quotes(irregular.switch_name), irregular.reason);
  if (options.nearest && irregular.nearest) {
    notes.assumed.push_back(fmt::format("the nearest regular fabric, {} ({}); in the file, {}",
                                        shape_text(*irregular.nearest), irregular.difference,
                                        breach));
    return *irregular.nearest;
  }
  const bool cable_by_cable = irregular.found && irregular.found->refused.empty();
  if (cable_by_cable) {
    notes.assumed.push_back(breach + ", so that it is no regular fabric: taken cable by cable");
    notes.assumed.emplace_back(
        "routes are shortest paths by hops, not the subnet manager's tables" +
        std::string(irregular.nearest ? " (--nearest takes the nearest regular fabric)" : ""));
    return *irregular.found;
  }
  std::string remedy = "; no regular fabric comes close";
  if (irregular.nearest)
    remedy = fmt::format("; the nearest regular fabric is {} ({}): --nearest takes it",
                         shape_text(*irregular.nearest), irregular.difference);
  if (irregular.found) remedy += "; it cannot be taken cable by cable: " + irregular.found->refused;
  throw ScenarioError({{options.file, irregular.line, 0, {}, breach + remedy}});
}

std::string shape_text(const FoundSwitches& found) {
  long cables = 0;
  for (const SwitchPair& pair : found.shape.cables) cables += pair.cables;
  return fmt::format("irregular: {} hosts, {} switches, {} cables between them",
                     found.shape.nics.size() / static_cast<std::size_t>(found.nics_per_host),
                     found.names.size(), cables);
}

/// What was read of which tool's file.
struct FabricFile {
  std::string tool;  ///< "Slurm's"
  std::string read;  ///< "64 nodes below 5 switches"
  FoundFabric found;
};

int finish_fabric(TopologyOptions& options, const FabricFile& file, const ClusterParts& parts,
                  ImportNotes& notes) {
  const AcceptedFabric fabric = accepted(file.found, options, notes);
  options.cluster.source =
      fmt::format("Imported from {} {} on {}.", file.tool, shown_file(options), today());
  tell(file.read, notes);
  write_diagnostic("found    " +
                   std::visit([](const auto& shape) { return shape_text(shape); }, fabric));
  const std::string text = std::visit(
      [&](const auto& shape) { return cluster_text(shape, parts, options.cluster); }, fabric);
  return deliver(text, options.out, FileUse::to_edit);
}

ShapeRequest shape_request(const TopologyOptions& options, const ClusterParts& parts) {
  ShapeRequest request;
  request.nics_per_host = parts.host.nics;
  request.gpus_per_host = parts.host.gpus;
  request.switch_radix = parts.switch_radix;
  request.oversubscription = options.oversubscription;
  request.kind = options.kind;
  if (request.kind == FabricKind::dragonfly || request.kind == FabricKind::torus ||
      request.kind == FabricKind::irregular)
    throw UsageError("--kind " + std::string(name_of(*options.kind)) +
                     " does not consist of tiers of switches");
  return request;
}

int import_slurm(TopologyOptions& options) {
  const std::string text = text_of(options);
  ImportNotes notes;
  const SwitchTree tree = imported(options, [&] { return import_slurm_topology(text, notes); });
  const ClusterParts parts = cluster_parts(options.cluster, load_options(options));
  const FoundFabric found =
      imported(options, [&] { return shape_of_tree(tree, shape_request(options, parts), notes); });
  notes.assumed.push_back(fmt::format("hosts are {} with {} NICs of {}", parts.host.name,
                                      parts.host.nics, parts.preset));
  const std::string read =
      fmt::format("{} nodes below {} switches", tree.hosts, tree.switches.size());
  return finish_fabric(options, {"Slurm's", read, found}, parts, notes);
}

/// The host that a network was found with must be the one that the user names.
template <class Shape>
void check_host(const Shape& shape, const ClusterParts& parts, const TopologyOptions& options) {
  if (shape.nics_per_host != parts.host.nics)
    throw ScenarioError({{options.file,
                          0,
                          0,
                          {},
                          fmt::format("hosts have {} NICs here, and {} has {}; name another with "
                                      "--host",
                                      shape.nics_per_host, parts.host.name, parts.host.nics)}});
  const double gbit = parts.host.nic.bandwidth.in(Gbps);
  if (shape.gbit_per_second > 0.0 && std::abs(shape.gbit_per_second - gbit) > 0.05 * gbit)
    throw ScenarioError({{options.file,
                          0,
                          0,
                          {},
                          fmt::format("NICs run at {:g} Gbit/s here, and those of {} at {:g}; name "
                                      "another with --host",
                                      shape.gbit_per_second, parts.host.name, gbit)}});
}

using NetworkImport = NetworkDescription (*)(std::string_view, ImportNotes&);

int import_network(TopologyOptions& options, NetworkImport import, const std::string& tool) {
  const std::string text = text_of(options);
  ImportNotes notes;
  const NetworkDescription network = imported(options, [&] { return import(text, notes); });
  const ClusterParts parts = cluster_parts(options.cluster, load_options(options));
  const FoundFabric found =
      imported(options, [&] { return recognise_fabric(network, parts.host.gpus, notes); });
  if (const auto* shape = std::get_if<FabricShape>(&found)) check_host(*shape, parts, options);
  if (const auto* irregular = std::get_if<IrregularFabric>(&found))
    if (irregular->found && irregular->found->refused.empty() && !options.nearest)
      check_host(*irregular->found, parts, options);
  notes.assumed.push_back(fmt::format("hosts are {}", parts.host.name));
  const std::string read = fmt::format(
      "{} hosts with {} cables, {} switches with {} cables between them", network.hosts.size(),
      network.host_cables.size(), network.switches.size(), network.switch_cables.size());
  return finish_fabric(options, {tool, read, found}, parts, notes);
}

CommandRow import_row(const char* name, const char* help, TopologyOptions& options) {
  CommandRow command{name, help};
  command.option("file", options.file, "FILE", "File to read; -: standard input",
                 {.required = true});
  add_edited_output(command, options.out);
  add_folder_options(command, options.folders);
  return command;
}

CommandRow host_import(const char* name, const char* help, HostImport reader, const char* tool) {
  const auto options = std::make_shared<TopologyOptions>();
  options->host.name = "my-host";
  CommandRow command = import_row(name, help, *options);
  HostTextRequest& host = options->host;
  command.option("--name", host.name, "NAME", "Name of the host; its file is named the same",
                 {.shows_default = true});
  command.option("--device", host.device, "NAME", "What its GPUs are, from the device catalog");
  command.option("--like", host.like, "HOST", "Catalog host that gives what the file does not say");
  command.option("--gpu-link", host.gpu_link, "LINK", "What joins GPUs, from the link catalog");
  command.option("--nic-link", host.nic_link, "LINK", "What one NIC is, from the link catalog");
  command.option("--pcie", host.pcie, "LINK", "PCIe of a GPU, from the link catalog");
  command.texts = {
      .examples = {
          fmt::format("foretrain import {} FILE --name my-host -o mine/hosts/my-host.yaml", name),
          "foretrain simulate run.yaml --catalog mine --set cluster.host=my-host"}};
  command.run = [options, reader, tool] { return import_host(*options, reader, tool); };
  return command;
}

/// Options of every command that gives a fabric.
CommandRow fabric_import(const char* name, const char* help, TopologyOptions& options) {
  CommandRow command = import_row(name, help, options);
  ClusterTextRequest& cluster = options.cluster;
  command.option("--host", cluster.host, "HOST", "What the hosts are, from the host catalog");
  command.option("--preset", cluster.preset, "NAME",
                 "Fabric preset; by default the one that the host's NICs belong to");
  command.option("--base", cluster.base, "FILE", "Scenario that the result extends");
  command.flag("--nearest", options.nearest,
               "Take the nearest regular fabric where the file's is none");
  command.texts = {
      .notes = "Without --base, write `extends: mine.yaml` into a scenario without cluster.",
      .examples = {
          fmt::format("foretrain import {} FILE --host dgx-h100 --base run.yaml -o mine.yaml",
                      name),
          "foretrain simulate mine.yaml"}};
  return command;
}

CommandRow network_import(const char* name, const char* help, NetworkImport reader) {
  const auto options = std::make_shared<TopologyOptions>();
  CommandRow command = fabric_import(name, help, *options);
  command.run = [options, reader, name] { return import_network(*options, reader, name); };
  return command;
}

}  // namespace

std::vector<CommandRow> topology_imports() {
  const auto slurm = std::make_shared<TopologyOptions>();
  CommandRow tree = fabric_import("slurm", "Slurm's topology.conf, a tree, into a cluster", *slurm);
  tree.option("--kind", slurm->kind, "NAME", "How the switches are wired");
  tree.option("--oversubscription", slurm->oversubscription, "RATIO",
              "Host bandwidth into a leaf over that of its uplinks", {.range = {{1.0, 1000.0}}});
  tree.run = [slurm] { return import_slurm(*slurm); };
  return {
      host_import("nccl-topo", "The topology that NCCL_TOPO_DUMP_FILE wrote, into a host",
                  import_nccl_xml, "the NCCL topology"),
      host_import("nvidia-smi", "What nvidia-smi topo -m prints, into a host", import_nvidia_smi,
                  "the nvidia-smi topology matrix"),
      std::move(tree),
      network_import("ibnetdiscover", "What ibnetdiscover prints, into a cluster",
                     import_ibnetdiscover),
      network_import("iblinkinfo", "What iblinkinfo prints, into a cluster", import_iblinkinfo)};
}

}  // namespace foretrain
