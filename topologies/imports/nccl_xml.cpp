// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <set>

#include <pugixml.hpp>

#include "topologies/imports/network_description.hpp"

namespace foretrain {
namespace {

using imports::decimal_number;
using imports::import_lines;
using imports::in_quotes;
using imports::lower_case;
using imports::printable;
using imports::some_of;

struct XmlNic {
  FoundNic nic;
  bool near_gpu = false;
  bool direct = false;  ///< gdr: reads GPU memory by itself
  int line = 0;
};

struct XmlGpu {
  int line = 0;
  int dev = 0;
  int sm = 0;
  std::string bus;
  std::string device;
  double transfers = 0.0;
  int width = 0;
  int switch_lanes = 0;
  std::map<std::string, int> peers;  ///< lanes by bus id
};

/// Walks the tree of one file.
class NcclReader {
 public:
  NcclReader(std::string_view text, ImportNotes& notes) : text_{text}, notes_{notes} {
    for (std::size_t at = text.find('\n'); at != std::string_view::npos;
         at = text.find('\n', at + 1))
      line_ends_.push_back(at);
  }

  HostDescription read() {
    pugi::xml_document document;
    const auto parsed =
        document.load_buffer(text_.data(), text_.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!parsed)
      throw ImportError(
          line_at(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, parsed.offset))),
          std::string("is no XML: ") + parsed.description());
    const pugi::xml_node system = document.child("system");
    if (!system)
      throw ImportError(1, "has no element <system>; write it with NCCL_TOPO_DUMP_FILE=topo.xml");
    if (attribute(system, "version") != "1")
      throw ImportError(line(system), "version " + in_quotes(attribute(system, "version")) +
                                          " of the topology; 1 is known");
    for (const pugi::xml_node child : system.children()) {
      if (std::string_view(child.name()) == "cpu")
        read_cpu(child);
      else
        ignored_.insert("<" + printable(child.name()) + ">");
    }
    return result();
  }

