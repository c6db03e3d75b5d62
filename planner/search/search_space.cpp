// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "models/base/text.hpp"
#include "models/grid/process_grid.hpp"
#include "models/rules/plan_sizes.hpp"
#include "models/schedules/registry.hpp"
#include "planner/forecast/smallest_change.hpp"
#include "planner/search/search_space.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/sections/parallel_keys.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {
namespace {

constexpr int largest_degree = 1'000'000;
constexpr int largest_batch = 100'000'000;
constexpr std::size_t most_range_values = 1'000'000;

/// An axis of whole numbers.
struct NumberAxis {
  std::string_view key;
  std::vector<int> SearchSpace::*values;
  int least;
  int most;
};

constexpr std::array number_axes{
    NumberAxis{"training.global_batch", &SearchSpace::global_batch, 1, largest_batch},
    NumberAxis{"parallel.tensor", &SearchSpace::tensor, 1, largest_degree},
    NumberAxis{"parallel.pipeline", &SearchSpace::pipeline, 1, largest_degree},
    NumberAxis{"parallel.context", &SearchSpace::context, 1, largest_degree},
    NumberAxis{"parallel.expert", &SearchSpace::expert, 1, largest_degree},
    NumberAxis{"parallel.expert_tensor", &SearchSpace::expert_tensor, 0, largest_degree},
    NumberAxis{"parallel.virtual_stages", &SearchSpace::virtual_stages, 1, largest_degree},
    NumberAxis{"parallel.zero", &SearchSpace::zero, 0, 3},
    NumberAxis{"training.micro_batch", &SearchSpace::micro_batch, 1, largest_degree},
    NumberAxis{"parallel.data", &SearchSpace::data, 1, largest_degree}};

constexpr std::string_view schedule_key = "parallel.schedule";
constexpr std::string_view recompute_key = "memory.recompute";
constexpr std::string_view offload_key = "memory.offload";
constexpr std::string_view sequence_key = "parallel.sequence";
constexpr std::string_view order_key = "parallel.order";

/// Ascending, each once.
void join(std::vector<int>& axis, const std::vector<int>& more) {
  axis.insert(axis.end(), more.begin(), more.end());
  std::ranges::sort(axis);
  axis.erase(std::unique(axis.begin(), axis.end()), axis.end());
}

template <class T>
void refuse_repeats(const std::string& key, std::vector<T> values) {
  std::ranges::sort(values);
  const auto twice = std::adjacent_find(values.begin(), values.end());
  if (twice != values.end()) throw UsageError(fmt::format("{} lists {} twice", key, *twice));
}

template <class E>
E choice(const std::string& key, const std::string& text, std::vector<std::string> more = {}) {
  if (const auto value = from_name<E>(text)) return *value;
  for (const auto name : all_names<E>()) more.emplace_back(name);
  throw UsageError(key + ": " + in_quotes(text) + " is not one of " + joined(more) +
                   nearest_hint(text, more));
}

bool is_plain(const Recompute& recompute) {
  const Recompute plain{recompute.kind};
  return recompute.method == plain.method && recompute.layers == plain.layers &&
         recompute.modules == plain.modules &&
         recompute.every_second_matmul == plain.every_second_matmul &&
         recompute.distribute_saved == plain.distribute_saved;
}

RecomputeChoice plain_recompute(RecomputeKind kind) {
  return {std::string(name_of(kind)), Recompute{kind}};
}

std::vector<RecomputeChoice> recompute_choices(const Job& job) {
  std::vector<RecomputeChoice> choices{plain_recompute(RecomputeKind::none),
                                       plain_recompute(RecomputeKind::selective),
                                       plain_recompute(RecomputeKind::full)};
  const Recompute& own = job.memory.recompute;
  if (own.kind != RecomputeKind::none && !is_plain(own)) choices.push_back({"given", own, true});
  return choices;
}

std::vector<std::string> texts(const std::vector<int>& values) {
  std::vector<std::string> result;
  for (const int value : values) result.push_back(std::to_string(value));
  return result;
}

std::vector<std::string> axis_keys() {
  std::vector<std::string> keys{"cluster.hosts"};
  for (const NumberAxis& axis : number_axes) keys.emplace_back(axis.key);
  keys.emplace_back(schedule_key);
  keys.emplace_back(recompute_key);
  keys.emplace_back(offload_key);
  keys.emplace_back(sequence_key);
  keys.emplace_back(order_key);
  return keys;
}

RankOrder order_of(const std::string& text) {
  std::vector<std::string> known;
  for (const RankOrder& order : {data_in_stage, stages_in_replica}) {
    known.push_back(rank_order_text(order));
    if (known.back() == text) return order;
  }
  throw UsageError(std::string(order_key) + ": " + in_quotes(text) + " is not one of " +
                   joined(known) + nearest_hint(text, known));
}

bool truth_of(const std::string& key, const std::string& text) {
  if (text != "true" && text != "false")
    throw UsageError(key + ": " + in_quotes(text) + " is neither true nor false");
  return text == "true";
}

/// Axes whose values are words.
void set_word_axis(SearchSpace& space, const Job& job, const std::string& key,
                   const std::vector<std::string>& parts) {
  if (key == schedule_key) {
    space.schedule.clear();
    for (const std::string& part : parts) space.schedule.push_back(choice<ScheduleKind>(key, part));
  } else if (key == offload_key) {
    space.offload.clear();
    for (const std::string& part : parts) space.offload.push_back(choice<OffloadKind>(key, part));
  } else if (key == sequence_key) {
    space.sequence.clear();
    for (const std::string& part : parts) space.sequence.push_back(truth_of(key, part));
  } else if (key == order_key) {
    space.order.clear();
    for (const std::string& part : parts) space.order.push_back(order_of(part));
  } else if (key == recompute_key) {
    const RecomputeChoice given = recompute_choices(job).back();
    space.recompute.clear();
    for (const std::string& part : parts)
      space.recompute.push_back(part == "given" && given.given
                                    ? given
                                    : plain_recompute(choice<RecomputeKind>(key, part)));
  } else {
    throw UsageError(in_quotes(key) + " is not an axis of the search (axes: " +
                     joined(axis_keys()) + ")" + nearest_hint(key, axis_keys()));
  }
}

/// Refuses lists of data ranks that no choice of the other sizes leaves on any machine.
void refuse_contradictory_sizes(const SearchSpace& space) {
  if (space.data.empty()) return;
  const std::set<std::int64_t> listed(space.data.begin(), space.data.end());
  for (const Cluster& machine : space.machines)
    for (const int tensor : space.tensor)
      for (const int pipeline : space.pipeline)
        for (const int context : space.context) {
          const std::int64_t model = replica_ranks(tensor, context, pipeline);
          if (machine.gpus() % model == 0 && listed.count(machine.gpus() / model) > 0) return;
        }
  throw UsageError(
      "parallel.data contradicts the machine: no tensor x pipeline x context x data of the values "
      "that are tried is the number of its GPUs");
}

}  // namespace

