// SPDX-License-Identifier: Apache-2.0
#include "sim/step/event_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "models/base/too_large.hpp"
#include "models/forecast/path_forecast.hpp"
#include "models/grid/process_grid.hpp"
#include "models/layers/row_statistics.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/run/run_model.hpp"
#include "models/schedules/sharded_pipeline.hpp"
#include "models/step/data_loading.hpp"
#include "sim/step/internal/disturbances.hpp"
#include "sim/step/internal/step_traffic.hpp"
#include "topologies/fabrics/placement.hpp"

namespace foretrain {
namespace {

/// Time that a replica spends in exchanges with other replicas, waiting for them included.
Seconds time_together(const TaskGraph& graph, const TrafficSource& traffic,
                      const Timeline& timeline) {
  Seconds sum;
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id)
    if (traffic.of(id).together > 1) sum += timeline.end[id] - timeline.start[id];
  return sum;
}

/// The replica that waits least is the one that the others wait for.
int slowest(const TaskGraph& graph, const TrafficSource& traffic, const Replay& replay) {
  int chosen = 0;
  Seconds latest, least;
  for (int replica = 0; replica <= static_cast<int>(replay.replicas.size()); ++replica) {
    const Timeline& timeline = replay.of(replica);
    const Seconds together = time_together(graph, traffic, timeline);
    constexpr double alike = 1.0 + 1e-12;
    const bool later = timeline.makespan > alike * latest;
    const bool waits_less = timeline.makespan * alike >= latest && together * alike < least;
    if (replica > 0 && !later && !waits_less) continue;
    chosen = replica;
    latest = timeline.makespan;
    least = together;
  }
  return chosen;
}

/// An exchange beside kernels: what these cover is in their parts.
bool beside_kernels(const TaskGraph& graph, std::uint32_t id) {
  const Task& task = graph.tasks[id];
  const TaskCost& cost = graph.cost_of(id);
  constexpr double all_but_digits = 1.0 - 1e-9;
  return task.kind == TaskKind::collective && task.micro >= 0 &&
         cost.parts.total() < all_but_digits * cost.duration;
}

/// By task, how long kernels that an exchange ran beside were over before it was: the step that
/// joins them waited so long for the exchange alone.
std::vector<Seconds> waited_for(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<Seconds> waited(graph.tasks.size());
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id) {
    if (graph.tasks[id].stream != StreamKind::compute) continue;
    Seconds kernels;
    std::uint32_t exchange = id;
    for (const std::uint32_t before : graph.before(id)) {
      if (beside_kernels(graph, before))
        exchange = before;
      else
        kernels = max(kernels, timeline.end[before]);
    }
    if (exchange != id) waited[exchange] = max(Seconds{}, timeline.end[exchange] - kernels);
  }
  return waited;
}

TimeParts parts_of_exchange(TaskRole role, Seconds time) {
  TimeParts parts;
  if (role == TaskRole::tensor)
    parts.tensor = time;
  else if (role == TaskRole::context)
    parts.context = time;
  else if (role == TaskRole::expert)
    parts.expert = time;
  else
    parts.data = time;
  return parts;
}

/// Gives every task the time that it took.
void set_durations(TaskGraph& graph, const Timeline& timeline) {
  constexpr double last_digits = 1e-12;
  const std::vector<Seconds> waited = waited_for(graph, timeline);
  for (std::uint32_t id = 0; id < graph.tasks.size(); ++id) {
    const Seconds priced = graph.cost_of(id).duration;
    const Seconds took = timeline.end[id] - timeline.start[id];
    const bool beside = beside_kernels(graph, id);
    const Seconds moved = beside ? waited[id] - graph.cost_of(id).parts.total() : took - priced;
    const double digits = last_digits * timeline.end[id].value();
    if (std::abs((took - priced).value()) <= digits && std::abs(moved.value()) <= digits) continue;
    TaskCost cost = graph.cost_of(id);
    cost.duration = took;
    if (beside)
      cost.parts = parts_of_exchange(graph.tasks[id].role, waited[id]);
    else if (priced > Seconds{})
      cost.parts *= took / priced;
    graph.tasks[id].cost = static_cast<std::uint32_t>(graph.costs.size());
    graph.costs.push_back(std::move(cost));
  }
}

