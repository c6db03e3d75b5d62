// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/answer/value_csv.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/page/compare.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"

namespace foretrain {
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