SearchSpace default_space(const Job& job) {
  SearchSpace space;
  space.machines = {job.cluster};
  space.global_batch = {job.training.global_batch};
  space.expert_tensor = {job.parallel.expert_tensor};
  space.virtual_stages = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16};
  space.schedule = common_schedules();
  space.zero = {job.parallel.zero};
  space.offload = {job.memory.offload};
  if (fine_tunes(job)) {
    if (job.cluster.gpus() > 1) space.zero = {0, 1, 2, 3};
    space.offload = {OffloadKind::none, OffloadKind::optimizer};
  }
  space.recompute = recompute_choices(job);
  space.sequence = {job.parallel.sequence || job.parallel.tensor == 1};
  space.order = {job.parallel.order};
  set_sizes(space, job);
  return space;
}

void set_sizes(SearchSpace& space, const Job& job) {
  for (auto* axis :
       {&space.tensor, &space.pipeline, &space.context, &space.expert, &space.micro_batch})
    axis->clear();
  Job on = job;
  for (const Cluster& machine : space.machines)
    for (const int batch : space.global_batch) {
      on.cluster = machine;
      on.training.global_batch = batch;
      const PlanSizes sizes = plan_sizes(on);
      join(space.tensor, sizes.tensor);
      join(space.pipeline, sizes.pipeline);
      join(space.context, sizes.context);
      join(space.expert, sizes.expert);
      join(space.micro_batch, sizes.micro_batch);
    }
}

namespace {

int bounded_number(const std::string& key, const std::string& text, int least, int most) {
  const auto value = whole_number(text);
  if (!value || *value < least || *value > most)
    throw UsageError(fmt::format("{}: {} is not a whole number from {} to {}", key, in_quotes(text),
                                 least, with_thousands(most)));
  return static_cast<int>(*value);
}

/// Twice the first number and so on, and the last: "2..12" is 2, 4, 8, 12.
std::vector<std::int64_t> doubling(const NumberRange& range) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = range.first; value < range.last;
       value = std::max<std::int64_t>(2 * value, 1))
    values.push_back(value);
  values.push_back(range.last);
  return values;
}

