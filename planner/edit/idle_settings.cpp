// SPDX-License-Identifier: Apache-2.0
#include "planner/edit/idle_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "planner/edit/yaml_edit.hpp"
#include "planner/forecast/quick_forecast.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/serving/serving_study.hpp"
#include "planner/text/json.hpp"
#include "scenarios/sections/scenario_fields.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

/// What says who asks and for what, and is no input of the forecast.
constexpr std::array about{"schema", "name",     "extends",
                           "budget", "measured", "operations.prices_as_of"};

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

/// Numbers, reasons and warnings, without what they repeat of the input.
Json figures_in(const std::string& json) {
  Json figures = Json::parse(json);
  for (const char* input : {"scenario", "name", "seed", "engine", "algorithm"})
    figures.erase(input);
  for (const char* pool : {"serve", "prefill"})
    if (const auto found = figures.find(pool); found != figures.end() && found->is_object())
      for (const char* limit : {"sequences", "token_budget", "mixed_steps"}) found->erase(limit);
  return figures;
}

/// Other values of a key, as a user would write them; not all of them need be legal.
std::vector<std::string> other_values(const Field& field, const std::string& value) {
  if (field.kind == FieldKind::boolean) return {value == "true" ? "false" : "true"};
  std::vector<std::string> others = field.choices;
  std::erase(others, value);
  double number = 0.0;
  const char* const end = value.data() + value.size();
  const auto [unit, error] = std::from_chars(value.data(), end, number);
  if (field.kind == FieldKind::text || error != std::errc{}) return others;
  for (const double other : {2.0 * number, number / 2.0, number + 1.0, 16.0 * number})
    if (other != number) others.push_back(fmt::format("{}{}", other, std::string(unit, end)));
  return others;
}

/// The scenario with another text or other overrides; nothing where that is none.
std::optional<Scenario> reread(const Scenario& scenario, const std::string& text,
                               const LoadOptions& options) {
  try {
    Scenario read = load_scenario_text(text, scenario.path, scenario.source.folder, options);
    if (read.work == scenario.work) return read;
  } catch (const ScenarioError&) {
    // It cannot do without the key, or the value is not legal.
  }
  return std::nullopt;
}

class Turning {
 public:
  Turning(const Report& report, AttentionFlops convention, EngineKind engine,
          const std::atomic<bool>* stop)
      : convention_{convention},
        engine_{engine},
        stop_{stop},
        scenario_{report.scenario},
        early_(early(report.scenario, few)),
        later_(early(report.scenario, all)),
        whole_(figures_of(report)) {}

  /// Whether the forecast is the same without the key at `path`, or, where that is its default,
  /// with every other value that can be tried. A key that the scenario needs is none.
  [[nodiscard]] bool is_idle(const std::string& path,
                             const std::optional<Scenario>& without) const {
    if (!without) return false;
    if (const auto same = stays(path, *without)) return *same;
    const Field* const field = scenario_fields().find(path);
    if (field == nullptr) return false;
    bool tried = false;
    for (const std::string& other : other_values(*field, value_of(scenario_, path))) {
      LoadOptions options = scenario_.source.options;
      options.overrides.push_back(path + "=" + other);
      const auto turned = reread(scenario_, scenario_.source.text, options);
      const auto same = turned ? stays(path, *turned) : std::nullopt;
      if (same == false) return false;
      tried = tried || same.has_value();
    }
    return tried;
  }

 private:
  /// Whether the forecast is the same; nothing where `path` has no other value in `turned`.
  [[nodiscard]] std::optional<bool> stays(const std::string& path, const Scenario& turned) const {
    if (turned.job.memory.recompute.kind == RecomputeKind::unknown) return std::nullopt;
    if (value_of(turned, path) == value_of(scenario_, path)) return std::nullopt;
    return early(turned, few) == early_ && early(turned, all) == later_ &&
           figures_of(evaluate(turned, convention_, engine_, stop_)) == whole_;
  }

  static Json figures_of(const Report& report) {
    return figures_in(report.study ? report.study->json : report_json(report));
  }

  static constexpr int few = 100;
  static constexpr int all = std::numeric_limits<int>::max();

