// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/forecast/report_csv.hpp"
#include "planner/forecast/report_markdown.hpp"
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
          {"standing", name_of(run_verdict(report.prediction))},
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

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string result = "|";
  for (const std::string& cell : cells) result += " " + markdown_cell(cell) + " |";
  return result + "\n";
}

/// Heading and rule of a table: `head` names the first column, the rest are the sides.
std::string markdown_head(const Comparison& c, const std::string& head, bool ratios) {
  std::vector<std::string> cells{head};
  std::string rule = "|:--|";
  for (std::size_t side = 0; side < c.reports.size(); ++side) {
    cells.push_back(side_name(side));
    rule += "--:|";
    if (!ratios || side == 0) continue;
    cells.push_back(side_name(side) + " - A");
    cells.push_back(side_name(side) + " / A");
    rule += "--:|--:|";
  }
  return "\n" + markdown_row(cells) + rule + "\n";
}

std::string markdown_steps(const Comparison& c) {
  if (c.parts.empty()) return "";
  std::string result = markdown_head(c, "where the step goes", false);
  for (const ComparedPart& part : c.parts) {
    std::vector<std::string> cells{part.label};
    for (const auto& time : part.times) cells.push_back(time ? seconds_text(*time) : "-");
    result += markdown_row(cells);
  }
  return result;
}

std::string markdown_settings(const Comparison& c) {
  if (c.settings.empty()) return "";
  std::string result = markdown_head(c, "settings that differ", false);
  for (const ComparedSetting& setting : c.settings) {
    if (setting.catalog) continue;
    std::vector<std::string> cells{setting.path};
    for (const auto& value : setting.values) cells.push_back(value ? value->value : "-");
    result += markdown_row(cells);
  }
  return result;
}

std::string markdown_rows(const Comparison& c) {
  if (c.rows.empty()) return "";
  std::string result = markdown_head(c, "memory of the heaviest stage", false);
  for (const ComparedRow& row : c.rows) {
    std::vector<std::string> cells{row.category + ": " + row.name};
    for (const auto& size : row.sizes) cells.push_back(size ? bytes_text(*size) : "-");
    result += markdown_row(cells);
  }
  return result;
}

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
    verdicts.push_back(verdict_words(report.prediction));
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

std::string comparison_markdown(const Comparison& c) {
  const AnswerHead head = comparison_head(c);
  std::string result = fmt::format("### {}: {}\n\n{}\n", head.subject, head.words, head.sentence);
  result += "\n| | scenario | verdict |\n|:--|:--|:--|\n";
  for (std::size_t side = 0; side < c.reports.size(); ++side) {
    const Report& report = c.reports[side];
    std::string verdict = verdict_words(report.prediction);
    for (const Infeasible& reason : report.prediction.reasons) verdict += "; " + reason.message;
    result += markdown_row({side_name(side), report.scenario.job.name, verdict});
  }
  result += markdown_head(c, "headline", true);
  for (const ComparedFigure& figure : c.figures) {
    std::vector<std::string> cells{figure.label.substr(figure.label.find_first_not_of(' ')),
                                   figure.text(0)};
    for (std::size_t side = 1; side < figure.values.size(); ++side) {
      cells.push_back(figure.text(side));
      cells.push_back(figure.difference(side));
      cells.push_back(figure.ratio(side));
    }
    result += markdown_row(cells);
  }
  return result + markdown_steps(c) + markdown_settings(c) + markdown_rows(c) +
         fmt::format("\nforetrain {}, {}\n", version, name_of(c.reports.front().prediction.engine));
}

}  // namespace foretrain
