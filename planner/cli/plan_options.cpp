// SPDX-License-Identifier: Apache-2.0

#include "planner/cli/plan_options.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "models/base/ranges.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/machine_names.hpp"
#include "scenarios/catalog/machine_text.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

void add_device_option(CommandRow& command, std::string& device) {
  command.option("--device", device, "DEVICE",
                 "GPU: a name of foretrain show devices; takes the host that comes with it");
}

void add_host_options(CommandRow& command, std::string& host, std::string& device,
                      const std::string& host_help) {
  add_device_option(command, device);
  command.option("--host", host, "HOST", host_help, {.excludes = {"--device"}});
}

std::string host_of_device(const std::string& device, const LoadOptions& options) {
  Diagnostics diagnostics;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{options.catalogs, {}, diagnostics, files, values};
  const Mark mark{std::make_shared<const std::string>("--device"), 0, 0};
  auto host = host_with_device({device, "device", mark}, context);
  diagnostics.throw_if_any();
  return std::move(*host);
}

ScenarioOptions on_device(ScenarioOptions options, const std::string& device,
                          std::optional<int> gpus) {
  if (device.empty()) return options;
  if (options.file == "-" && !gpus)
    throw UsageError("--device asks the scenario for its GPUs first: give a file, or --gpus");
  const LoadOptions load = load_options(options);
  const std::string name = host_of_device(device, load);
  ClusterTextRequest request;
  request.host = name;
  const ClusterParts parts = cluster_parts(request, load);
  const int wanted = gpus ? *gpus : read_scenario(options).job.cluster.gpus();
  const auto share = share_of(wanted, parts.host.gpus);
  if (!share) throw UsageError("--gpus: " + share_refusal(wanted, name, parts.host.gpus));
  const std::vector<std::string> settings{
      "cluster.host=" + name, "cluster.fabric.preset=" + parts.preset,
      fmt::format("cluster.hosts={}", share->hosts),
      fmt::format("cluster.gpus_per_host={}", share->gpus_per_host)};
  options.overrides.insert(options.overrides.begin(), settings.begin(), settings.end());
  return options;
}

void add_room_options(CommandRow& command, RoomOptions& options, const std::string& what,
                      const OptionRules& rules) {
  command.option("--max-memory-share", options.share, "SHARE",
                 fmt::format("{}Most memory of a GPU, as a share of what is usable (default: {:g}, "
                             "and the band's upper end fits; 1: all of it)",
                             what, default_memory_share),
                 rules);
  command.option("--headroom", options.headroom, "SIZE",
                 what + "Memory of a GPU that stays free: \"4 GiB\"", rules);
}

SearchLimits room_limits(const RoomOptions& options) {
  SearchLimits limits;
  if (options.share && !(*options.share > 0.0 && *options.share <= 1.0))
    throw UsageError(
        fmt::format("--max-memory-share is a share of the usable memory, above 0 and "
                    "at most 1, not {}",
                    *options.share));
  limits.max_memory_share = options.share;
  if (!options.headroom.empty()) limits.headroom = bytes_value("--headroom", options.headroom);
  return limits;
}

