// SPDX-License-Identifier: Apache-2.0
#include "planner/network/collective_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/base/require.hpp"
#include "planner/text/usage_error.hpp"
#include "sim/collectives/collective_run.hpp"
#include "sim/flows/shared_links.hpp"
#include "topologies/fabrics/clos.hpp"
#include "topologies/fabrics/placement.hpp"

namespace foretrain {
namespace {

/// The most hand-overs that are played one by one.
constexpr double most_hand_overs = 4e6;

/// What a link carries of a payload, over the payload (nccl-tests, doc/PERFORMANCE.md).
double bus_over_algorithm(CollectiveOp op, double ranks) {
  switch (op) {
    case CollectiveOp::all_reduce:
      return 2.0 * (ranks - 1.0) / ranks;
    case CollectiveOp::broadcast:
    case CollectiveOp::reduce:
    case CollectiveOp::send:
      return 1.0;
    default:
      return (ranks - 1.0) / ranks;
  }
}

/// nccl-tests counts what one rank holds of gathers, scatters and exchanges.
double elements(CollectiveOp op, Bytes size, int ranks, ElementType type) {
  const double all = std::floor(size.value() / bytes_of(type));
  const bool whole = op == CollectiveOp::all_reduce || op == CollectiveOp::broadcast ||
                     op == CollectiveOp::reduce || op == CollectiveOp::send;
  return whole ? all : std::floor(all / ranks);
}

struct Stage {
  const CollectiveRequest& request;
  Cluster healthy;  ///< priced without sharing, which the fabric brings itself
  Fabric fabric;
  LinkSet down;
  bool any_down = false;
  FlowNetwork network;
  std::vector<Seats> seats;
  std::optional<OtherLibrary> library;

  /// Where a library takes GPUs to be neighbours: gloo's sockets know no scale-up links.
  [[nodiscard]] Packing packing() const {
    const int host = fabric.spec.host.gpus;
    return request.backend == Backend::gloo ? Packing{host, host} : fabric.spec.packing();
  }

