// SPDX-License-Identifier: Apache-2.0
#include "planner/network/fabric_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/base/ranges.hpp"
#include "planner/network/internal/fabric_cables.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"
#include "topologies/fabrics/fabric_checks.hpp"

namespace foretrain {
namespace {

[[noreturn]] void refuse(const Infeasible& reason) {
  throw UsageError(reason.message + (reason.remedy.empty() ? "" : "; " + reason.remedy));
}

/// What the scenario's disturbances take away for the whole step.
std::vector<std::string> lost_in(const Simulation& simulation) {
  std::vector<std::string> names;
  for (const Disturbance& one : simulation.disturbances) {
    const bool down =
        one.kind == DisturbanceKind::link_down || one.kind == DisturbanceKind::node_down;
    if (down && one.from == Seconds{} && one.lasts == Seconds{}) names.push_back(one.target);
  }
  return names;
}

std::string plural(const Fabric& fabric, NodeKind kind) {
  switch (kind) {
    case NodeKind::gpu:
      return "GPUs";
    case NodeKind::host_switch:
      return fabric.spec.host.scale_up == ScaleUpKind::pcie ? "PCIe switches of hosts"
                                                            : "NVSwitch domains";
    case NodeKind::nic:
      return "NICs";
    case NodeKind::leaf:
      return std::holds_alternative<std::shared_ptr<const IrregularShape>>(fabric.spec.network)
                 ? "switches"
                 : "leaf switches";
    case NodeKind::spine:
      return "spine switches";
    case NodeKind::core:
      return "core switches";
  }
  return "?";
}

int most_ports(const Fabric& fabric, NodeKind kind) {
  std::vector<int> ports(index(fabric.nodes()), 0);
  for (const NodeId node : fabric.from) ++ports[index(node)];
  const auto first = ports.begin() + fabric.node(kind, 0);
  return *std::max_element(first, first + fabric.count(kind));
}

AnswerTable nodes_table(const Fabric& fabric) {
  AnswerTable table{{words_column(), number_column(), words_column()}};
  for (std::size_t k = node_kinds; k-- > 0;) {
    const auto kind = static_cast<NodeKind>(k);
    if (fabric.count(kind) == 0) continue;
    const bool network_switch = kind >= NodeKind::leaf;
    table.add({plural(fabric, kind), with_thousands(fabric.count(kind)),
               network_switch ? fmt::format("{} ports in use", most_ports(fabric, kind)) : ""});
  }
  return table;
}

AnswerTable cables_table(const FabricReport& report) {
  AnswerTable table{{words_column(), number_column(), number_column(), words_column()}};
  for (const CableCount& cables : count_cables(report.fabric, report.down))
    table.add({std::string(name_of(cables.kind)), with_thousands(cables.cables),
               bandwidth_text(cables.rate),
               cables.down == 0 ? "" : fmt::format("{} down", cables.down)});
  return table;
}

std::string single_points_text(const FabricReport& report) {
  constexpr std::size_t named = 8;
  if (report.single_points.empty())
    return "none: no switch and no NIC alone separates GPUs from others";
  std::string text;
  for (std::size_t i = 0; i < std::min(named, report.single_points.size()); ++i)
    text += (i > 0 ? ", " : "") + node_name(report.fabric, report.single_points[i]);
  if (report.single_points.size() > named)
    text += fmt::format(" and {} more", report.single_points.size() - named);
  return text;
}

std::string bisection_text(const FabricReport& report) {
  const double half = half_of_hosts(report.fabric) * report.fabric.spec.host.gpus;
  std::string text =
      fmt::format("{} between halves of the hosts by maximum flow, {} per GPU",
                  bandwidth_text(*report.bisection), bandwidth_text(*report.bisection / half));
  if (report.closed_form)
    text += fmt::format("; the formula for the worst halving{} says {}",
                        report.failures.empty() ? "" : " with nothing down",
                        bandwidth_text(*report.closed_form));
  return text;
}

AnswerFacts checks_of(const FabricReport& report) {
  AnswerFacts facts;
  facts.label_columns = 16;
  if (report.disconnected) {
    facts.add("connected", "NO: " + report.disconnected->message);
    return facts;
  }
  facts.add("connected", "yes, every GPU reaches every other both ways");
  facts.add("diameter", fmt::format("{} links between the most distant GPUs", report.diameter));
  if (report.disjoint_paths > 0)
    facts.add("path diversity",
              fmt::format("{} ways that share no link between the first and the last host",
                          report.disjoint_paths));
  if (report.bisection) facts.add("bisection", bisection_text(report));
  facts.add("single points", single_points_text(report));
  return facts;
}

/// "4 NVLink domains, each 64 of 72 GPUs (16 of 18 hosts), 900 GB/s per GPU".
std::string domains_text(const Fabric& fabric) {
  const FabricSpec& spec = fabric.spec;
  const int gpus = spec.host.gpus;
  const int domains = fabric.count(NodeKind::host_switch);
  const int last = spec.hosts - (domains - 1) * spec.domain_hosts;
  const bool whole = spec.domain_hosts >= spec.domain_places;
  std::string text =
      fmt::format("{} NVLink domain{}{}{} GPUs ({} hosts), {} per GPU", with_thousands(domains),
                  domains == 1 ? " of " : "s, each ", spec.domain_hosts * gpus,
                  whole ? "" : fmt::format(" of {}", spec.domain_places * gpus),
                  whole ? std::to_string(spec.domain_hosts)
                        : fmt::format("{} of {}", spec.domain_hosts, spec.domain_places),
                  bandwidth_text(spec.host.gpu_link));
  if (last < spec.domain_hosts) text += fmt::format("; the last has {} GPUs", last * gpus);
  return text;
}

/// What kind of network it is, and what it is sized by.
std::string network_text(const FabricReport& report) {
  const auto& network = report.fabric.spec.network;
  if (const auto* dragonfly = std::get_if<DragonflyShape>(&network))
    return fmt::format("dragonfly{} of {} groups with {} {}", dragonfly->plus ? "+" : "",
                       dragonfly->groups, dragonfly->routers,
                       dragonfly->plus ? "leaves and as many spines" : "routers");
  if (const auto* torus = std::get_if<TorusShape>(&network)) {
    std::string sides;
    for (const int side : torus->size) sides += (sides.empty() ? "" : " x ") + std::to_string(side);
    return fmt::format("torus of {}", sides);
  }
  if (std::holds_alternative<std::shared_ptr<const IrregularShape>>(network))
    return "irregular network; routes are shortest paths, not the subnet manager's tables";
  return fmt::format("{} over {}-port switches", name_of(report.kind), report.switch_radix);
}

std::string tiers_text(const FabricReport& report) {
  if (!std::holds_alternative<ClosShape>(report.fabric.spec.network)) return "";
  const int tiers = report.fabric.clos.tiers;
  return fmt::format(", {} {} of switches{}", tiers, tiers == 1 ? "tier" : "tiers",
                     report.fabric.planes > 1 ? " per rail" : "");
}

Json checks_tree(const FabricReport& report) {
  Json points = Json::array();
  for (const NodeId node : report.single_points) points.push_back(node_name(report.fabric, node));
  const auto rate = [](std::optional<BytesPerSecond> value) {
    return number_or_null(value ? std::optional{value->value()} : std::nullopt);
  };
  const bool known = !report.disconnected;
  return {{"connected", known},
          {"reason", known ? Json{} : Json(report.disconnected->message)},
          {"diameter_links", known ? Json(report.diameter) : Json{}},
          {"disjoint_paths", report.disjoint_paths > 0 ? Json(report.disjoint_paths) : Json{}},
          {"bisection_bytes_per_s", rate(report.bisection)},
          {"closed_form_bisection_bytes_per_s", rate(report.closed_form)},
          {"single_points_of_failure", known ? points : Json{}}};
}

}  // namespace

std::string bandwidth_text(BytesPerSecond rate) {
  return rate.in(TBps) >= 1.0 ? significant_text(rate.in(TBps)) + " TB/s"
                              : significant_text(rate.in(GBps)) + " GB/s";
}

std::variant<Fabric, Infeasible> fabric_for(const Job& job) {
  auto fabric = build_fabric(fabric_spec(job.cluster));
  if (auto* built = std::get_if<Fabric>(&fabric))
    if (auto reason = too_small(*built, job.parallel.gpus())) return std::move(*reason);
  return fabric;
}

Fabric fabric_of(const Scenario& scenario) {
  auto fabric = fabric_for(scenario.job);
  if (const auto* reason = std::get_if<Infeasible>(&fabric)) refuse(*reason);
  return std::get<Fabric>(std::move(fabric));
}

FabricReport judge_fabric(const Scenario& scenario, const std::vector<std::string>& failures) {
  const Job& job = scenario.job;
  FabricReport report;
  report.name = job.name;
  report.title = job.cluster.network.title;
  report.kind = job.cluster.network.kind;
  report.switch_radix = job.cluster.network.switch_radix;
  report.failures = lost_in(job.simulation);
  report.failures.insert(report.failures.end(), failures.begin(), failures.end());
  report.fabric = fabric_of(scenario);
  const auto down = failed_links(report.fabric, report.failures);
  if (const auto* reason = std::get_if<Infeasible>(&down)) refuse(*reason);
  report.down = std::get<LinkSet>(down);

  report.disconnected = disconnected(report.fabric, &report.down);
  report.closed_form = closed_form_bisection(report.fabric);
  if (report.disconnected) return report;
  report.diameter = diameter(report.fabric, &report.down);
  report.single_points = single_points_of_failure(report.fabric, &report.down);
  if (report.fabric.spec.hosts < 2) return report;
  report.bisection = bisection(report.fabric, &report.down);
  report.disjoint_paths =
      disjoint_paths(report.fabric, 0, report.fabric.spec.hosts - 1, &report.down);
  return report;
}

Answer fabric_answer(const FabricReport& report) {
  const Fabric& fabric = report.fabric;
  const FabricSpec& spec = fabric.spec;
  Answer answer;
  AnswerHead& head = answer.head;
  head.subject = report.name;
  head.verdict = report.disconnected            ? Verdict::no
                 : report.single_points.empty() ? Verdict::safe
                                                : Verdict::at_risk;
  head.words = report.disconnected            ? "DISCONNECTED"
               : report.single_points.empty() ? "CONNECTED"
                                              : "SINGLE POINTS OF FAILURE";
  head.sentence = fmt::format("{}, {}{}.", report.title, network_text(report), tiers_text(report));
  head.figures = {{"GPUs", with_thousands(fabric.gpus())}, {"hosts", with_thousands(spec.hosts)}};
  if (report.bisection) head.figures.push_back({"bisection", bandwidth_text(*report.bisection)});
  AnswerFacts facts;
  facts.add("hosts", fmt::format("{} GPUs and {} NICs each", spec.host.gpus, spec.host.nics));
  if (spec.domain_hosts > 1) facts.add("domains", domains_text(fabric));
  if (!report.failures.empty())
    facts.add("down", fmt::format("{}: {} one-way links", fmt::join(report.failures, ", "),
                                  with_thousands(std::ranges::count(report.down, true))));
  answer.add("", std::move(facts));
  answer.add("Nodes", nodes_table(fabric));
  answer.add("Cables, with the rate of one per direction", cables_table(report));
  answer.add("Checks", checks_of(report));
  return answer;
}

std::string fabric_json(const FabricReport& report) {
  const Fabric& fabric = report.fabric;
  Json cables = Json::array();
  for (const CableCount& count : count_cables(fabric, report.down))
    cables.push_back({{"kind", name_of(count.kind)},
                      {"cables", count.cables},
                      {"down", count.down},
                      {"bytes_per_s", number_or_null(count.rate.value())}});
  Json tree{
      {"schema", "fabric/1"},
      {"name", report.name},
      {"kind", name_of(report.kind)},
      {"switch_radix", report.switch_radix},
      {"hosts", fabric.spec.hosts},
      {"gpus", fabric.gpus()},
      {"nics", fabric.count(NodeKind::nic)},
      {"tiers",
       std::holds_alternative<ClosShape>(fabric.spec.network) ? Json(fabric.clos.tiers) : Json{}},
      {"leaves", fabric.count(NodeKind::leaf)},
      {"spines", fabric.count(NodeKind::spine)},
      {"cores", fabric.count(NodeKind::core)},
      {"failures", report.failures},
      {"cables", cables},
      {"checks", checks_tree(report)}};
  if (fabric.spec.domain_hosts > 1) {
    tree["domains"] = fabric.count(NodeKind::host_switch);
    tree["domain_hosts"] = fabric.spec.domain_hosts;
    tree["domain_places"] = fabric.spec.domain_places;
  }
  return dump(tree);
}

}  // namespace foretrain