namespace {

constexpr int most_plans = 1000;
constexpr int most_hosts = 1'000'000;
constexpr std::string_view hosts_key = "cluster.hosts=";
constexpr std::string_view batch_key = "training.global_batch=";
constexpr std::string_view as_given = "as-given";

/// Before a machine is described for each.
void refuse_many(const std::string& what, std::size_t machines) {
  if (machines <= static_cast<std::size_t>(most_machines)) return;
  throw UsageError(fmt::format(
      "{} lists {} machines; at most {} can be compared: list fewer, or a range that doubles, as "
      "in "
      "64..4096",
      what, with_thousands(static_cast<std::int64_t>(machines)), with_thousands(most_machines)));
}

/// Machines by --fix and --vary of cluster.hosts, or by --gpus.
std::vector<HostShare> machines_asked_for(const PlanOptions& options, const Job& job) {
  const Host& host = job.cluster.host;
  std::vector<HostShare> machines;
  for (const auto* list : {&options.fixed, &options.varied})
    for (const std::string& axis : *list)
      if (axis.starts_with(hosts_key))
        for (const int hosts :
             whole_numbers("cluster.hosts", axis.substr(hosts_key.size()), 1, most_hosts))
          machines.push_back({hosts, host.gpus});
  refuse_many("cluster.hosts", machines.size());
  if (options.gpus.empty()) return machines;
  if (!machines.empty()) throw UsageError("--gpus and cluster.hosts ask for the same; give one");
  const int per_host = std::max(host.gpus, host.whole_gpus);
  const std::vector<int> numbers = whole_numbers("--gpus", options.gpus, 1, 8 * most_hosts);
  refuse_many("--gpus", numbers.size());
  for (const int gpus : numbers) {
    const auto share = share_of(gpus, per_host);
    if (!share) throw UsageError("--gpus: " + share_refusal(gpus, host.name, per_host));
    machines.push_back(*share);
  }
  return machines;
}

void refuse_doubled_axes(const PlanOptions& options) {
  std::vector<std::string> keys;
  for (const std::string& axis : options.fixed) {
    if (axis.find(',') != std::string::npos || axis.find("..") != std::string::npos)
      throw UsageError("--fix takes one value; for several, write --vary " + axis);
    keys.push_back(axis.substr(0, axis.find('=')));
  }
  for (const std::string& axis : options.varied) keys.push_back(axis.substr(0, axis.find('=')));
  std::ranges::sort(keys);
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice != keys.end()) throw UsageError(*twice + " is given twice");
  if (options.all_schedules && contains(keys, "parallel.schedule"))
    throw UsageError("--all-schedules and parallel.schedule ask for the same; give one");
}

double positive(const char* name, double value) {
  if (!(value > 0.0)) throw UsageError(fmt::format("{} must be above 0, not {}", name, value));
  return value;
}

/// The settings of "a=1,b=2"; commas inside brackets belong to a value.
std::vector<std::string> settings_of(const std::string& text) {
  std::vector<std::string> settings(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (c == ',' && depth == 0)
      settings.emplace_back();
    else
      settings.back() += c;
  }
  return settings;
}

}  // namespace

SearchSpace space_of(const PlanOptions& options, const Scenario& scenario) {
  refuse_doubled_axes(options);
  const Job& job = scenario.job;
  std::vector<Cluster> machines;
  for (const auto& [hosts, gpus] : machines_asked_for(options, job)) {
    const bool own = hosts == job.cluster.hosts && gpus == job.cluster.host.gpus;
    machines.push_back(own ? job.cluster : cluster_with_hosts(scenario, hosts, gpus));
  }
  if (machines.empty()) machines.push_back(job.cluster);
  SearchSpace space = default_space(job);
  space.machines = std::move(machines);
  if (options.all_schedules) {
    space.schedule.clear();
    for (const auto& [kind, name] : EnumNames<ScheduleKind>::names) space.schedule.push_back(kind);
  }
  const auto set_listed = [&](bool batches) {
    for (const auto* list : {&options.fixed, &options.varied})
      for (const std::string& axis : *list)
        if (!axis.starts_with(hosts_key) && axis.starts_with(batch_key) == batches)
          set_axis(space, job, axis);
  };
  set_listed(true);  // sizes follow machines and batches
  set_sizes(space, job);
  set_listed(false);
  check_space(space);
  return space;
}