/// Exchanges inside passes that the graph does not take apart stay within hosts: they slow nobody,
/// but their bytes count.
void add_inside_passes(const PlacedJob& placed, const TaskGraph& graph,
                       std::vector<double>& bytes) {
  LoadBuilder load{placed.fabric, placed.job.simulation};
  const int data = placed.job.parallel.data;
  for (const Channel& channel : inside_passes(placed.job, graph))
    for (int group = 0; group * channel.together < data; ++group)
      add_load(placed.job, placed.ranks, channel, group, load);
  for (const auto& [link, each] : load.take()) bytes[static_cast<std::size_t>(link)] += each;
}

/// Link ids by utilisation over the step, the busiest first.
std::vector<LinkId> by_use(const EventRun& run, const Fabric& fabric, std::size_t most) {
  std::vector<LinkId> links;
  for (LinkId link = 0; link < fabric.links(); ++link)
    if (run.link_bytes[static_cast<std::size_t>(link)] > 0.0) links.push_back(link);
  const auto use = [&](LinkId link) {
    const auto i = static_cast<std::size_t>(link);
    return run.link_bytes[i] / fabric.capacity[i];
  };
  const std::size_t count = std::min(most, links.size());
  std::partial_sort(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(count), links.end(),
                    [&](LinkId a, LinkId b) { return use(a) != use(b) ? use(a) > use(b) : a < b; });
  links.resize(count);
  return links;
}

/// Busy links of replicas that are not played have no times of their own.
void watch_links(const StepTraffic& traffic, const Fabric& fabric, int wanted, EventRun& run) {
  constexpr std::size_t tried = 256;
  for (const LinkId link : by_use(run, fabric, tried)) {
    if (static_cast<int>(run.link_use.size()) == wanted) return;
    LinkUseSeries series = traffic.link_use(link);
    if (!series.points.empty()) run.link_use.push_back(std::move(series));
  }
}

/// Exchanges inside passes that the graph does not take apart have bytes alone.
std::vector<LinkExchange> inside_on(const PlacedJob& placed, const TaskGraph& graph, LinkId link) {
  std::vector<LinkExchange> inside;
  LoadBuilder load{placed.fabric, placed.job.simulation};
  for (const Channel& channel : inside_passes(placed.job, graph)) {
    LinkExchange exchange;
    exchange.name = channel_name(channel);
    exchange.inside = true;
    for (int group = 0; group * channel.together < placed.job.parallel.data; ++group)
      add_load(placed.job, placed.ranks, channel, group, load);
    for (const auto& [crossed, bytes] : load.take())
      if (crossed == link) exchange.bytes += Bytes{bytes};
    if (exchange.bytes > Bytes{}) inside.push_back(std::move(exchange));
  }
  return inside;
}

/// The busiest link of each kind, the busiest first.
std::vector<LinkId> busiest_of_kinds(const EventRun& run, const Fabric& fabric) {
  std::map<LinkKind, LinkId> busiest;
  const auto use = [&](LinkId link) {
    return run.link_bytes[index(link)] / fabric.capacity[index(link)];
  };
  for (LinkId link = 0; link < fabric.links(); ++link) {
    if (use(link) <= 0.0) continue;
    const auto [found, first] = busiest.try_emplace(fabric.kind[index(link)], link);
    if (!first && use(link) > use(found->second)) found->second = link;
  }
  std::vector<LinkId> links;
  for (const auto& [kind, link] : busiest) links.push_back(link);
  std::ranges::stable_sort(links, [&](LinkId a, LinkId b) { return use(a) > use(b); });
  return links;
}

void explain_links(const StepTraffic& traffic, const PlacedJob& placed, const EventOptions& options,
                   EventRun& run) {
  const std::vector<LinkId> links = options.explained_link ? std::vector{*options.explained_link}
                                                           : busiest_of_kinds(run, placed.fabric);
  for (const LinkId link : links) {
    ExplainedLink explained{link, traffic.crossing(link)};
    for (LinkExchange& inside : inside_on(placed, run.graph, link))
      explained.exchanges.push_back(std::move(inside));
    std::ranges::stable_sort(explained.exchanges, [](const LinkExchange& a, const LinkExchange& b) {
      return a.bytes > b.bytes;
    });
    run.explained.push_back(std::move(explained));
  }
}

