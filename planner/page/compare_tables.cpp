// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "models/base/too_large.hpp"
#include "planner/answer/value_csv.hpp"
#include "planner/explain/catalog_text.hpp"
#include "planner/forecast/power_chart.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/run_end.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/page/compare.hpp"
#include "planner/page/internal/page_parts.hpp"
#include "planner/scene/scene.hpp"
#include "planner/step/step_losses.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"
#include "scenarios/sections/scenario_fields.hpp"

namespace foretrain {
namespace {

/// Which scenario a forecast is of, before the question.
AnswerFacts with_source(AnswerFacts question, const Report& report) {
  std::vector<AnswerFact> rows;
  if (!report.scenario.path.empty()) rows.push_back({"Scenario", report.scenario.path});
  if (std::string changed = overrides_text(report.scenario); !changed.empty())
    rows.push_back({"Changed", std::move(changed)});
  question.rows.insert(question.rows.begin(), rows.begin(), rows.end());
  question.add("Engine", std::string(name_of(report.prediction.engine)));
  return question;
}

AnswerSection read_by_machines(std::string title, AnswerTable table) {
  return {std::move(title), {std::move(table)}, AnswerPlace::screens, true};
}

/// Values that stand in a scenario, or those that came with its catalog entries.
AnswerSection values_section(const Scenario& scenario, bool catalog) {
  AnswerTable table{{words_column("key"), words_column("value"), words_column("origin")}};
  for (const ResolvedValue& value : scenario.values)
    if ((scenario_fields().find(value.path) == nullptr) == catalog)
      table.add({value.path, value.value, value.origin});
  const std::string words =
      std::to_string(table.rows.size()) + (catalog ? " values that came with catalog entries"
                                                   : " values of the scenario, defaults included");
  return read_by_machines(words, std::move(table));
}

AnswerSection files_section(const Scenario& scenario) {
  AnswerTable table{{words_column("file"), words_column("SHA-256")}};
  for (const SourceFile& file : scenario.files) table.add({file.path, file.sha256});
  return read_by_machines("Files that took part", std::move(table));
}

void add_assumptions(const Scenario& scenario, Answer& answer) {
  answer.add("Assumptions", AnswerLine{"Every value, and the place that it comes from."},
             AnswerPlace::screens);
  for (const bool catalog : {false, true}) answer.add(values_section(scenario, catalog));
  answer.add(files_section(scenario));
}

}  // namespace

PageSide page_side(Report report, std::optional<StepPath> played) {
  PageSide side{std::move(report), std::move(played)};
  side.report.budget.clear();
  if (side.report.prediction.feasible() || side.report.prediction.step)
    side.report.budget = judge_budget(side.report);
  const Job& job = side.report.scenario.job;
  if (!side.report.prediction.step || side.path) return side;
  try {
    side.path = step_path(job, stage_layout(job.model, job.parallel), Detail::pass);
  } catch (const TooLarge& error) {
    side.not_drawn = error.what();
  }
  return side;
}

SideWords side_words(const PageSide& side) {
  const Scenario& scenario = side.report.scenario;
  SideWords words;
  if (side.report.study) {
    words.to_step = report_answer(side.report);
    add_assumptions(scenario, words.after);
    return words;
  }
  Answer* part = &words.to_step;
  Answer report = report_answer(side.report);
  auto& question = std::get<AnswerFacts>(report.sections.front().blocks.front());
  question = with_source(std::move(question), side.report);
  for (AnswerSection& section : report.sections) {
    if (section.title == sources_title) continue;
    const bool step = section.title.starts_with(step_title);
    part->add(std::move(section));
    if (!step) continue;
    part->add(step_losses_section(step_losses(side.report)));
    part = &words.after;
  }
  if (side.path && side.report.prediction.power)
    words.after.add("Power over the step",
                    AnswerPicture{power_chart(step_power(scenario.job, *side.path),
                                              picture_space({}, 900.0, 600.0)),
                                  "Power of a GPU, a host and all at the meter over one step"},
                    AnswerPlace::pages);
  add_assumptions(scenario, words.after);
  return words;
}

namespace {

Json number_list(const std::vector<std::optional<double>>& values) {
  Json list = Json::array();
  for (const auto& value : values) list.push_back(number_or_null(value));
  return list;
}

template <class Quantity>
std::vector<std::optional<double>> plain(const std::vector<std::optional<Quantity>>& values) {
  std::vector<std::optional<double>> result;
  result.reserve(values.size());
  for (const auto& value : values)
    result.push_back(value ? std::optional(value->value()) : std::nullopt);
  return result;
}

std::optional<double> difference(const std::vector<std::optional<double>>& values,
                                 std::size_t side) {
  if (!values.front() || !values[side]) return std::nullopt;
  return *values[side] - *values.front();
}

std::optional<double> ratio(const std::vector<std::optional<double>>& values, std::size_t side) {
  if (!values.front() || !values[side] || *values.front() == 0.0) return std::nullopt;
  return *values[side] / *values.front();
}

Json setting_tree(const ComparedSetting& setting) {
  Json values = Json::array();
  for (const auto& value : setting.values)
    values.push_back(value ? Json{{"value", value->value}, {"origin", value->origin}}
                           : Json(nullptr));
  return {{"key", setting.path}, {"catalog", setting.catalog}, {"values", std::move(values)}};
}

Json side_tree(const Report& report, std::size_t side) {
  Json reasons = Json::array();
  for (const Infeasible& reason : report.prediction.reasons)
    reasons.push_back({{"rule", reason.rule},
                       {"key", reason.key},
                       {"message", reason.message},
                       {"remedy", reason.remedy}});
  return {{"side", side_name(side)},
          {"name", report.scenario.job.name},
          {"path", report.scenario.path},
          {"engine", name_of(report.prediction.engine)},
          {"feasible", report.prediction.feasible()},
          {"standing", name_of(run_verdict(report))},
          {"reasons", std::move(reasons)}};
}

class CsvTable {
 public:
  explicit CsvTable(std::size_t sides) {
    text_ = "section,key";
    for (std::size_t side = 0; side < sides; ++side) text_ += "," + side_name(side);
    for (std::size_t side = 1; side < sides; ++side)
      text_ += fmt::format(",{0} - A,{0} / A", side_name(side));
    text_ += "\r\n";
  }

