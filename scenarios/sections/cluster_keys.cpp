// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/sections.hpp"

#include <charconv>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace foretrain {
namespace {

using keys::always;
using keys::bind;
using keys::computed;
using keys::with_default;

// What the catalog says of hosts and fabrics of these names, and what follows from it (a segment, a
// part of a host), is read with the catalog.
std::string host_text(const Cluster& cluster) { return cluster.host.name; }

std::string preset_text(const Cluster& cluster) { return cluster.network.preset; }

std::string domain_text(const Cluster& cluster) {
  return cluster.segment > 0 ? std::to_string(cluster.packing().domain) : std::string();
}

std::string part_text(const Cluster& cluster) {
  return cluster.host.whole_gpus > 0 ? std::to_string(cluster.host.gpus) : std::string();
}

KeyRow host_key() {
  return computed<Cluster, nullptr, host_text>(
      {.path = "cluster.host",
       .help = "Server type from the host catalog: decides the GPU, GPUs per host, NVLink or PCIe "
               "between them, and NICs.",
       .example = "dgx-h100",
       .required = true});
}

KeyRow domain_key() {
  return computed<Cluster, nullptr, domain_text>(
      {.path = "cluster.domain",
       .kind = FieldKind::integer,
       .help = "GPUs of each scale-up domain (rack) that the job uses, where one joins several "
               "hosts; left out, the largest part, more than half, that the hosts divide into.",
       .example = "64",
       .min = 1,
       .max = 65536});
}

KeyRow part_key() {
  return computed<Cluster, nullptr, part_text>(
      {.path = "cluster.gpus_per_host",
       .kind = FieldKind::integer,
       .help = "GPUs of each server that the job uses, where it leaves the others to other jobs: 1 "
               "to all, with their share of NICs and memory; left out, all.",
       .example = "2",
       .min = 1,
       .max = 1024});
}

KeyRow preset_key() {
  return computed<Cluster, nullptr, preset_text>(
      {.path = "cluster.fabric.preset",
       .help = "Link technology from the fabric catalog: rate of one NIC, switch latency, cost of "
               "a collective step.",
       .example = "ib-ndr",
       .required = true});
}

/// A change of the switches of an irregular network, which jobs share.
template <class Change>
void change_switches(Cluster& cluster, Change change) {
  const auto& before = cluster.network.irregular;
  auto shape =
      before ? std::make_shared<IrregularShape>(*before) : std::make_shared<IrregularShape>();
  change(*shape);
  cluster.network.irregular = std::move(shape);
}

void read_nics(Cluster& cluster, const FieldValue& value) {
  change_switches(cluster, [&](IrregularShape& shape) { shape.nics = value.integers; });
}

std::string nics_text(const Cluster& cluster) {
  const auto& shape = cluster.network.irregular;
  return shape ? KeyValue<std::vector<int>>::text(shape->nics, {}) : std::string();
}

KeyRow nics_key() {
  return computed<Cluster, read_nics, nics_text>(
      {.path = "cluster.fabric.irregular.nics",
       .kind = FieldKind::integer_list,
       .help = "The switch that each NIC is plugged into, host by host; switches are numbered "
               "from 0.",
       .example = "[0, 0, 1, 1]",
       .required = true,
       .min = 0,
       .max = 4095});
}

void read_cables(Cluster& cluster, const FieldValue& value) {
  change_switches(cluster, [&](IrregularShape& shape) {
    for (const std::string& text : value.texts)
      if (const auto pair = switch_pair_in(text)) shape.cables.push_back(*pair);
  });
}

std::string cables_text(const Cluster& cluster) {
  if (!cluster.network.irregular) return {};
  std::vector<std::string> names;
  for (const SwitchPair& pair : cluster.network.irregular->cables)
    names.push_back(fmt::format("{}-{}x{}", pair.first, pair.second, pair.cables));
  return flow_list(names);
}

KeyRow cables_key() {
  return computed<Cluster, read_cables, cables_text>(
      {.path = "cluster.fabric.irregular.cables",
       .kind = FieldKind::text_list,
       .help = "Which switches are joined, and by how many cables.",
       .example = "[0-2x4, 1-2x4]",
       .required = true});
}

KeyRows machine_keys() {
  return {
      {{.path = "cluster", .kind = FieldKind::group, .help = "The machine.", .required = true}},
      host_key(),
      always({.path = "cluster.hosts",
              .help = "How many of these servers the job uses.",
              .example = "128",
              .required = true,
              .min = 1,
              .max = 1000000},
             &Cluster::hosts),
      part_key(),
      domain_key(),
      {{.path = "cluster.fabric",
        .kind = FieldKind::group,
        .help = "The network between the hosts.",
        .required = true}},
      always(
          {.path = "cluster.fabric.kind",
           .help = "How the switches are wired; rail-optimized gives the same-numbered GPUs of all "
                   "hosts a switch of their own, rail-only keeps them on separate networks.",
           .example = "rail-optimized",
           .required = true},
          &Cluster::network, &Network::kind),
      preset_key(),
      with_default(
          {.path = "cluster.fabric.oversubscription",
           .help =
               "Host bandwidth into a leaf switch divided by the bandwidth of its uplinks; 1 never "
               "blocks.",
           .example = "1.0",
           .min = 1,
           .max = 1000},
          &Cluster::network, &Network::oversubscription),
  };
}

KeyRows fabric_keys() {
  return {
      with_default({.path = "cluster.fabric.spine_oversubscription",
                    .help = "The same ratio of a spine switch below the cores of a third tier.",
                    .example = "1.0",
                    .min = 1,
                    .max = 1000},
                   &Cluster::network, &Network::spine_oversubscription),
      // Read with the preset, whose own holds where it is left out.
      {{.path = "cluster.fabric.switch_radix",
        .kind = FieldKind::integer,
        .help = "Ports of one switch at the NIC's rate; left out, those of the preset's switches.",
        .example = "64",
        .min = 2,
        .max = 1024}},
      with_default({.path = "cluster.fabric.nic_ports",
                    .help = "Ports of a NIC, each with an equal part of its rate and a cable to a "
                            "leaf of its own (dual-ToR: 2).",
                    .example = "2",
                    .min = 1,
                    .max = 8},
                   &Cluster::network, &Network::nic_ports),
      with_default({.path = "cluster.fabric.planes",
                    .help = "separate gives every port of a NIC a network of its own (dual-plane), "
                            "joined lets their leaves meet above, where a hash picks the port that "
                            "a flow arrives on.",
                    .example = "separate"},
                   &Cluster::network, &Network::planes),
      bind({.path = "cluster.fabric.nics_per_host",
            .help = "NICs of each host that the job uses, where they are not those of the catalog; "
                    "of a part of a host, of that part.",
            .example = "4",
            .min = 1,
            .max = 1024},
           &Cluster::network, &Network::nics_per_host),
      bind({.path = "cluster.fabric.nic_rate",
            .help = "Rate of one NIC, per direction, where it is not that of the preset.",
            .example = "200 Gbit/s",
            .min = 0,
            .above_min = true},
           &Cluster::network, &Network::nic_rate),
      bind({.path = "cluster.fabric.hosts",
            .help =
                "Hosts that the network connects, those of other jobs included; left out, those of "
                "this job.",
            .example = "256",
            .min = 1,
            .max = 1000000},
           &Cluster::network, &Network::connected),
  };
}

KeyRows dragonfly_keys() {
  return {
      {{.path = "cluster.fabric.dragonfly",
        .kind = FieldKind::group,
        .help = "Sizes of kind: dragonfly. Every cable runs at the NIC's rate."}},
      bind({.path = "cluster.fabric.dragonfly.groups",
            .help = "Groups, every two of them joined by global cables.",
            .example = "9",
            .required = true,
            .min = 1,
            .max = 100000},
           &Cluster::network, &Network::dragonfly, &DragonflyShape::groups),
      bind({.path = "cluster.fabric.dragonfly.routers",
            .help =
                "Routers of a group, every two of them joined; with plus, its leaves, and as many "
                "spines.",
            .example = "8",
            .required = true,
            .min = 1,
            .max = 1024},
           &Cluster::network, &Network::dragonfly, &DragonflyShape::routers),
      bind({.path = "cluster.fabric.dragonfly.nics_per_router",
            .help = "NICs plugged into a router.",
            .example = "8",
            .required = true,
            .min = 1,
            .max = 1024},
           &Cluster::network, &Network::dragonfly, &DragonflyShape::nics_per_router),
      bind({.path = "cluster.fabric.dragonfly.global_ports",
            .help = "Ports of a router (with plus, of a spine) for cables to other groups.",
            .example = "4",
            .required = true,
            .min = 0,
            .max = 1024},
           &Cluster::network, &Network::dragonfly, &DragonflyShape::global_ports),
      bind({.path = "cluster.fabric.dragonfly.plus",
            .help = "Dragonfly+: a group is leaves and spines, and global cables leave the spines.",
            .example = "true"},
           &Cluster::network, &Network::dragonfly, &DragonflyShape::plus),
  };
}

KeyRows wired_keys() {
  return {
      {{.path = "cluster.fabric.torus",
        .kind = FieldKind::group,
        .help = "Sizes of kind: torus. One router per host; all NICs of a host join it."}},
      bind({.path = "cluster.fabric.torus.size",
            .help = "Hosts along each dimension; two or three dimensions.",
            .example = "[8, 8, 4]",
            .required = true,
            .min = 2,
            .max = 1000000},
           &Cluster::network, &Network::torus, &TorusShape::size),
      bind({.path = "cluster.fabric.torus.channel",
            .help = "Rate of one cable between neighbours, per direction.",
            .example = "400 Gbit/s",
            .required = true,
            .min = 0,
            .above_min = true},
           &Cluster::network, &Network::torus, &TorusShape::channel),
      {{.path = "cluster.fabric.irregular",
        .kind = FieldKind::group,
        .help =
            "Switches of kind: irregular, as `foretrain import ibnetdiscover` writes them. Every "
            "cable runs at the NIC's rate; routes are shortest paths, not a subnet manager's "
            "tables."}},
      nics_key(),
      cables_key(),
  };
}

}  // namespace

std::optional<SwitchPair> switch_pair_in(const std::string& text) {
  SwitchPair pair;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](int& value) {
    const auto [after, error] = std::from_chars(at, end, value);
    const bool found = error == std::errc{} && after != at && *at != '-';
    at = after;
    return found;
  };
  if (!number(pair.first) || at == end || *at++ != '-' || !number(pair.second)) return std::nullopt;
  if (at == end) return pair;
  if (*at++ != 'x' || !number(pair.cables) || at != end) return std::nullopt;
  return pair;
}

const BoundTable<Cluster>& cluster_keys() {
  static const BoundTable<Cluster> table(
      "cluster", joined_rows({machine_keys(), fabric_keys(), dragonfly_keys(), wired_keys()}));
  return table;
}

}  // namespace foretrain
