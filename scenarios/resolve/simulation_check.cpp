// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/base/text.hpp"
#include "scenarios/resolve/resolve_machine.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/fabrics/fabric_checks.hpp"
#include "topologies/fabrics/placement.hpp"

namespace foretrain {
namespace {

constexpr std::string_view decimal_digits = "0123456789";

/// "spine" and "12" of "spine12".
std::pair<std::string_view, std::string_view> split(std::string_view name) {
  const auto at = std::min(name.find_first_of(decimal_digits), name.size());
  return {name.substr(0, at), name.substr(at)};
}

/// The kind of node that a word names or nearly names.
std::optional<NodeKind> kind_near(const Fabric& fabric, std::string_view word) {
  std::vector<std::string> words;
  std::vector<NodeKind> kinds;
  for (std::size_t k = 0; k < node_kinds; ++k) {
    const auto kind = static_cast<NodeKind>(k);
    if (fabric.count(kind) == 0) continue;
    const std::string first = node_name(fabric, fabric.node(kind, 0));
    words.emplace_back(split(first).first);
    kinds.push_back(kind);
  }
  const auto found = nearest(word, words);
  if (!found) return std::nullopt;
  return kinds[static_cast<std::size_t>(std::ranges::find(words, *found) - words.begin())];
}

std::optional<NodeId> node_near(const Fabric& fabric, std::string_view name) {
  if (const auto node = find_node(fabric, name)) return node;
  const auto [word, rest] = split(name);
  const auto kind = kind_near(fabric, word);
  if (!kind) return std::nullopt;
  const auto dot = rest.find('.');
  const auto first = count_in(rest.substr(0, dot));
  if (!first) return std::nullopt;
  if (*kind != NodeKind::nic) return fabric.node(*kind, std::min(*first, fabric.count(*kind) - 1));
  const auto second =
      dot == std::string_view::npos ? std::optional<int>{0} : count_in(rest.substr(dot + 1));
  if (!second) return std::nullopt;
  const int nics = fabric.spec.host.nics;
  const int host = std::min(*first, fabric.spec.hosts - 1);
  return fabric.node(*kind, host * nics + std::min(*second, nics - 1));
}

/// Of the nodes that `from` is joined to, the one that `wanted` comes closest to.
NodeId neighbour_near(const Fabric& fabric, NodeId from, NodeId wanted) {
  const auto distance = [&](NodeId node) {
    const bool same_kind = fabric.kind_of(node) == fabric.kind_of(wanted);
    return std::pair{same_kind ? 0 : 1, std::abs(node - wanted)};
  };
  std::optional<NodeId> best;
  for (std::size_t link = 0; link < fabric.from.size(); ++link)
    if (fabric.from[link] == from && (!best || distance(fabric.to[link]) < distance(*best)))
      best = fabric.to[link];
  return best.value_or(wanted);
}

std::optional<std::string> nearest_fabric_name(const Fabric& fabric, std::string_view name) {
  const auto mark = name.find_first_of("->");
  const auto first = node_near(fabric, name.substr(0, mark));
  if (!first) return std::nullopt;
  if (mark == std::string_view::npos) return node_name(fabric, *first);
  std::string_view other = name.substr(mark + 1);
  other = other.substr(0, other.find('#'));
  const auto second = node_near(fabric, other);
  if (!second) return std::nullopt;
  return node_name(fabric, *first) + name[mark] +
         node_name(fabric, neighbour_near(fabric, *first, *second));
}

/// "; did you mean 'spine15'?" for a name that failed_links() does not know, or nothing: the word
/// that is spelt most alike, the number that comes closest, the nearest cable of the first node.
std::string nearest_fabric_hint(const Fabric& fabric, std::string_view name) {
  const auto found = nearest_fabric_name(fabric, name);
  return found ? "; did you mean " + in_quotes(*found) + "?" : "";
}

/// A host written as "host3" or "3"; nothing where the fabric has none of that number.
std::optional<int> fabric_host(const Fabric& fabric, std::string_view name) {
  const auto number = count_in(name.starts_with("host") ? name.substr(4) : name);
  if (!number || *number >= fabric.spec.hosts) return std::nullopt;
  return number;
}

std::string nearest_host_hint(const Fabric& fabric, std::string_view name) {
  const auto number = count_in(split(name).second);
  if (!number) return "";
  const int host = std::min(*number, fabric.spec.hosts - 1);
  return "; did you mean " + in_quotes("host" + std::to_string(host)) + "?";
}

/// Larger fabrics are not built to look a name up: a file must not cost gigabytes to refuse.
constexpr std::int64_t most_gpus = 1 << 18;

std::string advised(const Infeasible& reason) {
  return reason.message + (reason.remedy.empty() ? "" : "; " + reason.remedy);
}

/// Checks the disturbances of one scenario one by one.
class DisturbanceChecker {
 public:
  DisturbanceChecker(const FieldValues& values, const Job& job, const Fabric& fabric,
                     Diagnostics& diagnostics)
      : values_{values}, job_{job}, fabric_{fabric}, diagnostics_{diagnostics} {}