  /// What most keys move, in a part of the time: training without percentiles and power over time,
  /// serving without its band, of the first requests; nothing where the whole takes no longer.
  [[nodiscard]] Json early(const Scenario& scenario, int requests) const {
    Report report;
    report.scenario = scenario;
    if (scenario.work == Work::training && requests == few) {
      report.prediction = forecast_job(scenario.job, convention_, engine_);
      return figures_of(report);
    }
    if (scenario.work != Work::serving) return nullptr;
    ServingPlan plan = *scenario.serving;
    if (requests == few) {
      plan.warm_up = {};
      plan.load.requests = plan.load.requests > 0 ? std::min(plan.load.requests, few) : few;
      plan.load.trace.resize(std::min<std::size_t>(plan.load.trace.size(), few));
    }
    const ReadyServing ready = ready_serving(scenario, plan, scenario.job.cluster);
    return figures_in(serving_json(study_serving(scenario, ready, stop_)));
  }

  AttentionFlops convention_;
  EngineKind engine_;
  const std::atomic<bool>* stop_;
  const Scenario& scenario_;
  Json early_;
  Json later_;
  Json whole_;
};

/// Keys of a map that was set as a whole.
std::vector<ResolvedValue> set_below(const Scenario& scenario, const std::string& path) {
  const std::string group = path + ".";
  std::vector<ResolvedValue> set;
  for (const ResolvedValue& value : scenario.values)
    if (value.path.starts_with(group) && value.origin.starts_with("--set")) set.push_back(value);
  return set;
}

}  // namespace

std::vector<std::string> idle_settings(const Report& report, AttentionFlops convention,
                                       EngineKind engine, const std::atomic<bool>* stop) {
  const Scenario& scenario = report.scenario;
  std::vector<std::string> idle;
  if (scenario.source.text.empty()) return idle;
  if (scenario.job.memory.recompute.kind == RecomputeKind::unknown) return idle;
  if (report.study && (report.study->stopped || !report.study->reasons.empty())) return idle;
  const Turning turning{report, convention, engine, stop};
  const auto& [text, folder, options] = scenario.source;
  const auto ask = [&](const std::string& path, const std::string& setting, const std::string& less,
                       const LoadOptions& fewer) {
    if (turning.is_idle(path, reread(scenario, less, fewer))) idle.push_back(setting);
  };
  for (std::size_t at = 0; at < options.overrides.size(); ++at) {
    const std::string& setting = options.overrides[at];
    const std::string path = setting.substr(0, setting.find('='));
    LoadOptions fewer = options;
    fewer.overrides.erase(fewer.overrides.begin() + static_cast<std::ptrdiff_t>(at));
    if (is_input(path)) ask(path, setting, text, fewer);
    for (const ResolvedValue& value : set_below(scenario, path)) {
      fewer = options;
      fewer.overrides.push_back(value.path + "=null");
      ask(value.path, value.path + "=" + value.value, text, fewer);
    }
  }
  for (const ResolvedValue& value : scenario.values) {
    if (!is_input(value.path) || !value.origin.starts_with(scenario.path + ":")) continue;
    const TextEdit edit = remove_value(text, value.path);
    if (edit.text) ask(value.path, value.path + "=" + value.value, *edit.text, options);
  }
  return idle;
}

void warn_of_idle_settings(AttentionFlops convention, EngineKind engine, Report& report,
                           const std::atomic<bool>* stop) {
  const std::vector<std::string> idle = idle_settings(report, convention, engine, stop);
  if (idle.empty()) return;
  const std::string settings = fmt::format("{}", fmt::join(idle, "; "));
  const Warning warning{no_effect_id, "no effect on this forecast: " + settings};
  if (!report.study) return report.prediction.warnings.push_back(warning);
  AnswerFacts facts;
  facts.add("No effect", settings);
  report.study->answer.add("", std::move(facts));
  Json tree = Json::parse(report.study->json);
  tree["warnings"].push_back({{"id", warning.id}, {"message", warning.message}});
  report.study->json = dump(tree);
}

}  // namespace foretrain