/// Nothing tells one data replica from another.
bool symmetric(const Simulation& simulation) {
  return !simulation.unfold && simulation.disturbances.empty() &&
         simulation.placement == PlacementKind::packed && simulation.occupied.empty();
}

/// Tasks of all replicas that are played in a second or two.
constexpr std::size_t soon_played = 2'000'000;
/// Most that are: some 60 bytes each.
constexpr std::size_t most_played = 20'000'000;

/// @throws TooLarge
void refuse_many_replicas(std::size_t tasks, std::size_t replicas) {
  if (tasks * replicas <= most_played) return;
  throw TooLarge(
      std::to_string(replicas) + " data replicas of " + std::to_string(tasks) +
      " tasks each are played apart, since something tells them from each other; at most " +
      std::to_string(most_played) +
      " tasks can be: take simulation.unfold or the disturbances out");
}

/// Hosts that hold parts of a checkpoint, and what it is; nothing where the scenario does not say
/// how fast storage is, which is refused before.
StorageTraffic written_by(const PlacedJob& placed) {
  const CheckpointTimes times = checkpoint_times(placed.job);
  std::set<int> hosts;
  for (const int gpu : placed.ranks.gpu) {
    if (hosts.size() >= static_cast<std::size_t>(times.hosts)) break;
    hosts.insert(gpu / placed.fabric.spec.host.gpus);
  }
  const BytesPerSecond rate = times.write ? times.size / *times.write : BytesPerSecond{};
  return {{hosts.begin(), hosts.end()}, times.size, rate};
}

/// The first stage's hosts load tokens, each the same part of them.
StorageTraffic read_by(const PlacedJob& placed) {
  std::set<int> hosts;
  for (int number = 0; number < placed.ranks.stage; ++number)
    hosts.insert(placed.ranks.at(0, number) / placed.fabric.spec.host.gpus);
  const Bytes bytes{tokens_per_step(placed.job) *
                    placed.job.operations.loading.bytes_per_token.value_or(0.0)};
  const auto time = input_times(placed.job).storage;
  return {{hosts.begin(), hosts.end()}, bytes, time ? bytes / *time : BytesPerSecond{}};
}

/// What the scenario has to say of a disturbance that reads or writes storage.
std::optional<Infeasible> refuse_storage(const Job& job, const Disturbance& what) {
  const bool reads = what.kind == DisturbanceKind::input;
  const auto unknown = [](const char* key, const std::string& message, const std::string& remedy) {
    return Infeasible{"unknown-disturbance", key, message, remedy};
  };
  if (job.operations.storage.network == StorageNetwork::own)
    return unknown("operations.storage.network",
                   std::string(reads ? "input" : "a checkpoint") +
                       " that travels over a storage network of its own meets no "
                       "traffic of the step",
                   "operations.storage.network: compute, or take the disturbance out");
  if (reads && !job.operations.loading.bytes_per_token)
    return unknown("operations.data_loading.bytes_per_token",
                   "how much is read for a token is not said",
                   "give operations.data_loading.bytes_per_token");
  const bool paced =
      reads ? input_times(job).storage.has_value() : checkpoint_times(job).write.has_value();
  if (paced || what.rate > BytesPerSecond{}) return std::nullopt;
  const char* const key = reads ? "operations.storage.read" : "operations.storage.write";
  return unknown(
      key,
      reads ? "how fast input is read is not said" : "how fast a checkpoint is written is not said",
      std::string("give ") + key + ", or a rate of the disturbance");
}

std::optional<Infeasible> refuse_storage(const Job& job) {
  for (const Disturbance& what : job.simulation.disturbances)
    if (what.kind == DisturbanceKind::checkpoint || what.kind == DisturbanceKind::input)
      if (auto refused = refuse_storage(job, what)) return refused;
  return std::nullopt;
}