  void check() {
    find_hosts_of_job();
    for (int i = 0; i < values_.list_size("simulation.disturbances"); ++i) {
      const std::string at = fmt::format("simulation.disturbances[{}]", i);
      if (values_.has(at + ".kind") && values_.has(at + ".target")) check_one(at);
    }
  }

 private:
  void report(const std::string& path, std::string message) {
    diagnostics_.add(values_.where(path), path, std::move(message));
  }

  void find_hosts_of_job() {
    const auto placed =
        place_ranks(fabric_, {job_.cluster.gpus(), job_.simulation.placement, job_.simulation.seed,
                              job_.simulation.occupied, job_.cluster.segment_hosts()});
    if (const auto* gpus = std::get_if<std::vector<int>>(&placed))
      for (const int gpu : *gpus) hosts_of_job_.insert(gpu / fabric_.spec.host.gpus);
  }

  void check_one(const std::string& at) {
    switch (values_.choice<DisturbanceKind>(at + ".kind")) {
      case DisturbanceKind::straggler:
        check_straggler(at);
        return;
      case DisturbanceKind::background:
        check_background(at);
        return;
      case DisturbanceKind::checkpoint:
      case DisturbanceKind::input:
        check_stores(at);
        return;
      case DisturbanceKind::nic_flap:
        check_name(at, NodeKind::nic, "nic-flap takes a NIC, as in nic0.0");
        return;
      case DisturbanceKind::node_down:
        check_name(at, std::nullopt, "is a cable; write kind: link-down");
        return;
      default:
        check_cable(at);
    }
  }

  std::optional<int> host_at(const std::string& path) {
    const auto host = fabric_host(fabric_, values_.text(path));
    if (!host)
      report(path,
             fmt::format("the fabric has no host {}{}; hosts are host0 to host{}",
                         in_quotes(values_.text(path)),
                         nearest_host_hint(fabric_, values_.text(path)), fabric_.spec.hosts - 1));
    return host;
  }

  void check_straggler(const std::string& at) {
    const auto host = host_at(at + ".target");
    if (host && !hosts_of_job_.empty() && hosts_of_job_.count(*host) == 0)
      report(at + ".target", fmt::format("no rank of this job sits on host{}, so nothing of it "
                                         "would be slow; its hosts are host{} to host{}",
                                         *host, *hosts_of_job_.begin(), *hosts_of_job_.rbegin()));
  }

  /// From host to host, or a load of a cable.
  void check_background(const std::string& at) {
    if (!values_.has(at + ".to")) {
      if (fabric_host(fabric_, values_.text(at + ".target")))
        return report(at, "background needs to; write the host that receives beside target");
      return check_cable(at);
    }
    const auto from = host_at(at + ".target");
    const auto to = host_at(at + ".to");
    if (from && to && *from == *to)
      report(at + ".to", "is the host that sends; traffic within a host is not on the fabric");
  }

  void check_stores(const std::string& at) {
    const auto first = host_at(at + ".target");
    const auto last = values_.has(at + ".to") ? host_at(at + ".to") : first;
    if (!first || !last) return;
    if (*last < *first)
      report(at + ".to", "is before target; write the first host that stores there");
    for (int host = *first; host <= *last; ++host)
      if (hosts_of_job_.count(host) > 0)
        return report(at + ".target",
                      fmt::format("the job trains on host{}; give the fabric hosts that store "
                                  "beside its own (cluster.fabric.hosts)",
                                  host));
  }

  void unknown(const std::string& path, const Infeasible& reason) {
    const std::string hint = nearest_fabric_hint(fabric_, values_.text(path));
    // "did you mean x?" ends a sentence.
    std::string known = reason.remedy;
    if (!hint.empty()) known.front() = 'N';
    report(path, reason.message + hint + (hint.empty() ? "; " : " ") + known);
  }

  /// A node, of `kind` where only one will do; `otherwise` says what a cable here is.
  void check_name(const std::string& at, std::optional<NodeKind> kind, const char* otherwise) {
    const std::string path = at + ".target";
    const std::string& name = values_.text(path);
    const auto lost = failed_links(fabric_, {name});
    if (const auto* reason = std::get_if<Infeasible>(&lost)) return unknown(path, *reason);
    const auto node = find_node(fabric_, name);
    if (!node || (kind && fabric_.kind_of(*node) != *kind)) return report(path, otherwise);
    take(at, std::get<LinkSet>(lost));
  }

