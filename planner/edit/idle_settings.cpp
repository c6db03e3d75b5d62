// SPDX-License-Identifier: Apache-2.0
#include "planner/edit/idle_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "planner/edit/yaml_edit.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/text/json.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

/// What says who asks and for what, and is no input of the forecast.
constexpr std::array about{"schema", "name", "extends", "budget", "operations.prices_as_of"};

bool is_input(std::string_view path) {
  return std::none_of(about.begin(), about.end(), [&](std::string_view name) {
    return path == name ||
           (path.starts_with(name) && (path[name.size()] == '.' || path[name.size()] == '['));
  });
}

std::string value_of(const Scenario& scenario, std::string_view path) {
  for (const ResolvedValue& value : scenario.values)
    if (value.path == path) return value.value;
  return {};
}

/// All that a forecast says but its input.
std::string figures_of(const Report& report) {
  Json tree = Json::parse(report_json(report));
  tree.erase("scenario");
  return tree.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The scenario with another text or other overrides; nothing where that is none.
std::optional<Scenario> reread(const Scenario& scenario, const std::string& text,
                               const LoadOptions& options) {
  try {
    Scenario read = load_scenario_text(text, scenario.path, scenario.source.folder, options);
    if (read.work == Work::training) return read;
  } catch (const ScenarioError&) {
    // It cannot do without the key.
  }
  return std::nullopt;
}

class Leaving {
 public:
  Leaving(const Report& report, AttentionFlops convention, EngineKind engine)
      : report_{report}, convention_{convention}, engine_{engine}, figures_{figures_of(report)} {}

  /// Whether `path` has another value in `without`, and the forecast is the same all the same.
  [[nodiscard]] bool changes_nothing(const std::string& path,
                                     const std::optional<Scenario>& without) const {
    if (!without || value_of(*without, path) == value_of(report_.scenario, path)) return false;
    if (without->job.memory.recompute.kind == RecomputeKind::unknown) return false;
    return figures_of(evaluate(*without, convention_, engine_)) == figures_;
  }

 private:
  const Report& report_;
  AttentionFlops convention_;
  EngineKind engine_;
  std::string figures_;
};

/// Overrides, each left out in turn.
void add_overrides(const Scenario& scenario, const Leaving& leaving,
                   std::vector<std::string>& idle) {
  const LoadOptions& options = scenario.source.options;
  for (std::size_t at = 0; at < options.overrides.size(); ++at) {
    const std::string& setting = options.overrides[at];
    const std::string path = setting.substr(0, setting.find('='));
    if (!is_input(path)) continue;
    LoadOptions fewer = options;
    fewer.overrides.erase(fewer.overrides.begin() + static_cast<std::ptrdiff_t>(at));
    if (leaving.changes_nothing(path, reread(scenario, scenario.source.text, fewer)))
      idle.push_back(setting);
  }
}

/// Keys of the file itself, each taken out in turn.
void add_file_keys(const Scenario& scenario, const Leaving& leaving,
                   std::vector<std::string>& idle) {
  for (const ResolvedValue& value : scenario.values) {
    if (!is_input(value.path) || !value.origin.starts_with(scenario.path + ":")) continue;
    const TextEdit edit = remove_value(scenario.source.text, value.path);
    if (edit.text &&
        leaving.changes_nothing(value.path, reread(scenario, *edit.text, scenario.source.options)))
      idle.push_back(value.path + "=" + value.value);
  }
}

}  // namespace

std::vector<std::string> idle_settings(const Report& report, AttentionFlops convention,
                                       EngineKind engine) {
  const Scenario& scenario = report.scenario;
  std::vector<std::string> idle;
  if (scenario.source.text.empty() || scenario.work != Work::training) return idle;
  if (scenario.job.memory.recompute.kind == RecomputeKind::unknown) return idle;
  const Leaving leaving{report, convention, engine};
  add_overrides(scenario, leaving, idle);
  add_file_keys(scenario, leaving, idle);
  return idle;
}

void warn_of_idle_settings(AttentionFlops convention, EngineKind engine, Report& report) {
  const std::vector<std::string> idle = idle_settings(report, convention, engine);
  if (idle.empty()) return;
  report.prediction.warnings.push_back(
      {"no-effect", fmt::format("no effect on this forecast: {}", fmt::join(idle, ", "))});
}

}  // namespace foretrain
