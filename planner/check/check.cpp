// SPDX-License-Identifier: Apache-2.0
#include "planner/check/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "planner/answer/quantity.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

/// Of the move itself: the band of a step moves nearly as the step does.
constexpr double same_factor = 0.02;
constexpr double rounding = 1e-9;
constexpr std::size_t shown_parts = 4;

bool is_memory(std::string_view path) { return path.starts_with("memory."); }

/// What a number is a part of; empty for one that stands for itself.
std::string_view whole_of(std::string_view path) {
  if (path.starts_with("step.breakdown.")) return "step.time_s";
  if (path.starts_with("memory.stages.")) return "memory.peak_bytes";
  return {};
}

/// Logarithm of the factor that a number moved by.
std::optional<double> factor_of(const Drift& moved) {
  const auto change = moved.change();
  if (!change || *change <= -1.0) return std::nullopt;
  return std::log1p(*change);
}

int precedence(const Drift& moved) {
  if (moved.path == "step.time_s") return 0;
  return moved.path == "memory.peak_bytes" ? 1 : 2;
}

double amount(const Drift& moved) { return std::abs(*moved.after - *moved.before); }

/// Whether it became a part of a group.
bool add_part(const Drift& moved, std::vector<DriftGroup>& groups) {
  const std::string_view whole = whole_of(moved.path);
  if (whole.empty() || !moved.before || !moved.after) return false;
  for (DriftGroup& group : groups) {
    if (group.lead.path != whole) continue;
    group.parts.push_back(moved);
    return true;
  }
  return false;
}

/// Whether it joined a group of its factor.
bool join(const Drift& moved, std::vector<DriftGroup>& groups) {
  const auto factor = factor_of(moved);
  if (!factor) return false;
  for (DriftGroup& group : groups) {
    const auto lead = factor_of(group.lead);
    if (!lead || is_memory(group.lead.path) != is_memory(moved.path)) continue;
    const double near = std::max(rounding, same_factor * std::abs(*lead));
    const bool alike = std::abs(*factor - *lead) <= near;
    if (!alike && std::abs(*factor + *lead) > near) continue;
    (alike ? group.alike : group.inverse).push_back(moved);
    return true;
  }
  return false;
}

std::string names_of(const std::vector<Drift>& list) {
  std::string names;
  for (const Drift& moved : list) names += (names.empty() ? "" : ", ") + moved.path;
  return names;
}

/// Sums of a stage's parts say nothing beside these.
bool is_sum(const Drift& moved) {
  return moved.path.ends_with(".peak_bytes") || moved.path.ends_with(".allocated_bytes");
}

/// "tensor +252 ms, bubble -10.1 ms"
std::string parts_text(std::vector<Drift> parts) {
  std::erase_if(parts, is_sum);
  std::string text;
  for (std::size_t i = 0; i < std::min(shown_parts, parts.size()); ++i) {
    const Drift& part = parts[i];
    const std::string name = part.path.substr(part.path.rfind('.') + 1);
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", name.substr(0, name.rfind('_')),
                        *part.after < *part.before ? "-" : "+",
                        is_memory(part.path) ? bytes_text(Bytes{amount(part)})
                                             : seconds_text(Seconds{amount(part)}));
  }
  if (parts.size() > shown_parts) text += fmt::format(" and {} more", parts.size() - shown_parts);
  return text;
}

/// Numbers of a forecast that belong to the answer, not to the question or its sources.
bool is_answer(std::string_view path, int peak_stage) {
  if (path.starts_with("memory.stages."))
    return path.starts_with(fmt::format("memory.stages.{}.", peak_stage)) &&
           !path.ends_with(".stage");
  for (const char* group : {"memory.", "step.", "flops.", "run.", "cost."})
    if (path.starts_with(group)) return true;
  return path == "mfu" || path == "hfu" || path.starts_with("tokens_per_s") ||
         path == "model_tflops_per_gpu";
}

const std::optional<double>* value_at(const Baseline& baseline, const std::string& path) {
  const auto found =
      std::ranges::find_if(baseline.values, [&](const auto& entry) { return entry.first == path; });
  return found == baseline.values.end() ? nullptr : &found->second;
}