  void check_cable(const std::string& at) {
    const std::string path = at + ".target";
    const std::string& name = values_.text(path);
    const auto lost = failed_links(fabric_, {name});
    if (const auto* reason = std::get_if<Infeasible>(&lost)) return unknown(path, *reason);
    if (find_node(fabric_, name))
      return report(path, fmt::format("is a node; a cable is two of them, as in {}; for the whole "
                                      "node write kind: node-down",
                                      cable_of(name)));
    take(at, std::get<LinkSet>(lost));
  }

  /// A cable of a node, to show how one is written.
  std::string cable_of(const std::string& name) {
    const NodeId node = *find_node(fabric_, name);
    const auto link = std::ranges::find(fabric_.from, node);
    return name + "-" +
           node_name(fabric_, fabric_.to[static_cast<std::size_t>(link - fabric_.from.begin())]);
  }

  /// Adds what is down all the time, and says when that cuts the fabric.
  void take(const std::string& at, const LinkSet& lost) {
    const auto kind = values_.choice<DisturbanceKind>(at + ".kind");
    const bool down = kind == DisturbanceKind::link_down || kind == DisturbanceKind::node_down;
    if (!down || values_.has(at + ".from") || values_.has(at + ".lasts") || cut_) return;
    down_.resize(lost.size(), false);
    for (std::size_t link = 0; link < lost.size(); ++link)
      if (lost[link]) down_[link] = true;
    if (const auto reason = disconnected(fabric_, &down_)) {
      cut_ = true;
      report(at + ".target", advised(*reason));
    }
  }

  const FieldValues& values_;
  const Job& job_;
  const Fabric& fabric_;
  Diagnostics& diagnostics_;
  std::set<int>
      hosts_of_job_;  ///< empty where the job could not be placed, which is said elsewhere
  LinkSet down_;
  bool cut_ = false;
};

/// Whether the hosts that other jobs hold are there and leave enough.
void check_occupied(const FieldValues& values, const Job& job, Diagnostics& diagnostics) {
  const std::string path = "simulation.occupied";
  if (job.simulation.occupied.empty()) return;
  const int hosts = job.cluster.fabric_hosts();
  std::set<int> held;
  for (const int host : job.simulation.occupied) {
    held.insert(host);
    if (host < hosts) continue;
    diagnostics.add(
        values.where(path), path,
        fmt::format("the fabric has no host {}; hosts are 0 to {} (cluster.fabric.hosts)", host,
                    hosts - 1));
    return;
  }
  const int left = hosts - static_cast<int>(held.size());
  if (left < job.cluster.hosts)
    diagnostics.add(values.where(path), path,
                    fmt::format("leaves {} of the fabric's {} hosts, and the job needs {}; raise "
                                "cluster.fabric.hosts",
                                left, hosts, job.cluster.hosts));
}

/// The job's fabric; nothing after reporting why there is none.
std::optional<Fabric> fabric_for(const FieldValues& values, const Job& job, const std::string& path,
                                 Diagnostics& diagnostics) {
  const std::int64_t gpus =
      static_cast<std::int64_t>(job.cluster.fabric_hosts()) * job.cluster.host.gpus;
  if (gpus > most_gpus) {
    diagnostics.add(values.where(path), path,
                    fmt::format("a fabric of {} GPUs is too large to simulate (at most {}); leave "
                                "{} out",
                                gpus, most_gpus, path.substr(path.rfind('.') + 1)));
    return std::nullopt;
  }
  auto fabric = build_fabric(fabric_spec(job.cluster));
  if (const auto* reason = std::get_if<Infeasible>(&fabric)) {
    diagnostics.add(values.where(reason->key), reason->key, advised(*reason));
    return std::nullopt;
  }
  return std::get<Fabric>(std::move(fabric));
}

}  // namespace

void check_simulation(const FieldValues& values, const Job& job, Diagnostics& diagnostics) {
  check_occupied(values, job, diagnostics);
  if (values.list_size("simulation.disturbances") == 0) return;
  if (const auto fabric = fabric_for(values, job, "simulation.disturbances", diagnostics))
    DisturbanceChecker{values, job, *fabric, diagnostics}.check();
}

void count_switches(const FieldValues& values, Job& job, Diagnostics& diagnostics) {
  std::vector<ComponentFailures>& parts = job.operations.interruptions.components;
  const auto counts = [](const auto& part) { return part.per == ComponentKind::network_switch; };
  if (std::ranges::none_of(parts, counts)) return;
  const auto fabric = fabric_for(values, job, "operations.interruptions.components", diagnostics);
  if (!fabric) return;
  double switches = 0.0;
  for (const NodeKind kind : {NodeKind::leaf, NodeKind::spine, NodeKind::core})
    switches += fabric->count(kind);
  for (ComponentFailures& part : parts)
    if (counts(part)) part.per_host = switches / job.cluster.hosts;
}

}  // namespace foretrain