std::size_t tasks_of_all(const TaskGraph& graph, const Job& job) {
  return graph.tasks.size() * index(job.parallel.data);
}

/// The folded step if no replica met one that is not played.
Seconds time_unmet(const TaskGraph& graph, StepTraffic& traffic, const ReplayOptions& options) {
  traffic.meet_others(false);
  const Replay alone = replay(graph, traffic.network(), traffic, options);
  traffic.meet_others(true);
  return max(alone.of(0).makespan, alone.of(options.replicas - 1).makespan);
}

EventRun play_once(const Job& job, const StageLayout& layout, const PlacedJob& placed,
                   const EventOptions& options, bool fold) {
  EventRun run;
  StepPath path = step_path(placed.job, layout, options.detail.value_or(event_detail(job)));
  StepTrafficOptions how;
  how.fold = fold;
  how.expand = job.simulation.expand_collectives;
  how.changing = disturbs_network(job.simulation);
  const bool explains = options.explain_links || options.explained_link;
  how.record = (options.watched_links > 0 || explains || options.on_frame) && !how.changing;
  if (options.on_progress)
    how.go_on = [&] { return options.on_progress({0, path.graph.tasks.size(), Seconds{}}); };
  StepTraffic traffic{placed, path.graph, step_channels(placed.job, path.graph), how};
  ReplayOptions replay_options;
  refuse_many_replicas(path.graph.tasks.size(), traffic.replicas().size());
  replay_options.backend = options.backend;
  replay_options.replicas = static_cast<int>(traffic.replicas().size());
  replay_options.on_progress = options.on_progress;
  const Stragglers stragglers{placed.fabric, job.simulation, placed.ranks, path.graph};
  if (stragglers.any())
    replay_options.duration = [&](int replica, std::uint32_t task, Seconds now) {
      return stragglers.duration(traffic.replicas()[static_cast<std::size_t>(replica)], task, now);
    };
  std::vector<double> capacity;
  std::optional<NetworkDisturbances> disturbances;
  if (how.changing) {
    capacity = achievable_rates(placed.job, placed.fabric);
    disturbances.emplace(placed.fabric, job.simulation,
                         StorageTraffics{written_by(placed), read_by(placed)}, capacity, traffic);
    replay_options.network_events = &*disturbances;
  }
  const bool bounded =
      replay_options.replicas < job.parallel.data && tasks_of_all(path.graph, job) > soon_played;
  const Seconds unmet = bounded ? time_unmet(path.graph, traffic, replay_options) : Seconds{};
  Replay played = replay(path.graph, traffic.network(), traffic, replay_options);

  run.played = replay_options.replicas;
  run.folded = run.played < job.parallel.data;
  run.events = played.events;
  run.exchanges = played.exchanges;
  run.slowed = played.slowed;
  run.jitter = path.jitter;
  run.release = path.release;
  run.stopped = played.stopped;
  run.input_left = disturbances ? disturbances->input_left() : 0.0;
  run.longer_folded = bounded ? played.of(0).makespan / unmet - 1.0 : 0.0;
  const int sample = slowest(path.graph, traffic, played);
  run.replica = traffic.replicas()[static_cast<std::size_t>(sample)];
  run.timeline = played.of(sample);
  run.link_bytes = traffic.link_bytes();
  run.graph = std::move(path.graph);
  if (run.stopped) return run;
  if (how.record) watch_links(traffic, placed.fabric, options.watched_links, run);
  if (how.record && options.on_frame)
    traffic.play_back(run.timeline.makespan, options.frames, options.on_frame);
  add_inside_passes(placed, run.graph, run.link_bytes);
  if (how.record && explains) explain_links(traffic, placed, options, run);
  set_durations(run.graph, run.timeline);
  return run;
}

/// Two replicas stand for all where no exchange meets another. Where they meet, folded ones meet
/// all the others at their worst moment: then all are played, as those that something tells apart
/// are, so that one plan is compared with another by one measure. A job that takes long to play
/// stays folded where meeting none of the others would make no difference.
EventRun play(const Job& job, const StageLayout& layout, const PlacedJob& placed,
              const EventOptions& options) {
  constexpr double no_difference = 0.005;
  EventRun run = play_once(job, layout, placed, options, symmetric(job.simulation));
  if (!run.folded || run.slowed == 0 || run.stopped) return run;
  const std::size_t all = tasks_of_all(run.graph, job);
  const bool long_and_sure = all > soon_played && run.longer_folded <= no_difference;
  if (long_and_sure || all > most_played) return run;
  return play_once(job, layout, placed, options, false);
}