bool differs(const std::optional<double>& a, const std::optional<double>& b, double tolerance) {
  if (!a || !b) return a.has_value() != b.has_value();
  return std::abs(*a - *b) > tolerance * std::max(std::abs(*a), std::abs(*b));
}

/// Parts of the step are differences of times: what is left of one that is nothing is the rounding
/// of its step, and that depends on the compiler.
bool is_rounding(const std::string& path, const std::optional<double>& a,
                 const std::optional<double>& b, const Baseline& baseline) {
  constexpr double last_digits = 1e-12;
  if (!path.starts_with("step.breakdown.") || !a || !b) return false;
  const std::optional<double>* step = value_at(baseline, "step.time_s");
  return step != nullptr && *step && std::abs(*a - *b) <= last_digits * std::abs(**step);
}

void judge_baseline(CheckedScenario& checked, double tolerance) {
  const Baseline& before = *checked.baseline;
  const Baseline after = baseline_of(*checked.report);
  const auto violate = [&](std::string message) {
    checked.violations.push_back({Violation::Kind::baseline, 0, std::move(message)});
  };
  if (before.engine != after.engine)
    return violate("the baseline is by engine " + before.engine + ", not " + after.engine);
  if (before.rules != after.rules)
    violate(fmt::format(
        "was {}, and is {}",
        before.rules.empty() ? "feasible" : fmt::format("{}", fmt::join(before.rules, ", ")),
        after.rules.empty() ? "feasible" : fmt::format("{}", fmt::join(after.rules, ", "))));
  checked.drifts = drift(before, after, tolerance);
  for (const DriftGroup& group : grouped(checked.drifts)) violate(group.text());
}

Baseline baseline_of(const Study& study, Work work) {
  Baseline baseline{std::string(name_of(work)), {}, {}};
  for (const Infeasible& reason : study.reasons) baseline.rules.push_back(reason.rule);
  for (const StudyFigure& figure : study.figures)
    baseline.values.emplace_back(figure.path, figure.value);
  return baseline;
}

}  // namespace

std::string DriftGroup::text() const {
  std::string result = lead.text();
  if (!alike.empty()) result += "; likewise " + names_of(alike);
  if (!inverse.empty()) result += "; inversely " + names_of(inverse);
  if (const std::string told = parts_text(parts); !told.empty()) result += "; parts: " + told;
  return result;
}

std::vector<DriftGroup> grouped(const std::vector<Drift>& drifts) {
  std::vector<Drift> ordered = drifts;
  std::ranges::stable_sort(
      ordered, [](const Drift& a, const Drift& b) { return precedence(a) < precedence(b); });
  std::vector<DriftGroup> groups;
  for (const Drift& moved : ordered)
    if (!add_part(moved, groups) && !join(moved, groups)) groups.push_back({moved, {}, {}, {}});
  for (DriftGroup& group : groups)
    std::ranges::stable_sort(group.parts,
                             [](const Drift& a, const Drift& b) { return amount(a) > amount(b); });
  return groups;
}

std::string_view violation_name(Violation::Kind kind) {
  switch (kind) {
    case Violation::Kind::budget:
      return "budget";
    case Violation::Kind::baseline:
      return "baseline";
    case Violation::Kind::infeasible:
      return "infeasible";
    case Violation::Kind::unguarded:
      return "unguarded";
  }
  return "";
}

Baseline baseline_of(const Report& report) {
  if (report.study) return baseline_of(*report.study, report.scenario.work);
  const Json tree = known_tree(report);
  const Prediction& p = report.prediction;
  Baseline baseline;
  baseline.engine = name_of(p.engine);
  for (const Infeasible& reason : p.reasons) baseline.rules.push_back(reason.rule);
  for (const std::string& path : leaf_paths(tree)) {
    if (!is_answer(path, p.memory ? p.memory->peak_stage : 0)) continue;
    const Json& value = *find_path(tree, path);
    if (value.is_number())
      baseline.values.emplace_back(path, value.get<double>());
    else if (value.is_null())
      baseline.values.emplace_back(path, std::nullopt);
  }
  return baseline;
}

