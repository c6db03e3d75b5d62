// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "planner/cluster/internal/cluster_reading.hpp"
#include "scenarios/yaml/confinement.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain::internal {
namespace {

constexpr std::array<const char*, 6> distributions{"fixed",     "exponential", "uniform",
                                                   "lognormal", "gamma",       "empirical"};

/// The one of the keys that is written; nothing after reporting that none or several are.
std::optional<std::string> exactly_one(const ClusterReading& reading, const std::string& path,
                                       const std::vector<std::string>& keys) {
  std::vector<std::string> found;
  for (const std::string& key : keys)
    if (reading.written(fmt::format("{}.{}", path, key))) found.push_back(key);
  if (found.size() == 1) return found.front();
  if (found.empty())
    reading.report(path, "needs one of " + joined(keys));
  else
    reading.report(
        path + "." + found[1],
        fmt::format("only one of {} can be given; {} is given, too", joined(keys), found.front()));
  return std::nullopt;
}

/// Relative rates of 24 hours or 7 days.
std::vector<double> read_shape(const ClusterReading& reading, const std::string& path,
                               std::size_t count) {
  const FieldValue* value = reading.values.find(path);
  if (value == nullptr) return {};
  const std::vector<int>& rates = value->integers;
  if (rates.size() != count)
    reading.report(path, fmt::format("must have {} numbers, not {}", count, rates.size()));
  else if (std::accumulate(rates.begin(), rates.end(), 0.0) == 0.0)
    reading.report(path, "one of the numbers must be above 0");
  else
    return {rates.begin(), rates.end()};
  return {};
}

std::vector<ArrivalPeak> read_peaks(const ClusterReading& reading, const std::string& path) {
  std::vector<ArrivalPeak> peaks;
  for (int i = 0; i < reading.values.list_size(path); ++i) {
    const std::string at = fmt::format("{}[{}]", path, i);
    ArrivalPeak peak{reading.time(at + ".from"), reading.time(at + ".lasts"),
                     reading.time(at + ".every")};
    if (reading.has(at + ".factor")) peak.factor = reading.values.number(at + ".factor");
    if (peak.every > Seconds{} && peak.every <= peak.lasts)
      reading.report(at + ".every", "must be longer than `lasts`");
    peaks.push_back(peak);
  }
  return peaks;
}

std::vector<ListedJob> listed_at(const ClusterReading& reading, const std::string& path) {
  std::vector<Seconds> times = read_times(reading, path);
  std::ranges::stable_sort(times);
  std::vector<ListedJob> jobs;
  for (const Seconds time : times) jobs.push_back({time, {}, {}, {}});
  return jobs;
}

DurationLaw read_lognormal(const ClusterReading& reading, const std::string& path) {
  DurationLaw law{DurationKind::lognormal, reading.time(path + ".mean")};
  const auto given = exactly_one(reading, path, {"cv", "median"});
  if (!given) return law;
  if (*given == "cv") {
    if (reading.has(path + ".cv")) law.variation = reading.values.number(path + ".cv");
    return law;
  }
  const Seconds median = reading.time(path + ".median");
  if (median > Seconds{} && law.typical > median) {
    const double ratio = law.typical / median;
    law.variation = std::sqrt(ratio * ratio - 1.0);
  } else if (law.typical > Seconds{}) {
    reading.report(path + ".median", "must be below the mean");
  }
  return law;
}

DurationLaw read_uniform(const ClusterReading& reading, const std::string& path) {
  DurationLaw law{DurationKind::uniform};
  law.least = reading.time(path + ".from");
  law.most = reading.time(path + ".to");
  if (reading.has(path + ".to") && law.most < law.least)
    reading.report(path + ".to", "must not be below `from`");
  return law;
}

void read_sizes(const ClusterReading& reading, const std::string& path, QueueClass& jobs) {
  const FieldValues& values = reading.values;
  if (reading.has(path + ".hosts")) jobs.sizes = {{values.integer(path + ".hosts"), 1.0}};
  if (!values.has_group(path + ".sizes")) return;
  jobs.sizes.clear();
  for (int i = 0; i < values.list_size(path + ".sizes"); ++i) {
    const std::string at = fmt::format("{}.sizes[{}]", path, i);
    if (reading.has(at + ".hosts") && reading.has(at + ".weight"))
      jobs.sizes.push_back({values.integer(at + ".hosts"), values.number(at + ".weight")});
  }
  if (values.list_size(path + ".sizes") == 0)
    reading.report(path + ".sizes", "there must be at least one size");
  if (jobs.sizes.empty()) jobs.sizes = {{}};
}

void read_own_rules(const ClusterReading& reading, const std::string& path, QueueClass& jobs) {
  const FieldValues& values = reading.values;
  if (reading.has(path + ".priority")) jobs.priority = values.number(path + ".priority");
  if (reading.has(path + ".preemptible")) jobs.preemptible = values.boolean(path + ".preemptible");
  jobs.checkpoint_every = reading.time(path + ".checkpoint_every");
  jobs.restart = reading.time(path + ".restart");
  if (reading.has(path + ".within_leaf")) jobs.within_leaf = values.boolean(path + ".within_leaf");
  if (reading.has(path + ".scattered_slowdown"))
    jobs.scattered_slowdown = values.number(path + ".scattered_slowdown");
  if (reading.written(path + ".scattered_slowdown") && !reading.written("cluster.hosts_per_leaf"))
    reading.report(path + ".scattered_slowdown", "has no effect without cluster.hosts_per_leaf");
  jobs.deadline = values.optional_quantity<Seconds>(path + ".deadline");
  if (reading.has(path + ".bursts")) jobs.bursts = values.boolean(path + ".bursts");
  if (reading.written(path + ".bursts") && !reading.written("cluster.burst"))
    reading.report(path + ".bursts", "has no effect without cluster.burst");
  jobs.limit = values.optional_quantity<Seconds>(path + ".limit.time");
  if (reading.has(path + ".limit.factor"))
    jobs.limit_factor = values.number(path + ".limit.factor");
  if (jobs.limit && reading.has(path + ".limit.factor"))
    reading.report(path + ".limit.factor", "only one of time and factor can be given");
}

void check_class(const ClusterReading& reading, const std::string& path, const QueueClass& jobs) {
  const QueueModel& queue = reading.file.queue;
  const std::string at = reading.written(path + ".hosts")
                             ? path + ".hosts"
                             : (reading.written(path + ".sizes") ? path + ".sizes" : path);
  if (reading.has("cluster.hosts") && jobs.most_hosts() > queue.hosts)
    reading.report(at, fmt::format("a job of {} hosts can never start: the cluster has {}",
                                   jobs.most_hosts(), queue.hosts));
  if (!jobs.within_leaf) return;
  if (queue.leaf_hosts == 0)
    reading.report(path + ".within_leaf", "needs cluster.hosts_per_leaf");
  else if (jobs.most_hosts() > queue.leaf_hosts)
    reading.report(at, fmt::format("a job of {} hosts can never start within a leaf of {}",
                                   jobs.most_hosts(), queue.leaf_hosts));
}

std::string source_in_words(const QueueClass& jobs) {
  const DurationLaw& law = jobs.duration;
  const auto time = [](Seconds value) { return format_quantity(value.value(), Dimension::time); };
  switch (law.kind) {
    case DurationKind::uniform:
      return fmt::format("uniform, {} to {}", time(law.least), time(law.most));
    case DurationKind::empirical:
      return fmt::format("one of {} measured durations", law.values.size());
    case DurationKind::lognormal:
    case DurationKind::gamma:
      return fmt::format("{}, mean {}, coefficient of variation {:.3g}", name_of(law.kind),
                         time(law.typical), law.variation);
    default:
      return fmt::format("{}, {}", name_of(law.kind), time(law.typical));
  }
}

}  // namespace

