// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep_choices.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "models/base/require.hpp"
#include "models/grid/process_grid.hpp"
#include "planner/search/plan_cloud.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

constexpr std::string_view tensor_key = "parallel.tensor";
constexpr std::string_view data_key = "parallel.data";
constexpr std::string_view hosts_key = "cluster.hosts";
constexpr std::string_view batch_key = "training.global_batch";

/// A number halved and doubled twice, as far as it stays whole.
SweepChoice around(std::string_view key, int own) {
  SweepChoice choice{std::string(key), {}, std::to_string(own)};
  for (const int divisor : {4, 2})
    if (own % divisor == 0) choice.values.push_back(std::to_string(own / divisor));
  for (const int factor : {1, 2, 4})
    if (own <= (1 << 28)) choice.values.push_back(std::to_string(own * factor));
  return choice;
}

/// Values of the keys that the split of the machine depends on.
struct Split {
  std::int64_t gpus = 0;
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  std::int64_t pipeline = 1;
};

void apply(Split& split, const Job& job, const std::string& key, const std::string& text) {
  std::int64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) return;
  if (key == tensor_key) split.tensor = value;
  if (key == "parallel.context") split.context = value;
  if (key == "parallel.pipeline") split.pipeline = value;
  if (key == hosts_key) split.gpus = value * job.cluster.host.gpus;
}

std::string own_value(const Scenario& scenario, const std::string& key) {
  const auto found = std::ranges::find_if(
      scenario.values, [&](const ResolvedValue& value) { return value.path == key; });
  return found == scenario.values.end() ? "" : found->value;
}

/// "key=a,b,c".
std::string axis_text(const SweepChoice& choice) {
  std::string text = choice.key + "=";
  for (std::size_t i = 0; i < choice.values.size(); ++i)
    text += (i > 0 ? "," : "") + choice.values[i];
  return text;
}

std::vector<FollowingKey> following_of(const Parallel& plan) {
  return following_keys(plan.sequence, std::to_string(plan.virtual_stages),
                        std::string(name_of(plan.schedule)));
}

}  // namespace

std::vector<SweepChoice> sweep_choices(const Scenario& scenario) {
  std::vector<SweepChoice> choices;
  for (auto& [key, values] : axes_of(cloud_space(scenario))) {
    std::erase(values, "given");  // has no value to write
    if (values.size() < 2 || key == hosts_key || key == batch_key || key == "parallel.sequence")
      continue;
    choices.push_back({key, values, own_value(scenario, key)});
  }
  choices.push_back(around(batch_key, scenario.job.training.global_batch));
  choices.push_back(around(hosts_key, scenario.job.cluster.hosts));
  return choices;
}

SweepQuestion sweep_of_map(const Scenario& scenario, const MapQuestion& map) {
  FORETRAIN_REQUIRE(map.columns.key != map.rows.key);
  SweepQuestion question;
  question.base = {scenario.source.text, scenario.path, scenario.source.folder,
                   scenario.source.options};
  question.base.options.left_out = {std::string(data_key)};
  question.grid = make_grid({axis_text(map.rows), axis_text(map.columns)});
  follow_axes(question.grid, following_of(scenario.job.parallel), {});
  question.metrics = {map.metric};
  question.program = version;
  return question;
}

std::vector<std::string> map_settings(const Scenario& scenario, const MapQuestion& map,
                                      std::size_t column, std::size_t row) {
  const Job& job = scenario.job;
  const Parallel& plan = job.parallel;
  Split split{job.cluster.gpus(), plan.tensor, plan.context, plan.pipeline};
  std::vector<std::string> settings;
  const auto add = [&](const SweepChoice& axis, std::size_t step) {
    const std::string& value = axis.values[step];
    settings.push_back(axis.key + "=" + value);
    apply(split, job, axis.key, value);
    for (const FollowingKey& one : following_of(plan))
      if (one.of == axis.key && one.key != map.rows.key && one.key != map.columns.key)
        settings.push_back(one.key + "=" + (value == "1" ? one.alone : one.value));
  };
  add(map.rows, row);
  add(map.columns, column);
  const std::int64_t replica = replica_ranks(split.tensor, split.context, split.pipeline);
  if (replica > 0 && split.gpus % replica == 0)
    settings.push_back(std::string(data_key) + "=" + std::to_string(split.gpus / replica));
  return settings;
}

}  // namespace foretrain
