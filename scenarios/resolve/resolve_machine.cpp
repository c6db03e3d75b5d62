// SPDX-License-Identifier: Apache-2.0
#include "scenarios/resolve/resolve_machine.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "scenarios/resolve/internal/resolve_steps.hpp"
#include "scenarios/sections/sections.hpp"

namespace foretrain {
namespace {

constexpr auto dragonfly_path = "cluster.fabric.dragonfly";
constexpr auto torus_path = "cluster.fabric.torus";
constexpr auto irregular_path = "cluster.fabric.irregular";

bool is_missing(const FieldValues& values, const std::string& path) {
  return !values.has(path) && !values.was_refused(path);
}

bool has_all(const FieldValues& values, const std::string& group,
             std::initializer_list<const char*> keys) {
  return std::ranges::all_of(keys, [&](const char* key) { return values.has(group + "." + key); });
}

bool has_dragonfly(const FieldValues& values) {
  return has_all(values, dragonfly_path, {"groups", "routers", "nics_per_router", "global_ports"});
}

bool has_torus(const FieldValues& values) {
  return has_all(values, torus_path, {"size", "channel"});
}

double number_or(const FieldValues& values, const char* path, double otherwise) {
  return values.has(path) ? values.number(path) : otherwise;
}

/// A group that a kind of fabric is sized by: needed with that kind, without effect with others.
struct ShapeGroup {
  FabricKind wants;
  std::string group;
  const char* example;
};

void check_shape_group(const FieldValues& values, FabricKind kind, const ShapeGroup& shape,
                       Diagnostics& diagnostics) {
  const auto& [wants, group, example] = shape;
  if (kind == wants && !values.has_group(group))
    report(values, "cluster.fabric.kind",
           fmt::format("{} needs its {}; write for example {}: {}",
                       kind == FabricKind::irregular ? "an irregular network"
                                                     : fmt::format("a {}", name_of(kind)),
                       kind == FabricKind::irregular ? "switches" : "sizes", leaf_name(group),
                       example),
           diagnostics);
  if (kind != wants && values.has_group(group))
    report(values, group,
           fmt::format("has no effect with kind: {}; leave it out, or write kind: {}",
                       name_of(kind), name_of(wants)),
           diagnostics);
}

void check_switch_pairs(const FieldValues& values, Diagnostics& diagnostics) {
  const std::string path = irregular_path + std::string(".cables");
  const FieldValue* list = values.find(path);
  if (list == nullptr) return;
  for (const std::string& text : list->texts)
    if (!switch_pair_in(text)) {
      report(values, path,
             in_quotes(text) + " is not two switches and their cables, as in 0-2 or 0-2x4",
             diagnostics);
      return;
    }
}

/// Whether all of an irregular network was said, and every pair of switches is one.
bool has_irregular(const FieldValues& values) {
  if (!has_all(values, irregular_path, {"nics", "cables"})) return false;
  const auto& texts = values.at(irregular_path + std::string(".cables")).texts;
  return std::ranges::all_of(
      texts, [](const std::string& text) { return switch_pair_in(text).has_value(); });
}

void check_fabric_keys(const FieldValues& values, Diagnostics& diagnostics) {
  if (!values.has("cluster.fabric.kind")) return;
  const auto kind = values.choice<FabricKind>("cluster.fabric.kind");
  for (const ShapeGroup& shape :
       {ShapeGroup{FabricKind::dragonfly, dragonfly_path,
                   "{groups: 9, routers: 8, nics_per_router: 8, global_ports: 4}"},
        ShapeGroup{FabricKind::torus, torus_path, "{size: [8, 8], channel: 400 Gbit/s}"},
        ShapeGroup{FabricKind::irregular, irregular_path, "{nics: [0, 0, 1, 1], cables: [0-1x2]}"}})
    check_shape_group(values, kind, shape, diagnostics);
  check_switch_pairs(values, diagnostics);
  const bool tiers =
      kind != FabricKind::dragonfly && kind != FabricKind::torus && kind != FabricKind::irregular;
  const bool third = tiers && kind != FabricKind::single_switch && kind != FabricKind::leaf_spine;
  // A ratio of 1 says nothing, so that --set of another kind works on a file that has it.
  const auto refuse_unless = [&](bool read, const char* path) {
    if (!read && is_said(values, path) && values.number(path) != 1.0)
      report(values, path, fmt::format("has no effect with kind: {}; leave it out", name_of(kind)),
             diagnostics);
  };
  // Full bandwidth is what fabrics without such tiers have: a map that was taken over may say so.
  const auto full = [&](const char* path) { return number_or(values, path, 1.0) == 1.0; };
  refuse_unless(tiers || full("cluster.fabric.oversubscription"),
                "cluster.fabric.oversubscription");
  refuse_unless(tiers, "cluster.fabric.switch_radix");
  refuse_unless(tiers, "cluster.fabric.nic_ports");
  refuse_unless(third || full("cluster.fabric.spine_oversubscription"),
                "cluster.fabric.spine_oversubscription");
  if (!tiers && values.has("simulation.routing") &&
      values.choice<RoutingKind>("simulation.routing") == RoutingKind::spray)
    report(values, "simulation.routing",
           fmt::format("spray is over the cables of a leaf, which kind: {} has not; write adaptive",
                       name_of(kind)),
           diagnostics);
  if (values.has("cluster.fabric.hosts") && values.has("cluster.hosts") &&
      values.integer("cluster.fabric.hosts") < values.integer("cluster.hosts"))
    report(values, "cluster.fabric.hosts",
           fmt::format("a fabric of {} hosts is too small for the {} that the job uses",
                       values.integer("cluster.fabric.hosts"), values.integer("cluster.hosts")),
           diagnostics);
}

/// What each kind of disturbance reads beside its target.
struct DisturbanceKeys {
  DisturbanceKind kind;
  std::vector<std::string> required;
  std::vector<std::string> optional;
};

const DisturbanceKeys& keys_of(DisturbanceKind kind) {
  static const std::array<DisturbanceKeys, 8> all{{
      {DisturbanceKind::link_down, {}, {"from", "lasts"}},
      {DisturbanceKind::link_degraded, {"factor"}, {"from", "lasts"}},
      {DisturbanceKind::node_down, {}, {"from", "lasts"}},
      {DisturbanceKind::nic_flap, {"lasts", "period"}, {"from"}},
      {DisturbanceKind::straggler, {}, {"factor", "jitter", "from", "lasts"}},
      {DisturbanceKind::background, {"rate"}, {"to", "from", "lasts"}},
      {DisturbanceKind::checkpoint, {}, {"to", "rate", "from"}},
      {DisturbanceKind::input, {}, {"to", "rate", "from"}},
  }};
  return *std::ranges::find_if(all, [&](const DisturbanceKeys& keys) { return keys.kind == kind; });
}

void check_disturbance_keys(const FieldValues& values, const std::string& at,
                            Diagnostics& diagnostics) {
  if (!values.has(at + ".kind")) return;
  const auto kind = values.choice<DisturbanceKind>(at + ".kind");
  const DisturbanceKeys& keys = keys_of(kind);
  const auto reads = [&](const std::string& key) {
    return std::ranges::count(keys.required, key) + std::ranges::count(keys.optional, key) > 0;
  };
  const auto path = [&](std::string_view key) { return fmt::format("{}.{}", at, key); };
  for (const std::string& key : keys.required)
    if (is_missing(values, path(key)))
      report(values, at, fmt::format("{} needs {}; write it beside target", name_of(kind), key),
             diagnostics);
  for (const std::string key : {"to", "factor", "jitter", "rate", "from", "lasts", "period"})
    if (!reads(key) && is_said(values, path(key)))
      report(values, path(key),
             fmt::format("has no effect with kind: {}; leave it out", name_of(kind)), diagnostics);
  if (kind == DisturbanceKind::straggler && is_missing(values, at + ".factor") &&
      is_missing(values, at + ".jitter"))
    report(values, at, "straggler needs factor or jitter; write how slow it is", diagnostics);
  const auto lasts = values.optional_number(at + ".lasts");
  const auto period = values.optional_number(at + ".period");
  if (kind == DisturbanceKind::nic_flap && lasts && period && *lasts >= *period)
    report(values, at + ".lasts",
           fmt::format("is not shorter than period ({} of {}), so the NIC would never come back; "
                       "use node-down",
                       values.text(at + ".lasts"), values.text(at + ".period")),
           diagnostics);
}

}  // namespace

Network network_of(const FieldValues& values) {
  Network network = cluster_keys().read(values).network;
  const bool dragonfly = network.kind == FabricKind::dragonfly && has_dragonfly(values);
  const bool torus = network.kind == FabricKind::torus && has_torus(values);
  const bool irregular = network.kind == FabricKind::irregular && has_irregular(values);
  if (!dragonfly) network.dragonfly = {};
  if (!torus) network.torus = {};
  if (!irregular) network.irregular = nullptr;
  const bool needs_sizes = network.kind == FabricKind::dragonfly ||
                           network.kind == FabricKind::torus ||
                           network.kind == FabricKind::irregular;
  if (needs_sizes && !dragonfly && !torus && !irregular) network.kind = FabricKind::rail_optimized;
  return network;
}

Simulation simulation_of(const FieldValues& values) { return simulation_keys().read(values); }

void check_machine_keys(const FieldValues& values, Diagnostics& diagnostics) {
  check_fabric_keys(values, diagnostics);
  for (int i = 0; i < values.list_size("simulation.disturbances"); ++i)
    check_disturbance_keys(values, fmt::format("simulation.disturbances[{}]", i), diagnostics);
}

}  // namespace foretrain
