// SPDX-License-Identifier: Apache-2.0
#include "scenarios/resolve/resolve_machine.hpp"
#include "scenarios/resolve/internal/resolve_steps.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace foretrain {
namespace {

constexpr auto dragonfly_path = "cluster.fabric.dragonfly";
constexpr auto torus_path = "cluster.fabric.torus";
constexpr auto irregular_path = "cluster.fabric.irregular";

/// With a legal value; what was refused is reported already.
bool is_written(const FieldValues& values, const std::string& path) {
  const FieldValue* value = values.find(path);
  return value && !value->is_default;
}

bool is_missing(const FieldValues& values, const std::string& path) {
  return !values.has(path) && !values.was_refused(path);
}

bool has_all(const FieldValues& values, const std::string& group,
             std::initializer_list<const char*> keys) {
  return std::all_of(keys.begin(), keys.end(),
                     [&](const char* key) { return values.has(group + "." + key); });
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
void check_shape_group(const FieldValues& values, FabricKind kind, FabricKind wants,
                       const std::string& group, const char* example, Diagnostics& diagnostics) {
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

/// "0-2x4": switches 0 and 2, joined by four cables. Nothing where it is not that.
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

/// Nothing where a pair of switches is none, which is reported elsewhere.
std::shared_ptr<const IrregularShape> irregular_of(const FieldValues& values) {
  auto shape = std::make_shared<IrregularShape>();
  const std::string group = irregular_path;
  shape->nics = values.at(group + ".nics").integers;
  for (const std::string& text : values.at(group + ".cables").texts) {
    const auto pair = switch_pair_in(text);
    if (!pair) return nullptr;
    shape->cables.push_back(*pair);
  }
  return shape;
}

void check_fabric_keys(const FieldValues& values, Diagnostics& diagnostics) {
  if (!values.has("cluster.fabric.kind")) return;
  const auto kind = values.choice<FabricKind>("cluster.fabric.kind");
  check_shape_group(values, kind, FabricKind::dragonfly, dragonfly_path,
                    "{groups: 9, routers: 8, nics_per_router: 8, global_ports: 4}", diagnostics);
  check_shape_group(values, kind, FabricKind::torus, torus_path,
                    "{size: [8, 8], channel: 400 Gbit/s}", diagnostics);
  check_shape_group(values, kind, FabricKind::irregular, irregular_path,
                    "{nics: [0, 0, 1, 1], cables: [0-1x2]}", diagnostics);
  check_switch_pairs(values, diagnostics);
  const bool tiers =
      kind != FabricKind::dragonfly && kind != FabricKind::torus && kind != FabricKind::irregular;
  const bool third = tiers && kind != FabricKind::single_switch && kind != FabricKind::leaf_spine;
  // A ratio of 1 says nothing, so that --set of another kind works on a file that has it.
  const auto refuse_unless = [&](bool read, const char* path) {
    if (!read && is_written(values, path) && values.number(path) != 1.0)
      report(values, path, fmt::format("has no effect with kind: {}; leave it out", name_of(kind)),
             diagnostics);
  };
  // Full bandwidth is what fabrics without such tiers have: a map that was taken over may say so.
  const auto full = [&](const char* path) { return number_or(values, path, 1.0) == 1.0; };
  refuse_unless(tiers || full("cluster.fabric.oversubscription"),
                "cluster.fabric.oversubscription");
  refuse_unless(tiers, "cluster.fabric.switch_radix");
  refuse_unless(third || full("cluster.fabric.spine_oversubscription"),
                "cluster.fabric.spine_oversubscription");
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
  static const std::array<DisturbanceKeys, 6> all{{
      {DisturbanceKind::link_down, {}, {"from", "lasts"}},
      {DisturbanceKind::link_degraded, {"factor"}, {"from", "lasts"}},
      {DisturbanceKind::node_down, {}, {"from", "lasts"}},
      {DisturbanceKind::nic_flap, {"lasts", "period"}, {"from"}},
      {DisturbanceKind::straggler, {}, {"factor", "jitter", "from", "lasts"}},
      {DisturbanceKind::background, {"to", "rate"}, {"from", "lasts"}},
  }};
  return *std::find_if(all.begin(), all.end(),
                       [&](const DisturbanceKeys& keys) { return keys.kind == kind; });
}

void check_disturbance_keys(const FieldValues& values, const std::string& at,
                            Diagnostics& diagnostics) {
  if (!values.has(at + ".kind")) return;
  const auto kind = values.choice<DisturbanceKind>(at + ".kind");
  const DisturbanceKeys& keys = keys_of(kind);
  const auto reads = [&](const std::string& key) {
    return std::count(keys.required.begin(), keys.required.end(), key) +
               std::count(keys.optional.begin(), keys.optional.end(), key) >
           0;
  };
  for (const std::string& key : keys.required)
    if (is_missing(values, at + "." + key))
      report(values, at, fmt::format("{} needs {}; write it beside target", name_of(kind), key),
             diagnostics);
  for (const std::string key : {"to", "factor", "jitter", "rate", "from", "lasts", "period"})
    if (!reads(key) && is_written(values, at + "." + key))
      report(values, at + "." + key,
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

/// "host3" and "3" are host 3, which the job keeps as "3".
std::string host_number(const std::string& text) {
  const bool named = text.starts_with("host") && text.size() > 4;
  const std::string digits = named ? text.substr(4) : text;
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size() && number >= 0;
  return whole ? std::to_string(number) : text;
}

Disturbance disturbance_of(const FieldValues& values, const std::string& at) {
  Disturbance result;
  result.kind = values.choice<DisturbanceKind>(at + ".kind");
  result.target = values.text(at + ".target");
  if (values.has(at + ".to")) result.to = values.text(at + ".to");
  const bool of_hosts =
      result.kind == DisturbanceKind::straggler || result.kind == DisturbanceKind::background;
  if (of_hosts) {
    result.target = host_number(result.target);
    result.to = host_number(result.to);
  }
  const auto number = [&](const char* key, double otherwise) {
    return number_or(values, (at + key).c_str(), otherwise);
  };
  result.factor = number(".factor", 1.0);
  result.jitter = number(".jitter", 0.0);
  result.rate = BytesPerSecond{number(".rate", 0.0)};
  result.from = Seconds{number(".from", 0.0)};
  result.lasts = Seconds{number(".lasts", 0.0)};
  result.period = Seconds{number(".period", 0.0)};
  result.line = values.where(at).line;
  return result;
}

}  // namespace

Network network_of(const FieldValues& values) {
  Network network;
  if (values.has("cluster.fabric.kind"))
    network.kind = values.choice<FabricKind>("cluster.fabric.kind");
  network.oversubscription = number_or(values, "cluster.fabric.oversubscription", 1.0);
  network.spine_oversubscription = number_or(values, "cluster.fabric.spine_oversubscription", 1.0);
  if (values.has("cluster.fabric.hosts"))
    network.connected = values.integer("cluster.fabric.hosts");
  const std::string dragonfly = dragonfly_path;
  const std::string torus = torus_path;
  if (network.kind == FabricKind::dragonfly && has_dragonfly(values)) {
    network.dragonfly = {
        values.integer(dragonfly + ".groups"), values.integer(dragonfly + ".routers"),
        values.integer(dragonfly + ".nics_per_router"), values.integer(dragonfly + ".global_ports"),
        values.has(dragonfly + ".plus") && values.boolean(dragonfly + ".plus")};
  } else if (network.kind == FabricKind::torus && has_torus(values)) {
    network.torus = {values.at(torus + ".size").integers,
                     values.quantity<BytesPerSecond>(torus + ".channel")};
  } else if (network.kind == FabricKind::dragonfly || network.kind == FabricKind::torus) {
    network.kind = FabricKind::rail_optimized;
  } else if (network.kind == FabricKind::irregular) {
    if (has_all(values, irregular_path, {"nics", "cables"}))
      network.irregular = irregular_of(values);
    if (network.irregular == nullptr) network.kind = FabricKind::rail_optimized;
  }
  return network;
}

Simulation simulation_of(const FieldValues& values) {
  Simulation simulation;
  if (values.has("simulation.seed"))
    simulation.seed = static_cast<std::uint64_t>(values.integer("simulation.seed"));
  if (values.has("simulation.routing"))
    simulation.routing = values.choice<RoutingKind>("simulation.routing");
  if (values.has("simulation.connections"))
    simulation.connections = values.integer("simulation.connections");
  if (values.has("simulation.placement"))
    simulation.placement = values.choice<PlacementKind>("simulation.placement");
  if (values.has("simulation.collectives"))
    simulation.expand_collectives = values.text("simulation.collectives") == "expanded";
  if (values.has("simulation.unfold")) simulation.unfold = values.boolean("simulation.unfold");
  if (const FieldValue* occupied = values.find("simulation.occupied"))
    simulation.occupied = occupied->integers;
  for (int i = 0; i < values.list_size("simulation.disturbances"); ++i) {
    const std::string at = fmt::format("simulation.disturbances[{}]", i);
    if (values.has(at + ".kind") && values.has(at + ".target"))
      simulation.disturbances.push_back(disturbance_of(values, at));
  }
  return simulation;
}

void check_machine_keys(const FieldValues& values, Diagnostics& diagnostics) {
  check_fabric_keys(values, diagnostics);
  for (int i = 0; i < values.list_size("simulation.disturbances"); ++i)
    check_disturbance_keys(values, fmt::format("simulation.disturbances[{}]", i), diagnostics);
}

}  // namespace foretrain
