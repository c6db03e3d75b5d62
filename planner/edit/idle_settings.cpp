// SPDX-License-Identifier: Apache-2.0
#include "planner/edit/idle_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "planner/edit/yaml_edit.hpp"
#include "planner/forecast/quick_forecast.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/text/json.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

/// What says who asks and for what, and is no input of the forecast.
/// How other engines simulate belongs to them.
constexpr std::array about{"schema", "name",       "extends",
                           "budget", "simulation", "operations.prices_as_of"};

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

/// A forecast, its input apart.
struct Said {
  Json input;
  Json figures;
};

Said said_by(const Report& report) {
  Said said{nullptr, Json::parse(report_json(report))};
  said.input = std::move(said.figures["scenario"]);
  said.figures.erase("scenario");
  return said;
}

/// Without what a report adds: percentiles and power over time.
Said said_early(const Scenario& scenario, AttentionFlops convention, EngineKind engine) {
  Report report;
  report.scenario = scenario;
  report.prediction = forecast_job(scenario.job, convention, engine);
  return said_by(report);
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
      : convention_{convention},
        engine_{engine},
        resolved_{report.scenario},
        early_{said_early(report.scenario, convention, engine)},
        whole_{said_by(report)} {}

  /// Whether `path` has another value in `without`, and the forecast is the same all the same.
  [[nodiscard]] bool changes_nothing(const std::string& path,
                                     const std::optional<Scenario>& without) const {
    if (!without || without->job.memory.recompute.kind == RecomputeKind::unknown) return false;
    if (value_of(*without, path) == value_of(resolved_, path)) return false;
    const Said early = said_early(*without, convention_, engine_);
    if (early.input == early_.input || early.figures != early_.figures) return false;
    return said_by(evaluate(*without, convention_, engine_)).figures == whole_.figures;
  }

 private:
  AttentionFlops convention_;
  EngineKind engine_;
  const Scenario& resolved_;
  Said early_;
  Said whole_;
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
      {no_effect_id, fmt::format("no effect on this forecast: {}", fmt::join(idle, "; "))});
}

}  // namespace foretrain