  [[nodiscard]] CollectivePath path() const {
    return {healthy, request.machine.device, request.machine.site};
  }
};

/// Links that a scenario slows keep their share for as long as a collective takes.
void degrade(Stage& stage) {
  for (const Disturbance& what : stage.request.simulation.disturbances) {
    if (what.kind != DisturbanceKind::link_degraded) continue;
    const auto slowed = failed_links(stage.fabric, {what.target});
    if (const auto* refused = std::get_if<Infeasible>(&slowed)) throw UsageError(refused->message);
    const auto& links = std::get<LinkSet>(slowed);
    for (std::size_t link = 0; link < links.size(); ++link)
      if (links[link]) stage.network.links[link] *= what.factor;
  }
}

/// Groups of ranks become groups of GPUs, where the placement puts them.
std::optional<Infeasible> seat(Stage& stage, int ranks) {
  const Simulation& simulation = stage.request.simulation;
  const auto placed =
      place_ranks(stage.fabric, {ranks, simulation.placement, simulation.seed, simulation.occupied,
                                 stage.healthy.segment_hosts()});
  if (const auto* refused = std::get_if<Infeasible>(&placed)) return *refused;
  for (std::vector<int> group : stage.request.groups) {
    for (int& rank : group)
      rank = std::get<std::vector<int>>(placed)[static_cast<std::size_t>(rank)];
    stage.seats.push_back(seats_of(std::move(group), stage.packing()));
  }
  return std::nullopt;
}

std::optional<Infeasible> build_stage(Stage& stage) {
  const CollectiveMachine& machine = stage.request.machine;
  stage.healthy = machine.cluster;
  if (auto refused = size_network(stage.healthy, machine.cluster.network.switch_radix))
    return refused;
  auto built = build_fabric(striped(fabric_spec(stage.healthy)));
  if (auto* refused = std::get_if<Infeasible>(&built)) return *refused;
  stage.fabric = std::move(std::get<Fabric>(built));
  if (stage.request.simulation.routing == RoutingKind::spray &&
      !std::holds_alternative<ClosShape>(stage.fabric.spec.network))
    throw UsageError("--routing: spray is over the cables of a leaf, which this network has not");
  stage.healthy.network.contended = false;
  int last = 0;
  for (const std::vector<int>& group : stage.request.groups)
    last = std::max(last, *std::ranges::max_element(group));
  if (auto refused = too_small(stage.fabric, last + 1)) return refused;
  if (auto refused = seat(stage, std::max(last + 1, machine.cluster.gpus()))) return refused;
  std::vector<std::string> lost = stage.request.down;
  for (const Disturbance& what : stage.request.simulation.disturbances)
    if (what.kind == DisturbanceKind::link_down || what.kind == DisturbanceKind::node_down)
      lost.push_back(what.target);
  auto down = failed_links(stage.fabric, lost);
  if (const auto* refused = std::get_if<Infeasible>(&down))
    throw UsageError("--down: " + refused->message);
  stage.down = std::move(std::get<LinkSet>(down));
  stage.any_down = !lost.empty();
  stage.network = achievable_links(stage.fabric, stage.healthy, machine.device);
  degrade(stage);
  if (stage.request.backend != Backend::nccl)
    stage.library = other_library(stage.request.backend, stage.path());
  return std::nullopt;
}

CollectiveCall call_of(const Stage& stage, const Seats& seats, Bytes size) {
  const CollectiveRequest& request = stage.request;
  CollectiveCall call;
  call.op = request.op;
  call.seats = seats;
  call.root = request.root;
  call.payload = size;
  const CollectiveProblem problem{request.op, seats, request.root};
  PricedCollective priced =
      stage.library ? other_price(problem, size, *stage.library, request.backend, request.wish)
                    : nccl_price(problem, size, stage.path(), request.wish);
  if (!priced.refusal.empty()) throw UsageError("--algorithm: " + priced.refusal);
  call.price = std::move(priced.price);
  call.through_host = stage.library && stage.library->through_host;
  return call;
}

CollectiveSetting setting_of(const Stage& stage) {
  const CollectiveRequest& request = stage.request;
  CollectiveSetting setting{stage.fabric, stage.network};
  setting.seed = request.simulation.seed;
  setting.routing = request.simulation.routing;
  setting.connections = request.simulation.connections;
  setting.down = stage.any_down ? &stage.down : nullptr;
  setting.step_by_step = request.step_by_step;
  return setting;
}

std::vector<BusyLink> busiest(const Stage& stage, const CollectiveRun& run, Seconds time) {
  std::vector<BusyLink> links;
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t link = 0; link < run.links.size(); ++link)
    if (run.links[link].bytes > Bytes{})
      order.emplace_back(-(run.links[link].bytes / (stage.network.links[link] * time)), link);
  const std::size_t shown = std::min<std::size_t>(10, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end());
  for (std::size_t i = 0; i < shown; ++i) {
    const LinkRecord& record = run.links[order[i].second];
    links.push_back({link_name(stage.fabric, static_cast<LinkId>(order[i].second)), record.bytes,
                     record.busy / time, -order[i].first});
  }
  return links;
}

void check_request(const CollectiveRequest& request) {
  FORETRAIN_REQUIRE(!request.groups.empty() && !request.sizes.empty());
  for (const std::vector<int>& group : request.groups) {
    if (group.size() < 2)
      throw UsageError("a collective takes two ranks or more; use more --hosts or fewer --groups");
    if (request.op == CollectiveOp::send && group.size() != 2)
      throw UsageError("a send goes from one rank to one other; name them: --ranks 0,8");
    if (request.root < 0 || request.root >= static_cast<int>(group.size()))
      throw UsageError(
          fmt::format("--root: {} is not a position in a group of {}", request.root, group.size()));
    const auto ranks = static_cast<double>(group.size());
    if (request.step_by_step && 2.0 * ranks * ranks * 8.0 > most_hand_overs)
      throw UsageError(
          fmt::format("--step-by-step: {} ranks are too many steps; leave it out, an edge's "
                      "steps are then one flow",
                      group.size()));
  }
}

std::vector<std::string> notes_of(const Stage& stage, const CollectiveTable& table) {
  std::vector<std::string> notes;
  if (!stage.request.machine.transport_note.empty())
    notes.push_back(stage.request.machine.transport_note);
  for (const Disturbance& what : stage.request.simulation.disturbances)
    if (what.kind == DisturbanceKind::nic_flap || names_hosts(what.kind))
      notes.push_back("not simulated here: " + std::string(name_of(what.kind)) + " of " +
                      what.target);
  if (stage.library) notes.push_back(stage.library->provenance.source + " (extrapolated)");
  const bool composed =
      std::ranges::any_of(table.rows, [](const CollectiveRow& row) { return !row.measured; });
  if (composed && !stage.library)
    notes.emplace_back(
        "NCCL does not run this algorithm here, or it was not measured: put "
        "together from measured steps (extrapolated)");
  return notes;
}

}  // namespace

BytesPerSecond CollectiveTable::average_bus_bandwidth() const {
  BytesPerSecond sum;
  for (const CollectiveRow& row : rows) sum += row.bus_bandwidth;
  return sum / static_cast<double>(std::max<std::size_t>(1, rows.size()));
}

std::variant<CollectiveTable, Infeasible> collective_table(const CollectiveRequest& request) {
  check_request(request);
  Stage stage{request, {}, {}, {}, false, {}, {}, {}};
  if (auto refused = build_stage(stage)) return *refused;
  CollectiveTable table;
  table.request = request;
  KnownPhases known;
  CollectiveSetting setting = setting_of(stage);
  setting.known = &known;
  for (const Bytes size : request.sizes) {
    std::vector<CollectiveCall> calls;
    CollectiveRow row;
    row.size = size;
    for (const Seats& seats : stage.seats) {
      calls.push_back(call_of(stage, seats, size));
      row.alone = max(row.alone, calls.back().price.time());
    }
    const CollectivePrice& first = calls.front().price;
    row.scheme = first.scheme;
    row.protocol = first.protocol;
    row.measured = first.measured;
    const auto played = run_collectives(setting, calls);
    if (const auto* refused = std::get_if<Infeasible>(&played)) return *refused;
    const auto& run = std::get<CollectiveRun>(played);
    row.groups = run.end;
    row.time = *std::ranges::max_element(run.end);
    row.flows = run.flows;
    const int ranks = stage.seats.front().size();
    row.count = elements(request.op, size, ranks, request.type);
    row.algorithm_bandwidth = size / row.time;
    row.bus_bandwidth = row.algorithm_bandwidth * bus_over_algorithm(request.op, ranks);
    table.links = busiest(stage, run, row.time);
    table.rows.push_back(std::move(row));
  }
  table.notes = notes_of(stage, table);
  return table;
}

}  // namespace foretrain