void read_moldable(const ClusterReading& reading, const std::string& path, QueueClass& jobs) {
  const FieldValues& values = reading.values;
  const std::string list = path + ".moldable";
  for (int i = 0; i < values.list_size(list); ++i) {
    const std::string at = fmt::format("{}[{}]", list, i);
    if (!reading.has(at + ".hosts")) continue;
    MoldableSize size{values.integer(at + ".hosts")};
    if (reading.has(at + ".speed")) size.speed = values.number(at + ".speed");
    if (!jobs.moldable.empty() && size.hosts <= jobs.moldable.back().hosts)
      reading.report(at + ".hosts",
                     fmt::format("must be above the {} before it", jobs.moldable.back().hosts));
    jobs.moldable.push_back(size);
  }
  if (values.list_size(list) == 0) reading.report(list, "there must be at least one size");
  if (!jobs.moldable.empty()) jobs.sizes = {{jobs.moldable.front().hosts, 1.0}};
}

void check_speeds(const ClusterReading& reading, const std::string& path, const QueueClass& jobs,
                  const char* key) {
  for (std::size_t i = 1; i < jobs.moldable.size(); ++i) {
    const MoldableSize& fewer = jobs.moldable[i - 1];
    if (jobs.moldable[i].speed > fewer.speed) continue;
    reading.report(
        fmt::format("{}.moldable[{}].{}", path, i, key),
        fmt::format("{} hosts are no faster than {} ({:.3g} against {:.3g}); leave them "
                    "out",
                    jobs.moldable[i].hosts, fewer.hosts, jobs.moldable[i].speed, fewer.speed));
  }
}

