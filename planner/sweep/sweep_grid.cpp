// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "calibration/imports/record_text.hpp"
#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "models/inputs/schedule_kind.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/sections/scenario_fields.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {
namespace {

/// Cuts at `separator` outside of brackets and quotes.
std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == separator && depth == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  for (std::string& part : parts) part = std::string(trimmed(part));
  return parts;
}

std::string where(const std::string& axis, const std::string& item) {
  return "--vary " + axis + ": " + in_quotes(item);
}

void check_keys(const std::vector<std::string>& keys) {
  std::vector<std::string> known;
  for (const Field& field : scenario_fields().fields())
    if (field.path.find("[]") == std::string::npos) known.push_back(field.path);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (scenario_fields().find(keys[i]) == nullptr)
      throw UsageError("--vary: " + in_quotes(keys[i]) + " is not a key of a scenario" +
                       nearest_hint(keys[i], known));
    for (std::size_t j = 0; j < i; ++j) {
      if (keys[i] == keys[j]) throw UsageError("--vary: " + keys[i] + " is varied twice");
      const std::string& outer = keys[i].size() < keys[j].size() ? keys[i] : keys[j];
      const std::string& inner = keys[i].size() < keys[j].size() ? keys[j] : keys[i];
      if (inner.starts_with(outer + "."))
        throw UsageError(fmt::format("--vary: {} holds {}; vary one of them", outer, inner));
    }
  }
}

void refuse_repeats(const SweepAxis& axis) {
  std::vector<std::vector<std::string>> sorted = axis.values;
  std::ranges::sort(sorted);
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw UsageError(fmt::format("--vary {}: {} is listed twice", fmt::join(axis.keys, ","),
                                 in_quotes(fmt::format("{}", fmt::join(*twice, ":")))));
}

}  // namespace

SweepAxis parse_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError("--vary " + in_quotes(text) +
                     " is not KEY=VALUE,VALUE,..., as in parallel.tensor=1,2,4,8");
  SweepAxis axis;
  axis.keys = split(std::string_view(text).substr(0, equals), ',');
  const std::string name = text.substr(0, equals);
  const std::string list(trimmed(text.substr(equals + 1)));
  if (list.empty()) throw UsageError("--vary " + name + " has no value to try");
  for (const std::string& item : split(list, ',')) {
    if (item.empty()) throw UsageError("--vary " + name + ": a value is empty");
    if (axis.keys.size() == 1) {
      if (const auto range = number_range(item))
        for (const std::int64_t number : numbers_of(*range, where(name, item), most_steps))
          axis.values.push_back({std::to_string(number)});
      else
        axis.values.push_back({item});
    } else {
      axis.values.push_back(split(item, ':'));
      const auto& step = axis.values.back();
      if (step.size() != axis.keys.size() ||
          std::ranges::any_of(step, [](const auto& part) { return part.empty(); }))
        throw UsageError(fmt::format("{} must give {} values with ':' between them",
                                     where(name, item), axis.keys.size()));
    }
    if (axis.values.size() > most_steps)
      throw UsageError(fmt::format("--vary {}: more than {} values", name,
                                   with_thousands(static_cast<std::int64_t>(most_steps))));
  }
  refuse_repeats(axis);
  return axis;
}

SweepGrid make_grid(const std::vector<std::string>& axes) {
  SweepGrid grid;
  double points = 1.0;
  for (const std::string& axis : axes) {
    grid.axes.push_back(parse_axis(axis));
    points *= static_cast<double>(grid.axes.back().values.size());
  }
  check_keys(grid.keys());
  if (points > static_cast<double>(most_points))
    throw UsageError(
        fmt::format("the grid has {} points; at most {} can be swept: list fewer "
                    "values, or split it",
                    significant_text(points), with_thousands(most_points)));
  return grid;
}

std::vector<FollowingKey> following_keys(bool sequence, const std::string& virtual_stages,
                                         const std::string& schedule) {
  std::vector<FollowingKey> following;
  if (sequence) following.push_back({"parallel.tensor", "parallel.sequence", "true", "false"});
  if (virtual_stages == "1") return following;
  following.push_back({"parallel.pipeline", "parallel.virtual_stages", virtual_stages, "1"});
  following.push_back(
      {"parallel.pipeline", "parallel.schedule", schedule, std::string(name_of(default_schedule))});
  return following;
}

std::vector<FollowingKey> follow_axes(SweepGrid& grid, const std::vector<FollowingKey>& following,
                                      const std::vector<std::string>& settled) {
  std::vector<FollowingKey> added;
  const auto among = [](const std::vector<std::string>& keys, const std::string& key) {
    return contains(keys, key);
  };
  for (const FollowingKey& one : following)
    for (SweepAxis& axis : grid.axes) {
      const auto place = std::ranges::find(axis.keys, one.of);
      if (place == axis.keys.end() || among(grid.keys(), one.key) || among(settled, one.key))
        continue;
      const auto at = static_cast<std::size_t>(place - axis.keys.begin());
      const auto is_alone = [at](const auto& step) { return step[at] == "1"; };
      if (std::ranges::none_of(axis.values, is_alone)) continue;
      axis.keys.push_back(one.key);
      for (auto& step : axis.values) step.push_back(is_alone(step) ? one.alone : one.value);
      added.push_back(one);
    }
  return added;
}

std::int64_t SweepGrid::size() const {
  std::int64_t points = 1;
  for (const SweepAxis& axis : axes) points *= static_cast<std::int64_t>(axis.values.size());
  return points;
}

std::vector<std::string> SweepGrid::keys() const {
  std::vector<std::string> result;
  for (const SweepAxis& axis : axes)
    result.insert(result.end(), axis.keys.begin(), axis.keys.end());
  return result;
}

std::vector<FamilyKey> SweepGrid::family_keys() const {
  std::vector<FamilyKey> result;
  for (const SweepAxis& axis : axes)
    for (std::size_t key = 0; key < axis.keys.size(); ++key) {
      result.push_back({axis.keys[key], {}});
      for (const auto& step : axis.values) result.back().values.push_back(step[key]);
    }
  return result;
}

void SweepGrid::choose(std::int64_t point, std::vector<std::size_t>& chosen) const {
  FORETRAIN_REQUIRE(point >= 0 && point < size());
  chosen.clear();
  auto rest = static_cast<std::size_t>(point);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    chosen.insert(chosen.end(), axis->keys.size(), rest % axis->values.size());
    rest /= axis->values.size();
  }
  std::ranges::reverse(chosen);
}

}  // namespace foretrain