std::string baseline_json(const Baseline& baseline) {
  Json values = Json::object();
  for (const auto& [path, value] : baseline.values) values[path] = number_or_null(value);
  return dump({{"schema", "baseline/1"},
               {"engine", baseline.engine},
               {"rules", baseline.rules},
               {"values", std::move(values)}});
}

Baseline parse_baseline(const std::string& text, const std::string& name) {
  const Json tree = Json::parse(text, nullptr, false);
  const auto refuse = [&](const std::string& why) {
    throw ScenarioError(
        {{name, 0, 0, "", "is not a baseline: " + why + "; --update writes a new one"}});
  };
  if (!tree.is_object()) refuse("not a JSON object");
  if (!tree.contains("schema") || tree["schema"] != "baseline/1")
    refuse("its schema is not baseline/1");
  Baseline baseline;
  if (!tree.contains("engine") || !tree["engine"].is_string()) refuse("it has no engine");
  baseline.engine = tree["engine"];
  if (!tree.contains("rules") || !tree["rules"].is_array()) refuse("it has no rules");
  for (const Json& rule : tree["rules"]) {
    if (!rule.is_string()) refuse("a rule is not text");
    baseline.rules.push_back(rule);
  }
  if (!tree.contains("values") || !tree["values"].is_object()) refuse("it has no values");
  for (const auto& [path, value] : tree["values"].items()) {
    if (!value.is_number() && !value.is_null()) refuse(path + " is not a number");
    baseline.values.emplace_back(
        path, value.is_null() ? std::nullopt : std::optional(value.get<double>()));
  }
  return baseline;
}

std::optional<double> Drift::change() const {
  if (!before || !after || *before == 0.0) return std::nullopt;
  return *after / *before - 1.0;
}

std::string Drift::text() const {
  std::string result =
      path + ": " + quantity_text(path, before) + " -> " + quantity_text(path, after);
  const auto relative = change();
  if (!relative) return result;
  const double percent = 100.0 * *relative;
  return result + (std::abs(percent) < 0.1 ? fmt::format(" ({:+.2g} %)", percent)
                                           : fmt::format(" ({:+.1f} %)", percent));
}

std::vector<Drift> drift(const Baseline& before, const Baseline& after, double tolerance) {
  std::vector<Drift> result;
  for (const auto& [path, value] : after.values) {
    const std::optional<double>* old = value_at(before, path);
    if (old != nullptr && is_rounding(path, *old, value, after)) continue;
    // A number that the baseline has no row of is new in this version.
    if (old != nullptr && differs(*old, value, tolerance)) result.push_back({path, *old, value});
  }
  for (const auto& [path, value] : before.values)
    if (value && value_at(after, path) == nullptr) result.push_back({path, value, std::nullopt});
  const auto size = [](const Drift& moved) {
    const auto relative = moved.change();
    return relative ? std::abs(*relative) : HUGE_VAL;
  };
  const auto order = [&](const Drift& moved) {
    const bool detail =
        moved.path.starts_with("step.breakdown.") || moved.path.starts_with("memory.stages.");
    return std::pair{detail, -size(moved)};
  };
  std::ranges::stable_sort(result,
                           [&](const Drift& a, const Drift& b) { return order(a) < order(b); });
  return result;
}

CheckedScenario check_scenario(std::string file, Report report, std::optional<Baseline> baseline,
                               double tolerance) {
  CheckedScenario checked;
  checked.file = std::move(file);
  checked.report = std::move(report);
  checked.baseline = std::move(baseline);
  const bool feasible = checked.report->prediction.feasible();
  if (!feasible && (!checked.baseline || checked.baseline->rules.empty()))
    for (const Infeasible& reason : checked.report->prediction.reasons)
      checked.violations.push_back({Violation::Kind::infeasible, 0, reason.message});
  if (feasible || checked.report->prediction.step)
    for (const BudgetVerdict& verdict : checked.report->budget)
      if (!verdict.pass)
        checked.violations.push_back(
            {Violation::Kind::budget, verdict.line.line, budget_text(verdict)});
  if (checked.baseline)
    judge_baseline(checked, tolerance);
  else if (checked.report->scenario.job.budget.empty())
    checked.violations.push_back({Violation::Kind::unguarded, 0,
                                  "has neither a budget nor a baseline; --update writes one"});
  return checked;
}

}  // namespace foretrain