std::vector<int> range_of(const std::string& key, const std::string& text, int least, int most) {
  const auto range = number_range(text);
  if (!range)
    throw UsageError(
        fmt::format("{}: {} is not a range such as 2..16 (doubling), 2..16+2 or 1..27*3", key,
                    in_quotes(text)));
  for (const std::int64_t end : {range->first, range->last})
    static_cast<void>(bounded_number(key, std::to_string(end), least, most));
  const bool doubles = range->way == NumberRange::Way::plain && range->first < range->last;
  const auto numbers = doubles
                           ? doubling(*range)
                           : numbers_of(*range, key + ": " + in_quotes(text), most_range_values);
  return {numbers.begin(), numbers.end()};
}

}  // namespace

std::vector<int> whole_numbers(const std::string& key, const std::string& list, int least,
                               int most) {
  std::vector<int> values;
  for (const std::string& part : split_at(list, ',')) {
    if (part.find("..") == std::string::npos) {
      values.push_back(bounded_number(key, part, least, most));
    } else {
      const std::vector<int> range = range_of(key, part, least, most);
      values.insert(values.end(), range.begin(), range.end());
    }
  }
  refuse_repeats(key, values);
  return values;
}

void set_axis(SearchSpace& space, const Job& job, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string key = text.substr(0, equals);
  if (equals == std::string::npos)
    throw UsageError(in_quotes(text) + " is not KEY=VALUE,VALUE,..., as in parallel.tensor=4,8");
  const std::string list = text.substr(equals + 1);
  for (const NumberAxis& axis : number_axes) {
    if (axis.key != key) continue;
    space.*(axis.values) = whole_numbers(key, list, axis.least, axis.most);
    return;
  }
  const std::vector<std::string> parts = split_at(list, ',');
  refuse_repeats(key, parts);
  set_word_axis(space, job, key, parts);
}

bool has_parts(const SearchSpace& space) {
  return std::ranges::any_of(space.machines, [&](const Cluster& machine) {
    return machine.host.gpus != space.machines.front().host.gpus;
  });
}

std::vector<std::pair<std::string, std::vector<std::string>>> axes_of(const SearchSpace& space) {
  std::vector<std::pair<std::string, std::vector<std::string>>> axes(1);
  axes[0].first = "cluster.hosts";
  for (const Cluster& machine : space.machines)
    axes[0].second.push_back(std::to_string(machine.hosts));
  if (has_parts(space)) {
    axes.emplace_back("cluster.gpus_per_host", std::vector<std::string>{});
    for (const Cluster& machine : space.machines)
      axes.back().second.push_back(std::to_string(machine.host.gpus));
  }
  for (const NumberAxis& axis : number_axes)
    if ((axis.values != &SearchSpace::data || !space.data.empty()) &&
        (axis.values != &SearchSpace::expert_tensor || space.expert_tensor != std::vector<int>{0}))
      axes.emplace_back(axis.key, texts(space.*(axis.values)));
  std::vector<std::string> schedules;
  for (const ScheduleKind kind : space.schedule) schedules.emplace_back(name_of(kind));
  axes.emplace_back(schedule_key, schedules);
  std::vector<std::string> recompute;
  for (const RecomputeChoice& way : space.recompute) recompute.push_back(way.name);
  axes.emplace_back(recompute_key, recompute);
  std::vector<std::string> offload;
  for (const OffloadKind kind : space.offload) offload.emplace_back(name_of(kind));
  if (offload != std::vector<std::string>{"none"}) axes.emplace_back(offload_key, offload);
  if (space.sequence.size() > 1)
    axes.emplace_back(sequence_key, std::vector<std::string>{"true", "false"});
  std::vector<std::string> orders;
  for (const RankOrder& order : space.order) orders.push_back(rank_order_text(order));
  if (orders.size() != 1) axes.emplace_back(order_key, orders);
  return axes;
}

void check_space(const SearchSpace& space) {
  double combinations = 1.0;
  for (const auto& [key, values] : axes_of(space)) {
    if (values.empty()) throw UsageError(key + " has no value to try");
    if (key != "parallel.data") combinations *= static_cast<double>(values.size());
  }
  const double blocks = combinations / static_cast<double>(space.block());
  if (combinations > static_cast<double>(most_combinations) ||
      blocks > static_cast<double>(most_blocks))
    throw UsageError(
        fmt::format("the space has {} combinations in {} blocks; at most {} in {} can be searched: "
                    "list fewer values",
                    significant_text(combinations), significant_text(blocks),
                    with_thousands(most_combinations), with_thousands(most_blocks)));
  refuse_contradictory_sizes(space);
}

}  // namespace foretrain