/// Before the first task: routes were still being laid out.
EventRun stopped_at_once(const Fabric& fabric) {
  EventRun run;
  run.stopped = true;
  run.link_bytes.resize(static_cast<std::size_t>(fabric.links()));
  return run;
}

}  // namespace

Detail event_detail(const Job& job) {
  const ProcessGrid grid{job.parallel};
  const auto leaves = [&](GroupKind kind) {
    return grid.group(kind).on_hosts(job.cluster.packing()).span_hosts > 1;
  };
  const bool in_passes = scatters_every_pass(job) || job.parallel.zero >= 3;
  const bool sharded = in_passes && leaves(GroupKind::data_context);
  const bool experts = job.model.moe && leaves(GroupKind::expert);
  return sharded || experts || leaves(GroupKind::tensor) || leaves(GroupKind::context)
             ? Detail::op
             : Detail::pass;
}

Job uncontended(const Job& job) {
  Job alone = job;
  alone.cluster.network.contended = false;
  return alone;
}

std::optional<Infeasible> refuse_on_fabric(const Job& job) {
  if (job.communication.backend != Backend::nccl)
    return Infeasible{
        std::string(not_modelled_rule), "communication.backend",
        "steps of " + std::string(name_of(job.communication.backend)) +
            " are not simulated on a fabric: its sockets share processor cores, which "
            "have no links here",
        "--engine closed-form or path, or communication.backend: nccl"};
  if (job.parallel.single_process())
    return Infeasible{
        std::string(not_modelled_rule), "parallel.processes",
        "steps of one process for all GPUs (torch.nn.DataParallel) are not simulated on "
        "a fabric: all of its traffic stays inside the host and runs alone",
        "--engine closed-form or path, or parallel.processes: per-gpu"};
  return std::nullopt;
}

std::variant<EventRun, Infeasible> run_step(const Job& job, const StageLayout& layout,
                                            const Fabric& fabric, const EventOptions& options) {
  const Simulation& simulation = job.simulation;
  if (auto refused = refuse_on_fabric(job)) return *refused;
  if (auto refused = refuse_disturbances(fabric, simulation)) return *refused;
  if (auto refused = refuse_storage(job)) return *refused;
  const auto placement =
      place_ranks(fabric, {job.parallel.gpus(), simulation.placement, simulation.seed,
                           simulation.occupied, job.cluster.segment_hosts()});
  if (const auto* refused = std::get_if<Infeasible>(&placement)) return *refused;
  const RankMap ranks{job.parallel, std::get<std::vector<int>>(placement)};
  const Job alone = uncontended(job);
  try {
    return play(job, layout, {alone, fabric, ranks}, options);
  } catch (const StepStopped&) {
    return stopped_at_once(fabric);
  } catch (const TooLarge& large) {
    return Infeasible{std::string(not_modelled_rule), "simulation", large.what(), "--engine path"};
  } catch (const FabricCut& cut) {
    return Infeasible{"fabric-connected", "simulation.disturbances", cut.what(),
                      "take a failure out, or use a fabric with more ways"};
  }
}

StepForecast step_forecast(const EventRun& run) {
  return attribute(run.graph, run.timeline, run.jitter, run.release);
}

std::vector<LinkUse> busiest_links(const EventRun& run, const Fabric& fabric, std::size_t most) {
  std::vector<LinkUse> links;
  const double seconds = run.timeline.makespan.value();
  for (const LinkId link : by_use(run, fabric, most)) {
    const auto i = static_cast<std::size_t>(link);
    links.push_back({link_name(fabric, link), Bytes{run.link_bytes[i]},
                     run.link_bytes[i] / (fabric.capacity[i] * seconds)});
  }
  return links;
}

}  // namespace foretrain