 private:
  [[nodiscard]] int line_at(std::size_t offset) const {
    return static_cast<int>(std::lower_bound(line_ends_.begin(), line_ends_.end(), offset) -
                            line_ends_.begin()) +
           1;
  }
  [[nodiscard]] int line(const pugi::xml_node& node) const {
    return line_at(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, node.offset_debug())));
  }
  static std::string attribute(const pugi::xml_node& node, const char* name) {
    return node.attribute(name).value();
  }

  [[nodiscard]] int number(const pugi::xml_node& node, const char* name) const {
    const std::string text = attribute(node, name);
    const auto value = count_in(text);
    if (!value)
      throw ImportError(line(node), std::string(name) + " of <" + node.name() +
                                        ">: " + (text.empty() ? "is missing" : in_quotes(text)) +
                                        "; a whole number belongs here");
    return *value;
  }

  void read_cpu(const pugi::xml_node& cpu) {
    hosts_.insert(attribute(cpu, "host_hash"));
    if (hosts_.size() > 1)
      throw ImportError(line(cpu), "begins another host (host_hash " +
                                       in_quotes(attribute(cpu, "host_hash")) +
                                       "); dump a communicator of one host");
    ++host_.numa_domains;
    for (const char c : attribute(cpu, "affinity")) {
      unsigned digit = 0;
      if (std::from_chars(&c, &c + 1, digit, 16).ec == std::errc{})
        host_.cpu_threads += std::popcount(digit);
    }
    walk(cpu, cpu, 1);
  }

  /// `below`: the PCIe element that children hang from, or the CPU.
  void walk(const pugi::xml_node& at, const pugi::xml_node& below, int depth) {
    if (depth > import_xml_depth)
      throw ImportError(line(at), "more than " + std::to_string(import_xml_depth) +
                                      " elements within each other");
    for (const pugi::xml_node child : at.children()) {
      if (++nodes_ > import_xml_nodes)
        throw ImportError(line(child),
                          "more than " + std::to_string(import_xml_nodes) + " elements");
      const std::string_view name = child.name();
      if (name == "pci" || name == "nic")
        walk(child, name == "pci" ? child : below, depth + 1);
      else if (name == "gpu")
        read_gpu(child, below);
      else if (name == "net")
        read_net(child, below);
      else if (!name.empty())
        ignored_.insert("<" + printable(name) + ">");
    }
  }

  void read_gpu(const pugi::xml_node& gpu, const pugi::xml_node& pci) {
    if (std::string_view(pci.name()) != "pci")
      throw ImportError(line(gpu), "<gpu> stands outside of a <pci> element");
    XmlGpu found;
    found.line = line(gpu);
    found.dev = number(gpu, "dev");
    found.sm = number(gpu, "sm");
    found.bus = lower_case(attribute(pci, "busid"));
    found.device = lower_case(attribute(pci, "vendor") + ":" + attribute(pci, "device"));
    const std::string speed = attribute(pci, "link_speed");
    found.transfers = decimal_number(speed.substr(0, speed.find(' '))).value_or(0.0);
    found.width = count_in(attribute(pci, "link_width")).value_or(0);
    for (const pugi::xml_node child : gpu.children()) {
      if (std::string_view(child.name()) == "nvlink")
        read_nvlink(child, found);
      else
        ignored_.insert("<" + printable(child.name()) + "> of a GPU");
    }
    if (static_cast<int>(gpus_.size()) == import_host_gpus)
      throw ImportError(found.line, "more than " + std::to_string(import_host_gpus) + " GPUs");
    note_bridges(pci, found);
    gpus_.push_back(std::move(found));
    gpu_parents_.push_back(pci.parent());
  }

  void read_nvlink(const pugi::xml_node& nvlink, XmlGpu& gpu) const {
    const int lanes = number(nvlink, "count");
    if (lanes < 1 || lanes > 64)
      throw ImportError(line(nvlink), std::to_string(lanes) + " lanes; from 1 to 64 are legal");
    const std::string target = lower_case(attribute(nvlink, "target"));
    const std::string kind = attribute(nvlink, "tclass");
    // PCI class 0x0680: another bridge, which an NVSwitch is; where it is not visible, NCCL writes
    // the bus id fffffff:ff:ff.0. PCI class 0x03: a display controller, which a GPU is.
    if (kind.starts_with("0x0680") || target.starts_with("fffffff:"))
      gpu.switch_lanes += lanes;
    else if (kind.starts_with("0x03"))
      gpu.peers[target] += lanes;
    else
      throw ImportError(
          line(nvlink),
          "tclass " + in_quotes(kind) + " is neither a GPU (0x03...) nor an NVSwitch (0x0680...)");
  }

  /// Bridges of virtual machines report rates that nothing runs at.
  void note_bridges(const pugi::xml_node& pci, const XmlGpu& gpu) {
    for (pugi::xml_node above = pci.parent(); std::string_view(above.name()) == "pci";
         above = above.parent()) {
      const std::string speed = attribute(above, "link_speed");
      const auto transfers = decimal_number(speed.substr(0, speed.find(' ')));
      const auto width = count_in(attribute(above, "link_width"));
      if (transfers && width && *transfers * *width < gpu.transfers * gpu.width)
        slow_bridges_.insert(printable(attribute(above, "busid") + " " + speed) + " x" +
                             std::to_string(*width));
    }
  }

  void read_net(const pugi::xml_node& net, const pugi::xml_node& pci) {
    XmlNic found;
    found.line = line(net);
    found.nic.name = printable(attribute(net, "name"));
    if (found.nic.name.empty()) throw ImportError(found.line, "<net> without a name");
    found.nic.gbit_per_second = number(net, "speed") / 1000.0;
    found.direct = attribute(net, "gdr") == "1";
    const std::string kind = attribute(pci, "class");
    const bool verbs = found.nic.name.starts_with("mlx") || found.nic.name.starts_with("bnxt_re") ||
                       found.nic.name.starts_with("irdma");
    if (kind.starts_with("0x0207"))
      found.nic.technology = NicTechnology::infiniband;
    else if (verbs)
      found.nic.technology = NicTechnology::ethernet;
    else
      found.nic.technology = found.direct ? NicTechnology::unknown : NicTechnology::socket;
    // NCCL lists a NIC without a place in the PCIe tree under every CPU.
    const bool known = std::ranges::any_of(
        nics_, [&](const XmlNic& other) { return other.nic.name == found.nic.name; });
    if (known) return;
    nics_.push_back(std::move(found));
    nic_parents_.push_back(std::string_view(pci.name()) == "pci" ? pci.parent() : pugi::xml_node{});
  }

  /// Whether `below` lies below a PCIe switch that one of `above` lies directly below, or the other
  /// way round; CPUs are no PCIe switches.
  static bool shares_switch(const pugi::xml_node& nic, const pugi::xml_node& gpu) {
    for (pugi::xml_node a = nic; std::string_view(a.name()) == "pci"; a = a.parent())
      for (pugi::xml_node b = gpu; std::string_view(b.name()) == "pci"; b = b.parent())
        if (a == b) return true;
    return false;
  }

  void choose_nics() {
    for (std::size_t i = 0; i < nics_.size(); ++i)
      nics_[i].near_gpu = std::ranges::any_of(gpu_parents_, [&](const pugi::xml_node& gpu) {
        return shares_switch(nic_parents_[i], gpu);
      });
    drop_nics([](const XmlNic& nic) { return nic.direct; },
              "cannot reach GPU memory, as others can");
    drop_nics([](const XmlNic& nic) { return nic.near_gpu; },
              "shares no PCIe switch with a GPU, as others do");
    double fastest = 0.0;
    for (const XmlNic& nic : nics_) fastest = std::max(fastest, nic.nic.gbit_per_second);
    drop_nics([&](const XmlNic& nic) { return nic.nic.gbit_per_second == fastest; },
              "is slower than others");
    for (const XmlNic& nic : nics_) {
      if (nic.nic.technology != nics_.front().nic.technology)
        throw ImportError(nic.line, nic.nic.name + " is " +
                                        std::string(name_of(nic.nic.technology)) + ", and " +
                                        nics_.front().nic.name + " is " +
                                        std::string(name_of(nics_.front().nic.technology)) +
                                        "; NICs of one host must be alike: delete those that NCCL "
                                        "must not use");
      host_.nics.push_back(nic.nic);
    }
  }

  /// Keeps the NICs that have the property, if any has.
  template <class Keep>
  void drop_nics(Keep keep, const std::string& reason) {
    if (std::ranges::none_of(nics_, keep)) return;
    for (const XmlNic& nic : nics_)
      if (!keep(nic)) notes_.ignored.push_back(nic.nic.name + " (" + reason + ")");
    std::erase_if(nics_, [&](const XmlNic& nic) { return !keep(nic); });
  }

  void check_gpus_alike() {
    std::ranges::sort(gpus_, [](const XmlGpu& a, const XmlGpu& b) { return a.dev < b.dev; });
    const XmlGpu& first = gpus_.front();
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const XmlGpu& gpu = gpus_[i];
      const auto refuse = [&](const std::string& what, const std::string& here,
                              const std::string& there) {
        std::string message = "GPU " + std::to_string(gpu.dev);
        message.append(" has ").append(what).append(" ").append(here).append(" and GPU ");
        message.append(std::to_string(first.dev)).append(" ").append(there);
        throw ImportError(gpu.line, message + "; the GPUs of a host must be alike");
      };
      if (i > 0 && gpu.dev == gpus_[i - 1].dev)
        throw ImportError(gpu.line, "a second GPU with dev " + std::to_string(gpu.dev));
      if (gpu.device != first.device)
        refuse("PCI id", in_quotes(gpu.device), in_quotes(first.device));
      if (gpu.sm != first.sm) refuse("sm", std::to_string(gpu.sm), std::to_string(first.sm));
      if (gpu.switch_lanes != first.switch_lanes)
        refuse("NVSwitch lanes", std::to_string(gpu.switch_lanes),
               std::to_string(first.switch_lanes));
      if (gpu.switch_lanes > 0 && !gpu.peers.empty())
        throw ImportError(gpu.line, "NVLink lanes lead both to an NVSwitch and to GPUs");
      if (gpu.transfers * gpu.width != first.transfers * first.width)
        refuse("a PCIe link of width", std::to_string(gpu.width), std::to_string(first.width));
    }
  }

  void join_mesh() {
    std::vector<std::vector<int>> lanes(gpus_.size(), std::vector<int>(gpus_.size(), 0));
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      for (const auto& to : gpus_[i].peers) {
        const std::string& bus = to.first;
        const auto peer =
            std::ranges::find_if(gpus_, [&](const XmlGpu& other) { return other.bus == bus; });
        if (peer == gpus_.end()) {
          ignored_.insert("NVLink to " + in_quotes(bus) + ", a GPU that the file does not have");
          continue;
        }
        lanes[i][static_cast<std::size_t>(peer - gpus_.begin())] += to.second;
      }
    for (std::size_t i = 0; i < lanes.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (lanes[i][j] != lanes[j][i])
          throw ImportError(gpus_[i].line, "GPU " + std::to_string(gpus_[i].dev) + " has " +
                                               std::to_string(lanes[i][j]) + " lanes to GPU " +
                                               std::to_string(gpus_[j].dev) + ", which has " +
                                               std::to_string(lanes[j][i]) + " back");
    judge_lanes(lanes, host_);
  }

  HostDescription result() {
    if (gpus_.empty()) throw ImportError(1, "has no <gpu> element");
    check_gpus_alike();
    const XmlGpu& first = gpus_.front();
    host_.gpus = static_cast<int>(gpus_.size());
    host_.pci_device = first.device;
    host_.compute_capability = first.sm;
    host_.pcie_transfers = first.width > 0 ? first.transfers : 0.0;
    host_.pcie_width = first.width;
    if (first.switch_lanes > 0) {
      host_.scale_up = ScaleUpKind::nvswitch;
      host_.nvlink_lanes = first.switch_lanes;
    } else {
      join_mesh();
    }
    choose_nics();
    for (const std::string& name : ignored_) notes_.ignored.push_back(name);
    if (!slow_bridges_.empty())
      notes_.assumed.push_back(
          "the PCIe link of a GPU counts, not the slower ones that bridges above it report, as "
          "those of virtual machines do: " +
          some_of({slow_bridges_.begin(), slow_bridges_.end()}, 2));
    return std::move(host_);
  }

  std::string_view text_;
  ImportNotes& notes_;
  std::vector<std::size_t> line_ends_;
  int nodes_ = 0;
  HostDescription host_;
  std::set<std::string> hosts_;
  std::set<std::string> ignored_;
  std::set<std::string> slow_bridges_;
  std::vector<XmlGpu> gpus_;
  std::vector<pugi::xml_node> gpu_parents_;
  std::vector<XmlNic> nics_;
  std::vector<pugi::xml_node> nic_parents_;
};

}  // namespace

HostDescription import_nccl_xml(std::string_view text, ImportNotes& notes) {
  (void)import_lines(text);  // size, line length, zero bytes
  return NcclReader(text, notes).read();
}

}  // namespace foretrain