  void numbers(const std::string& section, const std::string& key,
               const std::vector<std::optional<double>>& values) {
    text_ += section + "," + csv_field(key);
    for (const auto& value : values) add(value);
    for (std::size_t side = 1; side < values.size(); ++side) {
      add(difference(values, side));
      add(ratio(values, side));
    }
    text_ += "\r\n";
  }

  void words(const std::string& section, const std::string& key,
             const std::vector<std::string>& values) {
    text_ += section + "," + csv_field(key);
    for (const std::string& value : values) text_ += "," + csv_field(value);
    text_.append(2 * (values.size() - 1), ',');
    text_ += "\r\n";
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void add(std::optional<double> value) {
    text_ += ",";
    if (const Json number = number_or_null(value); !number.is_null()) text_ += number.dump();
  }

  std::string text_;
};

}  // namespace

std::string comparison_json(const Comparison& c) {
  Json scenarios = Json::array();
  for (std::size_t side = 0; side < c.reports.size(); ++side)
    scenarios.push_back(side_tree(c.reports[side], side));
  Json figures = Json::array();
  for (const ComparedFigure& figure : c.figures)
    figures.push_back({{"path", figure.path}, {"values", number_list(figure.values)}});
  Json parts = Json::array();
  for (const ComparedPart& part : c.parts)
    parts.push_back({{"part", part.key}, {"times_s", number_list(plain(part.times))}});
  Json settings = Json::array();
  for (const ComparedSetting& setting : c.settings) settings.push_back(setting_tree(setting));
  Json rows = Json::array();
  for (const ComparedRow& row : c.rows)
    rows.push_back({{"category", row.category},
                    {"name", row.name},
                    {"sizes_bytes", number_list(plain(row.sizes))}});
  return dump({{"schema", "comparison/1"},
               {"foretrain_version", version},
               {"scenarios", std::move(scenarios)},
               {"figures", std::move(figures)},
               {"step", std::move(parts)},
               {"settings", std::move(settings)},
               {"memory", std::move(rows)}});
}

std::string comparison_csv(const Comparison& c) {
  CsvTable table(c.reports.size());
  std::vector<std::string> verdicts;
  std::vector<std::string> names;
  for (const Report& report : c.reports) {
    names.push_back(report.scenario.job.name);
    verdicts.push_back(verdict_words(report));
  }
  table.words("scenario", "name", names);
  table.words("scenario", "verdict", verdicts);
  for (const ComparedFigure& figure : c.figures)
    table.numbers("figure", figure.path, figure.values);
  for (const ComparedPart& part : c.parts) table.numbers("step", part.key, plain(part.times));
  for (const ComparedSetting& setting : c.settings) {
    std::vector<std::string> values;
    for (const auto& value : setting.values) values.push_back(value ? value->value : "");
    table.words(setting.catalog ? "catalog" : "setting", setting.path, values);
  }
  for (const ComparedRow& row : c.rows)
    table.numbers("memory", row.category + ": " + row.name, plain(row.sizes));
  return table.text();
}

}  // namespace foretrain
