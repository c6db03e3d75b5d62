// SPDX-License-Identifier: Apache-2.0
#include "planner/cluster/cluster_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "models/base/ranges.hpp"
#include "planner/cluster/internal/cluster_reading.hpp"
#include "scenarios/catalog/catalog.hpp"
#include "scenarios/sections/compose.hpp"
#include "scenarios/yaml/confinement.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/sha256.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace internal {
namespace {

namespace fs = std::filesystem;

/// The document with --set folded in; nothing where it gave no tree.
std::optional<YamlNode> composed(const std::string& text, const std::string& name,
                                 const LoadOptions& options, Diagnostics& diagnostics) {
  auto root = parse_yaml(text, name, YamlLimits{}, diagnostics);
  int ordinal = 0;
  for (const std::string& flag : options.overrides) {
    auto over = parse_override(flag, ++ordinal, cluster_fields(), diagnostics);
    if (over && root && root->is_map())
      root = merge_documents(std::move(*root), std::move(*over), cluster_fields());
  }
  return root;
}

void read_host(const ClusterReading& reading) {
  if (!reading.has("cluster.host")) return;
  std::vector<ResolvedValue> ignored;
  CatalogContext context{reading.options.catalogs, reading.folder, reading.diagnostics,
                         reading.file.files,       ignored,        reading.options.root};
  const FieldValue& value = reading.values.at("cluster.host");
  if (auto host = load_host({value.text, value.path, value.mark}, context))
    reading.file.host = std::move(*host);
}

std::vector<std::string> team_names(const QueueModel& queue) {
  std::vector<std::string> names;
  for (const QueueTeam& team : queue.teams) names.push_back(team.name);
  return names;
}

/// Teams as they are listed, else those that classes name, else one.
void read_teams(const ClusterReading& reading) {
  QueueModel& queue = reading.file.queue;
  queue.teams.clear();
  const auto known = [&](const std::string& name) {
    const auto names = team_names(queue);
    return contains(names, name);
  };
  for (int i = 0; i < reading.values.list_size("workload.teams"); ++i) {
    const std::string path = fmt::format("workload.teams[{}]", i);
    if (!reading.has(path + ".name")) continue;
    QueueTeam team{reading.values.text(path + ".name")};
    if (known(team.name)) reading.report(path + ".name", "another team has this name");
    if (reading.has(path + ".share")) team.share = reading.values.number(path + ".share");
    if (reading.has(path + ".quota")) team.quota = reading.values.integer(path + ".quota");
    queue.teams.push_back(std::move(team));
  }
  if (!queue.teams.empty()) return;
  for (int i = 0; i < reading.values.list_size("workload.classes"); ++i) {
    const std::string path = fmt::format("workload.classes[{}]", i);
    if (!reading.has(path + ".team") && reading.has(path + ".trace.file")) continue;  // it may say
    const std::string name =
        reading.has(path + ".team") ? reading.values.text(path + ".team") : "all";
    if (!known(name)) queue.teams.push_back({name});
  }
}

/// Where nobody names one.
void add_team_of_all(QueueModel& queue) {
  const auto names = team_names(queue);
  if (!contains(names, "all")) queue.teams.push_back({"all"});
}

/// Index of a team; the first after reporting.
int team_at(const ClusterReading& reading, const std::string& path) {
  const auto names = team_names(reading.file.queue);
  const std::string name = reading.has(path) ? reading.values.text(path) : "all";
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  reading.report(path, reading.has(path) ? in_quotes(name) + " is not one of workload.teams: " +
                                               joined(names) + nearest_hint(name, names)
                                         : "must be one of workload.teams: " + joined(names));
  return 0;
}

void read_blocks(const ClusterReading& reading, const std::string& list) {
  QueueModel& queue = reading.file.queue;
  for (int i = 0; i < reading.values.list_size(list); ++i) {
    const std::string path = fmt::format("{}[{}]", list, i);
    QueueBlock block{reading.time(path + ".from"), reading.time(path + ".lasts"),
                     reading.time(path + ".every"), queue.hosts};
    if (reading.has(path + ".hosts")) block.hosts = reading.values.integer(path + ".hosts");
    if (block.hosts > queue.hosts)
      reading.report(path + ".hosts", fmt::format("the cluster has {} hosts", queue.hosts));
    if (block.every > Seconds{} && block.every <= block.lasts)
      reading.report(path + ".every", "must be longer than `lasts`");
    if (list == "cluster.reservations") block.team = team_at(reading, path + ".team");
    queue.blocks.push_back(block);
  }
}

void read_machine(const ClusterReading& reading) {
  const FieldValues& values = reading.values;
  QueueModel& queue = reading.file.queue;
  if (reading.has("cluster.hosts")) queue.hosts = values.integer("cluster.hosts");
  if (reading.has("cluster.hosts_per_leaf"))
    queue.leaf_hosts = values.integer("cluster.hosts_per_leaf");
  queue.failures.every = reading.time("cluster.failures.every");
  queue.failures.repair = reading.time("cluster.failures.repair");
  if (reading.has("cluster.spares")) queue.failures.spares = values.integer("cluster.spares");
  if (queue.failures.spares > 0 && !(queue.failures.every > Seconds{}))
    reading.report("cluster.spares", "has no effect without cluster.failures");
  reading.file.busy_power = values.optional_quantity<Watts>("cluster.power.busy");
  reading.file.idle_power = values.optional_quantity<Watts>("cluster.power.idle");
  if (reading.file.busy_power && reading.file.idle_power &&
      *reading.file.idle_power > *reading.file.busy_power)
    reading.report("cluster.power.idle", "must not be above `busy`");
  queue.burst_after = values.optional_quantity<Seconds>("cluster.burst.after");
  if (reading.has("cluster.burst.price"))
    reading.file.burst_price_per_gpu_s = values.number("cluster.burst.price");
  if (reading.has("cluster.price")) reading.file.price_per_gpu_s = values.number("cluster.price");
}

void read_policy(const ClusterReading& reading) {
  const FieldValues& values = reading.values;
  QueuePolicy& policy = reading.file.queue.policy;
  if (reading.has("policy.order")) policy.order = find_order(values.text("policy.order"));
  if (reading.has("policy.backfill"))
    policy.backfill = find_backfill(values.text("policy.backfill"));
  if (reading.has("policy.molding")) policy.molding = find_molding(values.text("policy.molding"));
  if (reading.has("policy.depth")) policy.depth = values.integer("policy.depth");
  if (reading.has("policy.aging")) policy.points_per_second = 1.0 / values.number("policy.aging");
  if (reading.has("policy.half_life")) policy.half_life = reading.time("policy.half_life");
  if (reading.has("policy.preempt")) policy.preempt = values.boolean("policy.preempt");
  if (reading.has("policy.placement") && values.text("policy.placement") == "pack")
    policy.placement = HostPlacement::pack;
}

void check_policy(const ClusterReading& reading) {
  const QueueModel& queue = reading.file.queue;
  const QueuePolicy& policy = queue.policy;
  const bool by_priority = policy.order->name == "priority" || policy.order->by_team;
  if (reading.has("policy.aging") && !by_priority)
    reading.report("policy.aging", fmt::format("has no effect: order {} does not look at priority; "
                                               "choose order: priority or fair-share",
                                               policy.order->name));
  if (reading.written("policy.half_life") && !policy.order->by_team)
    reading.report("policy.half_life", "has no effect without order: fair-share");
  if (policy.preempt && !queue.blocks.empty())
    reading.report("policy.preempt",
                   "preemption beside maintenance or reservations is not modelled; leave out one");
  const bool any =
      std::ranges::any_of(queue.classes, [](const QueueClass& jobs) { return jobs.preemptible; });
  if (policy.preempt && !any) reading.report("policy.preempt", "no class is preemptible: true");
  if (reading.written("policy.molding") && !has_moldable(queue))
    reading.report("policy.molding", "no class is moldable");
  if (policy.placement == HostPlacement::pack && queue.leaf_hosts == 0)
    reading.report("policy.placement", "packing needs cluster.hosts_per_leaf");
}

void check_quota(const ClusterReading& reading, const std::string& path, int of, int hosts) {
  const QueueTeam& team = reading.file.queue.teams[static_cast<std::size_t>(of)];
  if (team.quota && hosts > *team.quota)
    reading.report(path, fmt::format("a job of {} hosts can never start: the quota of team {} is "
                                     "{} hosts",
                                     hosts, in_quotes(team.name), *team.quota));
}

void check_quotas(const ClusterReading& reading, const std::string& path, const QueueClass& jobs) {
  std::map<int, int> most;  // hosts, by team
  for (const ListedJob& job : jobs.arrivals.listed)
    if (job.team) most[*job.team] = std::max(most[*job.team], job.hosts.value_or(1));
  if (most.empty()) most[jobs.team] = jobs.most_hosts();
  for (const auto& [team, hosts] : most) check_quota(reading, path, team, hosts);
}

void read_workload(const ClusterReading& reading) {
  const FieldValues& values = reading.values;
  QueueModel& queue = reading.file.queue;
  queue.horizon = reading.time("workload.horizon");
  queue.warm_up = reading.time("workload.warm_up");
  if (reading.has("workload.horizon") && queue.warm_up >= queue.horizon)
    reading.report("workload.warm_up", "must be shorter than workload.horizon");
  if (reading.has("workload.seed"))
    queue.seed = static_cast<std::uint64_t>(values.integer("workload.seed"));
  if (reading.has("workload.start")) queue.loaded = values.text("workload.start") == "loaded";
  if (reading.has("workload.replications"))
    reading.file.replications = values.integer("workload.replications");
  queue.classes.clear();
  for (int i = 0; i < values.list_size("workload.classes"); ++i) {
    const std::string path = fmt::format("workload.classes[{}]", i);
    QueueClass jobs = read_class(reading, path);
    const auto& listed = jobs.arrivals.listed;
    if (!listed.empty() && listed.front().team) {
      jobs.team = *listed.front().team;
    } else {
      if (values.list_size("workload.teams") == 0 && !reading.has(path + ".team"))
        add_team_of_all(queue);
      jobs.team = team_at(reading, path + ".team");
    }
    for (const QueueClass& other : queue.classes)
      if (!jobs.name.empty() && other.name == jobs.name)
        reading.report(path + ".name", "another class has this name");
    check_quotas(reading, path, jobs);
    queue.classes.push_back(std::move(jobs));
  }
  if (queue.teams.empty()) add_team_of_all(queue);
  if (values.has_group("workload.classes") && queue.classes.empty())
    reading.report("workload.classes", "there must be at least one class");
}

/// What people should know of the numbers.
void add_notes(ClusterFile& file) {
  const QueueModel& queue = file.queue;
  const double load = offered_load(queue);
  if (!has_steady_state(queue))
    file.notes.push_back(fmt::format(
        "The jobs want {:.2f} times the hosts there are: the queue grows as long as the horizon, "
        "and waits have no steady state. The cluster starts empty.",
        load));
  const bool within_leaf =
      std::ranges::any_of(queue.classes, [](const QueueClass& jobs) { return jobs.within_leaf; });
  if (within_leaf && queue.policy.backfill->reservations > 0)
    file.notes.emplace_back(
        "Reservations of backfill count hosts, not leaves: a job that must stay within a leaf may "
        "wait longer than its reservation says.");
}

void read_all(const ClusterReading& reading) {
  read_host(reading);
  read_machine(reading);
  read_teams(reading);
  read_policy(reading);
  read_workload(reading);
  read_blocks(reading, "cluster.maintenance");
  read_blocks(reading, "cluster.reservations");
  check_policy(reading);
}

}  // namespace
}  // namespace internal

ClusterFile load_cluster_text(const std::string& text, const std::string& name,
                              const std::filesystem::path& folder, const LoadOptions& options) {
  Diagnostics diagnostics;
  const auto root = internal::composed(text, name, options, diagnostics);
  if (!root) diagnostics.throw_if_any();
  const FieldValues values = read_fields(*root, cluster_fields(), diagnostics,
                                         diagnostics.empty() ? Document::whole : Document::partial);
  ClusterFile file;
  file.path = name;
  file.name =
      values.has("name") ? values.text("name") : std::filesystem::path(name).stem().string();
  file.files.push_back({name, sha256_hex(text)});
  internal::read_all({values, diagnostics, folder, options, file});
  diagnostics.throw_if_any();
  internal::add_notes(file);
  return file;
}

ClusterFile load_cluster(const std::filesystem::path& file, const LoadOptions& options) {
  Diagnostics diagnostics;
  const std::string name = file.string();
  const auto text = read_text_file(file, name, YamlLimits{}.file_bytes, diagnostics);
  diagnostics.throw_if_any();
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  LoadOptions own = options;
  if (own.root.empty()) own.root = repository_of(folder);
  return load_cluster_text(*text, name, folder, own);
}

}  // namespace foretrain