SearchOptions search_options(const PlanOptions& options) {
  SearchOptions result;
  result.by = options.by;
  result.top = static_cast<std::size_t>(options.top);
  if (options.on_fabric < 0 || options.on_fabric > options.top)
    throw UsageError(fmt::format("--on-fabric takes 0 to {}, the plans that --top shows, not {}",
                                 options.top, options.on_fabric));
  result.on_fabric = static_cast<std::size_t>(options.on_fabric);
  result.threads = options.threads;
  if (options.time_box) result.time_box = Seconds{positive("--time-limit", *options.time_box)};
  return result;
}

SearchLimits limits_of(const PlanOptions& options, const Job& job) {
  SearchLimits limits = room_limits(options.room);
  if (options.max_step) limits.max_step = Seconds{positive("--max-step", *options.max_step)};
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  if (!options.start.empty() && options.deadline.empty())
    throw UsageError("--start is the day that a --deadline is counted from; give both");
  if (!options.deadline.empty())
    limits.max_run =
        deadline_value("--deadline", options.deadline,
                       options.start.empty() ? today : date_value("--start", options.start));
  if (!options.budget.empty()) limits.max_price = money_value("--budget", options.budget);
  if (!options.power_cap.empty()) limits.max_power = power_value("--power-cap", options.power_cap);
  if (std::string problem = limit_problem(limits, job); !problem.empty()) throw UsageError(problem);
  return limits;
}

std::optional<PlanQuestion> plan_question(const PlanOptions& options, const Scenario& scenario) {
  if (options.rank_of.empty()) return std::nullopt;
  if (options.rank_of == as_given) return PlanQuestion{scenario, {}};
  const std::vector<std::string> settings = settings_of(options.rank_of);
  const ScenarioSource& source = scenario.source;
  LoadOptions load = source.options;
  load.overrides.insert(load.overrides.end(), settings.begin(), settings.end());
  return PlanQuestion{load_scenario_text(source.text, scenario.path, source.folder, load),
                      settings};
}

void add_space_options(CommandRow& command, PlanOptions& options) {
  const auto repeated = [&](const char* name, std::vector<std::string>& values, const char* value,
                            const char* help) {
    command.option(name, values, value, help, {.repeated = true});
  };
  repeated("--fix", options.fixed, "KEY=VALUE",
           "Fix an axis to one value: --fix parallel.tensor=8");
  repeated("--vary", options.varied, "KEY=LIST",
           "List an axis' values: --vary parallel.tensor=2,4,8; 2..16 doubles, 2..16+2 counts");
  command.flag("--all-schedules", options.all_schedules,
               "Try every schedule, not only 1f1b and interleaved");
  add_device_option(command, options.device);
  command.option("--gpus", options.gpus, "LIST",
                 "Numbers of GPUs to try: --gpus 512,1024 or 512..4096");
}

void add_limit_options(CommandRow& command, PlanOptions& options) {
  add_room_options(command, options.room);
  command.option("--max-step", options.max_step, "SECONDS", "Limit of the step time, in seconds");
  command.option("--deadline", options.deadline, "TIME",
                 "Deadline: a duration, \"30 days\", or an end date, 2027-03-01");
  command.option("--start", options.start, "DATE", "Start date of the run (default: today, UTC)");
  command.option("--budget", options.budget, "MONEY", "Budget of the run: \"2.5 M USD\"");
  command.option("--power-cap", options.power_cap, "POWER",
                 "Limit of the board power of all GPUs: \"10 MW\"");
}

void add_search_options(CommandRow& command, PlanOptions& options) {
  command.option("--by", options.by, "NAME", "What to minimise: time, cost, energy or gpus");
  command.option("--top", options.top, "N", "Plans to show (default: 10)",
                 {.range = {{1, most_plans}}});
  command.option("--on-fabric", options.on_fabric, "N",
                 "Simulate the first N of these with the event engine, and order them by it");
  command.option("--time-limit,--time-box", options.time_box, "SECONDS",
                 "Stop the search after so many seconds");
  add_threads_option(command, options.threads);
  command.flag("--timing", options.timing, "Print time and speed to standard error");
}

}  // namespace foretrain
