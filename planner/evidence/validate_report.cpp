// SPDX-License-Identifier: Apache-2.0

#include "planner/evidence/internal/validate_report.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "calibration/validate/validations.hpp"
#include "models/base/require.hpp"
#include "planner/answer/value_csv.hpp"
#include "planner/evidence/figure_order.hpp"
#include "planner/evidence/validate.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"

namespace foretrain {
namespace {

bool yes_or_no(const RecordCheck& check) { return check.quantity == fits_quantity; }
bool is_time(const std::string& quantity) { return quantity == step_quantity; }

Json value_of(const RecordCheck& check, double value) {
  return yes_or_no(check) ? Json(value != 0.0) : number_or_null(value);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json record_tree(const RecordCheck& check) {
  const auto computed = [&](double value) {
    return check.skipped ? Json(nullptr) : value_of(check, value);
  };
  // A skipped record may lack what its measurement is counted back from.
  const bool measured = check.measured > 0.0 || yes_or_no(check);
  return {{"id", check.id},
          {"source", check.source},
          {"quantity", check.quantity},
          {"measured", measured ? value_of(check, check.measured) : Json(nullptr)},
          {"predicted", computed(check.predicted)},
          {"low", computed(check.low)},
          {"high", computed(check.high)},
          {"error", check.skipped ? Json(nullptr) : number_or_null(check.error())},
          {"skipped", check.skipped},
          {"why", text_or_null(check.why)},
          {"group", text_or_null(check.group)},
          {"item", text_or_null(check.item)},
          {"assumptions", check.remarks}};
}

Json summary_tree(const CheckSummary& line) {
  const auto known = [](bool is, double value) {
    return is ? number_or_null(value) : Json(nullptr);
  };
  const bool any = line.count > 0;
  const bool times = any && is_time(line.quantity);
  const bool ordered = times || (any && is_inference(line.quantity));
  return {{"source", line.source},
          {"quantity", line.quantity},
          {"group", text_or_null(line.group)},
          {"item", text_or_null(line.item)},
          {"count", line.count},
          {"skipped", line.skipped},
          {"bias", known(any, line.bias)},
          {"mape", known(any, line.mape)},
          {"median", known(any, line.median)},
          {"p90", known(any, line.p90)},
          {"worst", known(any, line.worst)},
          {"worst_id", text_or_null(line.worst_id)},
          {"in_band", known(ordered || (any && is_alone(line.quantity)), line.covered)},
          {"kendall_tau", known(ordered && line.pairs > 0, line.tau)},
          {"pairs", ordered ? Json(line.pairs) : Json(nullptr)},
          {"mape_of_half_peak", known(times, line.half_peak_mape)},
          {"mape_of_own_mfu", known(times, line.own_mfu_mape)}};
}

Json figures_tree(const Validation& validation) {
  Json figures = Json::array();
  const auto tau = [](const RankAgreement& agreement) {
    return agreement.pairs > 0 ? number_or_null(agreement.tau()) : Json(nullptr);
  };
  for (const FigureOrder& order : figure_orders(validation.records))
    figures.push_back({{"figure", order.figure},
                       {"runs", order.runs},
                       {"skipped", order.skipped},
                       {"kendall_tau", tau(order.resolved)},
                       {"pairs", order.resolved.pairs},
                       {"kendall_tau_of_all", tau(order.all)},
                       {"pairs_of_all", order.all.pairs}});
  return figures;
}

Json validation_tree(const Validation& validation) {
  Json records = Json::array();
  for (const RecordCheck& check : validation.records) records.push_back(record_tree(check));
  Json summary = Json::array();
  for (const CheckSummary& line : validation.summary) summary.push_back(summary_tree(line));
  const StageProfiles profiles = stage_profiles(validation.records);
  const auto known = [&](double value) {
    return profiles.count > 0 ? number_or_null(value) : Json(nullptr);
  };
  return {{"records", std::move(records)},
          {"summary", std::move(summary)},
          {"figures", figures_tree(validation)},
          {"stage_profiles",
           {{"count", profiles.count},
            {"heaviest_right", profiles.heaviest_right},
            {"stages", profiles.stages},
            {"median", known(profiles.median)},
            {"p90", known(profiles.p90)}}}};
}

std::string csv_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& item : value) text += (text.empty() ? "" : "; ") + item.get<std::string>();
  return text;
}

}  // namespace

std::string validation_json(const Validation& validation) {
  return dump(validation_tree(validation));
}