std::vector<Seconds> read_times(const ClusterReading& reading, const std::string& path) {
  std::vector<Seconds> times;
  const FieldValue* value = reading.values.find(path);
  if (value == nullptr) return times;
  for (std::size_t i = 0; i < value->texts.size(); ++i) {
    const auto parsed = parse_quantity(value->texts[i], Dimension::time);
    if (!parsed.value)
      reading.diagnostics.add(value->mark, fmt::format("{}[{}]", path, i), parsed.error);
    else if (*parsed.value < 0.0)
      reading.diagnostics.add(value->mark, fmt::format("{}[{}]", path, i), "must not be below 0 s");
    else
      times.emplace_back(*parsed.value);
  }
  if (value->texts.empty()) reading.report(path, "there must be at least one time");
  return times;
}

ArrivalLaw read_arrivals(const ClusterReading& reading, const std::string& path) {
  ArrivalLaw law;
  const auto given = exactly_one(reading, path, {"poisson", "every", "at"});
  law.day = read_shape(reading, path + ".day", 24);
  law.week = read_shape(reading, path + ".week", 7);
  law.peaks = read_peaks(reading, path + ".peaks");
  if (!given) return law;
  if (*given == "poisson" && reading.has(path + ".poisson"))
    law.rate = PerSecond{reading.values.number(path + ".poisson")};
  if (*given == "every") law.every = reading.time(path + ".every");
  if (*given == "at") law.listed = listed_at(reading, path + ".at");
  for (const char* shape : {"day", "week", "peaks"})
    if (*given != "poisson" && reading.written(path + "." + shape))
      reading.report(path + "." + shape, "has no effect without poisson");
  return law;
}

