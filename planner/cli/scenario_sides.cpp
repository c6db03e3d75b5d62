// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/scenario_sides.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>

#include "planner/cli/terminal.hpp"
#include "planner/page/compare.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

constexpr std::size_t most_sides = 26;

/// The side that "B:parallel.tensor=4" changes; nothing for "parallel.tensor=4".
std::optional<std::size_t> side_of(const std::string& setting) {
  if (setting.size() < 2 || setting[1] != ':' || setting[0] < 'A' || setting[0] > 'Z')
    return std::nullopt;
  return static_cast<std::size_t>(setting[0] - 'A');
}

std::vector<ScenarioOptions> sides_of(const std::vector<std::string>& files,
                                      const ScenarioOptions& options) {
  std::size_t count = files.size();
  std::size_t named = 0;
  for (const std::string& setting : options.overrides)
    if (const auto side = side_of(setting)) named = std::max(named, *side + 1);
  // One file is compared with itself, changed.
  if (count == 1) count = std::max(named, count);
  if (named > count)
    throw UsageError("--set " + side_name(named - 1) + ":... names a side that is not there");
  if (count > most_sides) throw UsageError("up to 26 scenarios can be compared");
  std::vector<ScenarioOptions> sides;
  for (std::size_t side = 0; side < count; ++side) {
    ScenarioOptions own{files[std::min(side, files.size() - 1)], {}, options.folders, options.root};
    for (const std::string& setting : options.overrides) {
      const auto only = side_of(setting);
      if (!only) own.overrides.push_back(setting);
      if (only && *only == side) own.overrides.push_back(setting.substr(2));
    }
    sides.push_back(std::move(own));
  }
  return sides;
}

}  // namespace

std::vector<Scenario> read_sides(const std::vector<std::string>& files,
                                 const ScenarioOptions& options) {
  std::optional<std::string> standard_input;  // can be read only once
  std::vector<Scenario> scenarios;
  for (const ScenarioOptions& side : sides_of(files, options)) {
    if (side.file != "-") {
      scenarios.push_back(read_scenario(side, Purpose::any));
      continue;
    }
    if (!standard_input) standard_input = read_standard_input();
    LoadOptions wanted = load_options(side);
    wanted.purpose = Purpose::any;
    scenarios.push_back(
        load_scenario_text(*standard_input, "<stdin>", std::filesystem::current_path(), wanted));
  }
  return scenarios;
}

}  // namespace foretrain