std::string validation_csv(const Validation& validation) {
  std::string csv =
      "id,source,quantity,measured,predicted,low,high,error,skipped,why,group,item,assumptions\r\n";
  for (const RecordCheck& check : validation.records) {
    const Json record = record_tree(check);
    std::string row;
    for (const auto& [key, value] : record.items()) {
      if (key != "id") row += ',';
      if (value.is_null()) continue;
      row += csv_field(csv_text(value));
    }
    csv += row + "\r\n";
  }
  return csv;
}

const GroupLook& look_of_group(const std::string& group) {
  const auto found =
      std::ranges::find_if(group_looks, [&](const GroupLook& look) { return look.group == group; });
  return found == group_looks.end() ? group_looks.back() : *found;
}

std::vector<const RecordCheck*> compared_steps(const Validation& validation) {
  std::vector<const RecordCheck*> checks;
  for (const RecordCheck& check : validation.records) {
    if (check.skipped || check.quantity != step_quantity) continue;
    FORETRAIN_REQUIRE(check.predicted > 0.0 && std::isfinite(check.predicted));
    FORETRAIN_REQUIRE(check.measured > 0.0 && std::isfinite(check.measured));
    checks.push_back(&check);
  }
  return checks;
}

void add_record(Scene& scene, const RecordCheck& check, const SceneDot& dot) {
  const NumberUnits& units = scene.space.units;
  scene.add(dot);
  const double reach = dot.radius + 1.0;
  scene.marks.push_back(
      {{dot.at.x - reach, dot.at.y - reach, 2.0 * reach, 2.0 * reach},
       check.id,
       {"measured\t" + seconds_text(Seconds{check.measured}, units),
        "predicted\t" + seconds_text(Seconds{check.predicted}, units),
        "error\t" + signed_percent_text(check.error(), 1) + " %", "source\t" + check.source,
        "group\t" + (check.group.empty() ? "other" : check.group)}});
}

std::string percent_figure(double share, int decimals) {
  return fixed_text(share * 100.0, decimals);
}

std::string short_percent(double share) {
  return percent_figure(share, std::abs(share) < 0.9995 ? 1 : 0);
}

std::string signed_percent_text(double share, int decimals) {
  const std::string number = percent_figure(share, decimals);
  return (number.starts_with('-') ? "" : "+") + number;
}

std::string source_label(const std::string& source, const std::string& group) {
  if (source == "all" && !group.empty()) return "all " + group;
  if (group.empty() || group == dense_half_group) return source;
  return source + (group == dense_fp8_group ? " fp8" : " " + group);
}

std::string short_signed_percent(double share) {
  return signed_percent_text(share, std::abs(share) < 0.9995 ? 1 : 0);
}

void add_fold_row(std::vector<AnswerCell> cells, std::string& last, AnswerTable& table) {
  std::string& name = cells.front().text;
  const std::size_t on = name.find(" on ");
  if (on == std::string::npos) return table.add(std::move(cells));
  const std::string stack = name.substr(0, on);
  if (stack != last) {
    std::vector<AnswerCell> head(cells.size(), "");
    head.front() = stack;
    table.add(std::move(head));
  }
  last = stack;
  name = "  " + name.substr(on + 1);
  table.add(std::move(cells));
}

void add_error_columns(std::vector<AnswerColumn>& columns) {
  for (const char* const head : {"bias", "MAPE", "median", "P90"})
    columns.push_back(number_column(head));
}

void add_errors(const CheckSummary& line, std::vector<AnswerCell>& cells) {
  cells.emplace_back(short_signed_percent(line.bias));
  for (const double size : {line.mape, line.median, line.p90})
    cells.emplace_back(short_percent(size));
}

AnswerLine skipped_line(const Validation& validation) {
  const auto skipped = std::ranges::count_if(
      validation.records, [](const RecordCheck& check) { return check.skipped; });
  if (skipped == 0) return {};
  return {fmt::format("{} of {} figures are skipped; --skipped says why.", skipped,
                      validation.records.size())};
}

const CheckSummary* total_of(const Validation& validation, const std::string& quantity) {
  for (const CheckSummary& line : validation.summary)
    if (line.source == "all" && line.group.empty() && line.quantity == quantity) return &line;
  return nullptr;
}

Json summary_json(const CheckSummary& line) {
  return {{"source", line.source}, {"group", line.group.empty() ? Json(nullptr) : Json(line.group)},
          {"count", line.count},   {"bias", line.bias},
          {"mape", line.mape},     {"median", line.median},
          {"p90", line.p90},       {"in_band", line.covered}};
}

}  // namespace foretrain