std::optional<DurationLaw> read_duration(const ClusterReading& reading, const std::string& path) {
  const auto given = exactly_one(
      reading, path, std::vector<std::string>(distributions.begin(), distributions.end()));
  if (!given) return std::nullopt;
  const std::string at = path + "." + *given;
  const auto kind = from_name<DurationKind>(*given);
  DurationLaw law{*kind};
  switch (*kind) {
    case DurationKind::fixed:
    case DurationKind::exponential:
      law.typical = reading.time(at);
      break;
    case DurationKind::uniform:
      law = read_uniform(reading, at);
      break;
    case DurationKind::lognormal:
      law = read_lognormal(reading, at);
      break;
    case DurationKind::gamma:
      law.typical = reading.time(at + ".mean");
      if (reading.has(at + ".cv")) law.variation = reading.values.number(at + ".cv");
      break;
    case DurationKind::empirical:
      law.values = read_times(reading, at);
      if (std::ranges::any_of(law.values, [](Seconds value) { return !(value > Seconds{}); }))
        reading.report(at, "durations must be above 0 s");
      if (law.values.empty()) return std::nullopt;
      break;
  }
  return law;
}

namespace {

// Sizes and durations that are written; the source of durations in words.
std::string read_drawn_class(const ClusterReading& reading, const std::string& path,
                             QueueClass& jobs) {
  const auto given = exactly_one(reading, path, {"hosts", "sizes", "moldable"});
  if (given && *given == "moldable") {
    read_moldable(reading, path, jobs);
    for (int i = 0; i < reading.values.list_size(path + ".moldable"); ++i)
      if (!reading.written(fmt::format("{}.moldable[{}].speed", path, i)))
        reading.report(fmt::format("{}.moldable[{}]", path, i),
                       "needs a speed: only beside a scenario a forecast says it");
    check_speeds(reading, path, jobs, "speed");
  } else {
    read_sizes(reading, path, jobs);
  }
  const auto law = read_duration(reading, path + ".duration");
  if (!law) return {};
  jobs.duration = *law;
  return source_in_words(jobs);
}

std::string read_traced_class(const ClusterReading& reading, const std::string& path,
                              QueueClass& jobs) {
  for (const char* key : {".arrivals", ".hosts", ".sizes", ".moldable"})
    if (reading.written(path + key)) reading.report(path + key, "has no effect: the trace says it");
  read_trace_class(reading, path, jobs);
  return "trace " + reading.file.files.back().path;
}

std::string read_forecast_class(const ClusterReading& reading, const std::string& path,
                                QueueClass& jobs) {
  if (reading.written(path + ".sizes"))
    reading.report(path + ".sizes",
                   "beside a scenario write hosts, one class for each size, or moldable");
  if (reading.written(path + ".moldable")) {
    if (reading.written(path + ".hosts"))
      reading.report(path + ".moldable", "only one of hosts, moldable can be given");
    for (int i = 0; i < reading.values.list_size(path + ".moldable"); ++i)
      if (reading.written(fmt::format("{}.moldable[{}].speed", path, i)))
        reading.report(fmt::format("{}.moldable[{}].speed", path, i),
                       "has no effect: the scenario's forecast says it");
    read_moldable(reading, path, jobs);
  }
  read_scenario_class(reading, path, jobs);
  return fmt::format("forecast of {}", reading.has(path + ".scenario")
                                           ? reading.values.text(path + ".scenario")
                                           : std::string());
}

}  // namespace

QueueClass read_class(const ClusterReading& reading, const std::string& path) {
  QueueClass jobs;
  if (reading.has(path + ".name")) jobs.name = reading.values.text(path + ".name");
  read_own_rules(reading, path, jobs);
  const auto source = exactly_one(reading, path, {"duration", "scenario", "trace"});
  if (!source || *source != "trace") jobs.arrivals = read_arrivals(reading, path + ".arrivals");
  std::string words;
  if (source && *source == "trace")
    words = read_traced_class(reading, path, jobs);
  else if (source && *source == "duration")
    words = read_drawn_class(reading, path, jobs);
  else if (source)
    words = read_forecast_class(reading, path, jobs);
  check_class(reading, path, jobs);
  reading.file.durations.push_back(std::move(words));
  return jobs;
}

}  // namespace foretrain::internal
